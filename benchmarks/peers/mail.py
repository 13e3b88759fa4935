"""Messages: executions that wait for one each, and are then told it. Imports only Python's own modules, as `work`."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any, Protocol

from ..figures import percentile, run_load
from .load import WrongResultError

if TYPE_CHECKING:
    from .work import Mail

WARM_UP = 32  # messages, all at once: connections are open, and code has run
SETTLE_S = 1.0  # until executions that were started wait, and their results are waited for


class Mailboxes(Protocol):
    """Executions that wait for a message."""

    async def expect(self, number: int) -> None:
        """Starts an execution that waits for a message. Returns once the start is durable."""

    async def received(self, number: int) -> Any:
        """Waits for the end of such an execution. Returns its result, the message's payload."""

    async def tell(self, number: int, payload: Any) -> None:
        """Tells the execution of this number its message. Returns once the message is durable."""


async def measure(system: Mailboxes, mail: Mail) -> dict[str, float]:
    """Starts the executions, lets them wait, and measures the messages.

    Returns accepted_ms (the median until a message is durable), acted_ms (the median until the result of the
    execution that has received the message), messages_per_s (acted on) and their number.

    Raises:
        WrongResultError: an execution has returned something else than its message.
    """
    await _round(system, mail, range(WARM_UP), WARM_UP)
    accepted, acted, seconds = await _round(
        system, mail, range(WARM_UP, WARM_UP + mail.count), mail.concurrency
    )
    return {
        "accepted_ms": percentile(accepted, 0.5),
        "acted_ms": percentile(acted, 0.5),
        "messages_per_s": len(acted) / seconds,
        "messages": len(acted),
    }


async def _round(
    system: Mailboxes, mail: Mail, numbers: range, concurrency: int
) -> tuple[list[float], list[float], float]:
    """The milliseconds until each message was durable, and acted on; and the seconds for all."""
    accepted: list[float] = []
    starts = iter(numbers)
    await run_load(lambda: system.expect(next(starts)), WARM_UP, len(numbers))
    async with asyncio.TaskGroup() as group:
        waiting = {n: group.create_task(system.received(n)) for n in numbers}
        await asyncio.sleep(SETTLE_S)
        await asyncio.to_thread(os.sync)  # what was written before is not written meanwhile
        left = iter(numbers)

        async def once() -> None:
            number, began = next(left), time.perf_counter()
            await system.tell(number, mail.payload)
            accepted.append((time.perf_counter() - began) * 1000)
            result = await waiting[number]
            if result != mail.payload:
                raise WrongResultError(f"mail: the result is {str(result)[:200]}")

        acted, seconds = await run_load(once, concurrency, len(numbers))
    return accepted, acted, seconds
