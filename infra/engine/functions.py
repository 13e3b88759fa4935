"""Functions of the embedding program: their names outlive the process, so that their steps wait for them.

A program registers its functions after it has opened the engine. A step may be due before that: after a
restart, executions go on at once. Such a step is parked. It is sent when the function is registered.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from ...actions import Action, Change, Document, Inline, Limits
from ...composer import Name
from .hooks import Attachment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ...composer import JSON, Invoke
    from .live import ActiveInvocation, LiveExecution
    from .shared import Parts
    from .tick import Tick

log = logging.getLogger(__name__)

FUNCTION = "function"  # documents of registered functions, by full name


@dataclass(frozen=True, slots=True)
class ParkedStep:
    """A step whose function is not registered yet."""

    run: LiveExecution
    fiber: str
    active: ActiveInvocation
    command: Invoke

    @property
    def stands(self) -> bool:
        """True until the step is cancelled or its execution ends."""
        return self.run.invocations.get((self.fiber, self.command.turn)) is self.active


class Functions:
    """The functions that programs have registered with this store, and the steps that wait for one."""

    def __init__(self, parts: Parts, tick: Tick) -> None:
        self._parts, self._tick = parts, tick
        self._stored: dict[str, bytes] = {}
        self._parked: dict[str, list[ParkedStep]] = {}

    async def load(self) -> None:
        """Puts the functions of earlier runs of the program into the catalog, not registered yet."""
        async for document in self._parts.store.documents(FUNCTION):
            if document.body is None:
                continue
            self._stored[document.key] = document.body
            doc = orjson.loads(document.body)
            action = Action(
                Name.parse(document.key),
                Inline(None),
                annotations=doc["annotations"],
                limits=Limits.from_json(doc["limits"]),
            )
            self._parts.catalog.apply(Change(action, (action,)))

    def __len__(self) -> int:
        return sum(step.stands for steps in self._parked.values() for step in steps)

    def register(
        self,
        name: Name,
        function: Callable[..., Any],
        annotations: Mapping[str, JSON],
        limits: Mapping[str, JSON],
    ) -> list[ParkedStep]:
        """Makes a function an action. Returns the steps that have waited for it.

        Raises:
            InvalidError: a limit is not valid.
        """
        action = Action(
            name,
            Inline(function),
            annotations=dict(annotations),
            limits=Limits.from_json({**limits}),
            updated_ms=self._parts.clock.now_ms(),
        )
        key = str(name)
        body = orjson.dumps(
            {"annotations": action.annotations, "limits": action.limits.to_json()},
            option=orjson.OPT_SORT_KEYS,
        )
        if self._stored.get(key) != body:
            self._stored[key] = body
            self._tick.gathering.write.documents.append(Document(kind=FUNCTION, key=key, body=body))
            self._tick.wake()
        self._parts.catalog.apply(Change(action, (action,)))
        return [step for step in self._parked.pop(key, ()) if step.stands]

    def unregister(
        self, change: Change, send: Callable[[Iterable[ParkedStep]], None]
    ) -> Attachment:
        """A companion of changes: stored actions take functions' names, or the names are deleted.

        Once that is durable, the steps that have waited for the functions are sent.
        """
        names = [str(definition.name) for definition in (*change.put, *change.gone)]
        known = [name for name in names if name in self._stored]
        documents = [Document(kind=FUNCTION, key=name, body=None) for name in known]
        return Attachment(documents, lambda: send(self._replaced(names)))

    def _replaced(self, names: Iterable[str]) -> list[ParkedStep]:
        released: list[ParkedStep] = []
        for name in names:
            self._stored.pop(name, None)
            released += [step for step in self._parked.pop(name, ()) if step.stands]
        return released

    def park(
        self, run: LiveExecution, fiber: str, active: ActiveInvocation, command: Invoke
    ) -> None:
        """Keeps a step until its function is registered. After a crash it is known that it has not run."""
        key = str(active.opened.action.name)
        if key not in self._parked:
            log.warning(
                "execution %s waits: the program has not registered its function %s. Register it, or pass it "
                "to embedded(actions=[...])", run.id, key,
            )  # fmt: skip
        waiting = [step for step in self._parked.get(key, ()) if step.stands]
        self._parked[key] = [*waiting, ParkedStep(run, fiber, active, command)]
        run.hold(fiber, command.turn, self._tick.gathering.write)
