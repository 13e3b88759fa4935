"""News of commits: requests that follow an execution or a namespace hear that something has changed.

News is kept in memory only: the store is the record, and a reader that has missed something reads the store.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ...actions import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...actions import Clock, Write

STOPPING = "The server is stopping. Ask again when it has started."


class Written(NamedTuple):
    """An activation that was committed: its number, its id, and the execution that it is a step of."""

    number: int
    id: str
    cause: str | None
    namespace: str


class News:
    """Futures by execution, activation or namespace, and the activations that were committed last.

    Args:
        life: text that no earlier life of this server had: numbers of activations count from its start.
        kept: activations that a reader may be behind.
    """

    def __init__(self, life: str, kept: int) -> None:
        self.life = life
        self.count = 0  # of activations that were committed
        self._lately: deque[tuple[str, str | None, str]] = deque(maxlen=kept)
        self._futures: defaultdict[str, set[asyncio.Future[None]]] = defaultdict(set)
        self._closed = False

    def __len__(self) -> int:
        return sum(map(len, self._futures.values()))

    def tell(self, writes: Iterable[Write]) -> None:
        """Takes what was committed, and wakes those who watch it."""
        for write in writes:
            for row in write.activations:
                self._lately.append((row.id, row.cause, row.namespace))
            self.count += len(write.activations)
            if self._futures:
                for key in _keys(write):
                    self._wake(key)

    def since(self, number: int) -> list[Written] | None:
        """The activations that were committed after this number; None if they are not all kept."""
        oldest = self.count - len(self._lately)
        if not oldest <= number <= self.count:
            return None
        later = islice(self._lately, number - oldest, None)
        return [Written(nth, *noted) for nth, noted in enumerate(later, number + 1)]

    @contextmanager
    def watching(self, *keys: str) -> Iterator[asyncio.Future[None]]:
        """Yields a future of the next news of an execution, an activation, or a namespace (see `of`).

        Read the store after this begins: then no news is lost between reading and waiting.

        Raises:
            UnavailableError: the server is stopping.
        """
        if self._closed:
            raise UnavailableError(STOPPING)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for key in keys:
            self._futures[key].add(future)
        try:
            yield future
        finally:
            for key in keys:
                if key in self._futures:
                    self._futures[key].discard(future)
                    if not self._futures[key]:
                        del self._futures[key]

    def close(self) -> None:
        """Ends all waits: the server stops."""
        self._closed = True
        for key in list(self._futures):
            self._wake(key)

    def _wake(self, key: str) -> None:
        for future in self._futures.pop(key, ()):
            if not future.done():
                future.set_result(None)


def of(namespace: str) -> str:
    """The key of a namespace's activations; it is no id."""
    return f"/{namespace}"


def _keys(write: Write) -> Iterator[str]:
    for row in write.activations:
        yield row.id
        yield of(row.namespace)
    for execution in write.executions:
        yield execution.id
    for id, _, _ in write.history:
        yield id


def life(clock: Clock) -> str:
    """A text that no other start of an engine has."""
    return f"{clock.now_ms():x}-{int(clock.elapsed_us()):x}"
