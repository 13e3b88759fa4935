"""One task in a worker: what its function sees of it, and how the function is run."""

from __future__ import annotations

import asyncio
import inspect
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from ...composer import boxed, classes_of, flaw

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...composer import JSON

STEP = "step"  # the parameter of a function that gets its step


class Step:
    """The task that a function works on. A function with a parameter `step` gets it.

    Attributes:
        action: full name of the action.
        attempt: 1 for the first worker that gets the task.
        key: the idempotency key, the same in all attempts.
        details: what an earlier worker has told by `tell`.
        deadline: end of this attempt, in milliseconds since the epoch.
        reason: why the function should stop; "" while it should not.
    """

    def __init__(self, task: dict[str, Any]) -> None:
        self.action: str = task["action"]
        self.attempt: int = task["attempt"]
        self.key: str = task["key"]
        self.details: JSON = task["details"]
        self.deadline: int = task["deadline"]
        self.token: str = task["token"]
        self.reason = ""
        self.told: JSON = None
        self._stopped = threading.Event()

    @property
    def cancelled(self) -> bool:
        """True if the function should stop: nobody waits for its result, or the worker stops."""
        return self._stopped.is_set()

    def wait(self, seconds: float) -> bool:
        """Waits, in a function that is not `async`. Returns True if the function should stop."""
        return self._stopped.wait(seconds)

    def tell(self, details: JSON) -> None:
        """Tells how far the work is. The next worker gets it if this one is not heard of any more.

        Raises:
            ValueError: `details` is not JSON.
        """
        if why := flaw(details):
            raise ValueError(f"the details of a step must be JSON, but {why}")
        self.told = details

    def stop(self, reason: str) -> None:
        """Tells the function to stop; the first reason stays."""
        if not self.cancelled:
            self.reason = reason
            self._stopped.set()


async def run(function: Callable[..., Any], params: dict[str, JSON], step: Step) -> dict[str, JSON]:
    """Runs a function on a task. Returns what the server gets: the result, or an object with an `error`.

    A function that is not `async` runs in a thread of its own, which nothing can end.
    """
    call = partial(function, params)
    if STEP in inspect.signature(function).parameters:
        call = partial(function, params, step=step)
    try:
        if inspect.iscoroutinefunction(function):
            result = await call()
        else:
            result = await _in_thread(call)
    except Exception as error:  # noqa: BLE001  the boundary to user code
        return _failed(error)
    made: dict[str, JSON] = {} if result is None else boxed(result)
    why = flaw(made)
    return made if why is None else {"error": f"The function did not return JSON: {why}"}


async def _in_thread(call: Callable[[], Any]) -> Any:
    """Runs a call in a daemon thread: a process that stops does not wait for it."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Any] = loop.create_future()

    def tell(result: Any, error: BaseException | None) -> None:
        if ended.done():
            return
        if error is None:
            ended.set_result(result)
        else:
            ended.set_exception(error)

    def work() -> None:
        result: Any = None
        failed: Exception | None = None
        try:
            result = call()
        except StopIteration as error:  # a future refuses it
            failed = RuntimeError(f"the function raised {error!r}")
        except (Exception, SystemExit) as error:  # noqa: BLE001  the boundary to user code
            failed = error if isinstance(error, Exception) else RuntimeError("the function exited")
        if not loop.is_closed():
            loop.call_soon_threadsafe(tell, result, failed)

    threading.Thread(target=work, daemon=True).start()
    return await ended


def _failed(error: Exception) -> dict[str, JSON]:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  it is the user's, too
        text = ""
    text = text.encode("utf-8", "backslashreplace").decode()
    code = classes_of(error)[0] if classes_of(error) else type(error).__name__
    return {"error": {"code": code, "message": text or type(error).__name__}}
