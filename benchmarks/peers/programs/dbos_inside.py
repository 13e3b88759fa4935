"""DBOS as a library: the steps are functions of this process."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from . import dbos_work
from .inside import main

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from ..work import Recovery, Work


class System:
    """See `inside.Opened`."""

    async def ask(self, work: Work) -> Any:
        return await dbos_work.WORKFLOWS[work.shape](work.n, work.payload)

    async def begin(self, recovery: Recovery, number: int) -> None:
        await dbos_work.begin(recovery.steps, recovery.payload(number))

    async def expect(self, number: int) -> None:
        await dbos_work.expect(number)

    async def received(self, number: int) -> Any:
        return await dbos_work.received(number)

    async def tell(self, number: int, payload: Any) -> None:
        await dbos_work.tell(number, payload)


@asynccontextmanager
async def opened(
    directory: Path, _works: Sequence[Work], _recovery: Recovery
) -> AsyncIterator[System]:
    """DBOS with its workflows; those that were under way go on."""
    async with dbos_work.launched(directory):
        yield System()


if __name__ == "__main__":
    main(opened)
