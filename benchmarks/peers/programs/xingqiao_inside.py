"""Xingqiao embedded: the steps are functions of this process."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from xingqiao import composer
from xingqiao.embedded import embedded

from .. import marks
from .compositions import MAILBOX, SLOW, compositions, params
from .inside import main

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from xingqiao.embedded import Embedded

    from ..work import Recovery, Work


@composer.action
def nothing(payload: dict[str, Any]) -> dict[str, Any]:
    """A step that takes no time."""
    return payload


@composer.action
async def slow(payload: dict[str, Any]) -> dict[str, Any]:
    """A step that takes time, and writes down when it begins and ends."""
    return await marks.main(payload)


class System:
    """See `inside.Opened`."""

    def __init__(self, engine: Embedded) -> None:
        self._engine = engine

    async def ask(self, work: Work) -> Any:
        return await self._engine.invoke(work.name, params(work))

    async def begin(self, recovery: Recovery, number: int) -> None:
        await self._engine.start(SLOW, recovery.payload(number))

    async def expect(self, number: int) -> None:
        await self._engine.start(MAILBOX, {}, id=f"mail-{number}")

    async def received(self, number: int) -> Any:
        return await self._engine.execution(f"mail-{number}").result()

    async def tell(self, number: int, payload: Any) -> None:
        await self._engine.execution(f"mail-{number}").tell("go", payload)


@asynccontextmanager
async def opened(
    directory: Path, works: Sequence[Work], recovery: Recovery
) -> AsyncIterator[System]:
    """An engine with the compositions of this work."""
    deployed = compositions(works, recovery)
    async with embedded(directory, actions=(nothing, slow), compositions=deployed) as engine:
        yield System(engine)


if __name__ == "__main__":
    main(opened)
