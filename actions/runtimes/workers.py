"""A worker, seen from the server: the process loads code, then runs activations: one, or several at a time.

Several calls share a worker if the action's limit `concurrency` allows it and the worker says that the code can do
so. Each then has its own deadline, log and cancellation: the worker ends a single call if it can.

Code that runs one call at a time gets its next calls ahead if it is quick, so that it never waits for the server.
They have not begun: they can be taken back while the first one runs. Start, deadline and log are the first one's.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from ...composer import TIMEOUT, Failure, Success, classes_told
from ..outcome import BAD_RESPONSE, CRASHED, EXITED, FAILURES, UNAVAILABLE
from .assignments import timestamp
from .process import Process
from .requests import loading, request
from .sandbox import Program, Room

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from ...composer import JSON
    from ..ports import Clock
    from .assignments import Assignment, Key
    from .environments import Lease
    from .languages import Language
    from .requests import WorkerSettings
    from .sandbox import Sandbox
    from .watch import Use

log = logging.getLogger(__name__)

EARLY_S = 0.001  # by which a timer may be early
INIT_S = 10.0  # Lambda's time limit for loading a function
GRACE_S = 2.0  # for a worker to answer when one of its calls is cancelled
OUT_OF_MEMORY = "The action exhausted its memory and was aborted."
OUT_OF_HEAP = "JavaScript heap out of memory"  # Node.js' last line
MOST_SENT = 3  # attempts, if each worker dies before the code of the invocation has begun
MOST_AHEAD = 8  # assignments of a worker that runs one at a time
AHEAD_US = 2_000  # the most time that these may take together, as far as is known
SMOOTH = 8  # assignments over which durations are averaged
PATIENCE_S = 0.005  # an assignment may take so long before those behind it are taken back
LAST_LINES = 40  # of a log, which may hold `OUT_OF_HEAP`
BESIDE = "Another call in the same worker has ended the worker: it {why}."


class Owner(Protocol):
    """Learns about the events of a worker."""

    def freed(self, worker: Worker) -> None:
        """The worker may have room for an assignment, or has nothing to do."""

    def loaded(self, worker: Worker) -> None:
        """The worker has loaded code whose calls may share a worker, and knows whether they can."""

    def ended(self, worker: Worker) -> None:
        """The worker has ended."""

    def finished(
        self, assignment: Assignment, outcome: Success | Failure, variables: dict[str, JSON] | None
    ) -> None:
        """An assignment has ended, with success or failure."""

    def returned(self, assignments: Sequence[Assignment]) -> None:
        """Assignments that have not begun, in order, are taken back from a worker."""

    def again(self, assignment: Assignment) -> None:
        """An assignment's worker ended before any of its code had begun: another worker must run it."""


class Worker:
    """A worker process and its current assignments.

    `key` is the work that it can do; before it has loaded code, only its `language` is set. `loaded` is True when it
    has, and `together` if several calls may then be under way.
    """

    def __init__(
        self, language: Language, settings: WorkerSettings, clock: Clock, owner: Owner
    ) -> None:
        self.language = language
        self.key: Key | None = None
        self.uses = 0
        self.idle_s = 0.0  # since when it is idle, by the event loop's clock, and whether its owner looks at that
        self.reaped = False
        self.loaded = self.together = False
        self._under_way: dict[int, Assignment] = {}  # by the number of its line, in this order
        self._leaving: dict[int, asyncio.TimerHandle] = {}  # cancelled, but not known to have ended
        self._retired = False  # it takes no more, and ends with its last assignment
        self._init = 0  # the number of the line with its code
        self._took_us: float = AHEAD_US  # an assignment, on average
        self._prints = False  # past Python, so that lines do not say whose they are
        self._slow = False  # its first assignment takes long
        self._first_s = 0.0  # when that became the first
        self._watching = False
        self._settings, self._clock, self._owner = settings, clock, owner
        # A result and the variables, each as long as a result may be.
        self._process = Process(2 * settings.result_bytes, self._heard, self._printed)
        self._room = Room()
        self._timer: asyncio.TimerHandle | None = None
        self._lease: Lease | None = None

    @property
    def load(self) -> int:
        """The number of its assignments."""
        return len(self._under_way) + len(self._leaving) if self._leaving else len(self._under_way)

    @property
    def room(self) -> int:
        """The number of assignments that it may be given now."""
        if self._retired or self.key is None:
            return 0
        if self.together:
            return self.key.concurrency - self.load
        if self._slow or self._prints or not self.loaded:
            return 1 - self.load
        return min(MOST_AHEAD, int(AHEAD_US / self._took_us) or 1) - self.load

    @property
    def promised(self) -> int:
        """The number of assignments that it will take beside those that it has, when it has loaded its code."""
        if self.loaded or self.key is None:
            return 0
        return self.key.concurrency - self.load

    async def start(self, sandbox: Sandbox, memory_mb: int, lease: Lease | None = None) -> None:
        """Starts the process, with packages that it keeps in use until it ends.

        Raises:
            OSError: it cannot be started.
        """
        self._lease = lease
        packages = None if lease is None else lease.packages
        program = Program(
            language=self.language,
            memory_mb=memory_mb,
            environment={"NODE_PATH": str(packages)} if packages and self.language.heap else {},
            packages=packages,
        )
        await self._process.start(sandbox, program, self._settings.directory)
        self._room = sandbox.room
        self._process.watch(lambda: bool(self._under_way), self._measured)

    def run(self, assignment: Assignment) -> None:
        """Runs an assignment, which must have this worker's key. The worker must have room for it."""
        assignment.worker, self.uses = self, self.uses + 1
        self._retired |= assignment.lacking
        if not self.loaded:
            self._load(assignment)
        elif self._under_way and not self.together:
            self._send(assignment, None)
            self._process.send_soon()
            if not self._watching:
                self._watching = True
                asyncio.get_running_loop().call_later(PATIENCE_S, self._watch)
        else:
            self._first(assignment)
            self._send(assignment, assignment.started_ms)
            if self.together:
                self._process.send_soon()
            else:  # it is idle
                self._process.send()

    def _load(self, assignment: Assignment) -> None:
        """Sends the code, and the first request with it."""
        # A worker that was started ahead had another limit until now.
        self._process.limit_memory(self.language.most_mb(assignment.key.memory_mb) << 20)
        packages = None if self._lease is None else self._lease.packages
        init = loading(assignment, self._settings, packages)
        self._init = self._process.tickets.next()
        self._process.say(orjson.dumps({"init": init}))
        self._first(assignment, 0 if assignment.function is None else INIT_S)
        if assignment.alone:
            self._under_way[self._init] = assignment
        else:
            self._send(assignment, assignment.started_ms)
        self._process.send()

    def _first(self, assignment: Assignment, more_s: float = 0) -> None:
        """An assignment has no other before it: it begins, and so does its time limit."""
        assignment.sent += 1
        assignment.started_ms = self._clock.now_ms()
        self._limit(assignment, more_s)

    def _send(self, assignment: Assignment, began_ms: int | None) -> None:
        number = self._process.tickets.next()
        document = request(assignment, self._settings, number, began_ms)
        self._process.say(orjson.dumps(document))
        self._under_way[number] = assignment

    def cancel(self, assignment: Assignment, failure: Failure) -> None:
        """Stops one of its assignments, which fails. The worker ends with it if there is no other way."""
        numbers = [each for each, other in self._under_way.items() if other is assignment]
        if not numbers:
            return  # the worker has just ended, and one of its other assignments is told so first
        (number,) = numbers
        if self.together:
            del self._under_way[number]
            loop = asyncio.get_running_loop()
            self._leaving[number] = loop.call_later(GRACE_S, self._stuck)
            self._process.say(orjson.dumps({"cancel": number}))
            self._process.send_soon()
        else:
            unbegun = self._process.take_back() if self.loaded else set()
            if number not in unbegun:
                self._stop(assignment, failure, unbegun)
                if number in self._under_way:  # the answer of the one before it is on the way
                    loop = asyncio.get_running_loop()
                    loop.call_later(PATIENCE_S, self.cancel, assignment, failure)
                return
            self._give_back(unbegun, assignment)
        self._owner.finished(assignment, assignment.failed(failure), None)

    def _give_back(self, unbegun: set[int], cancelled: Assignment | None = None) -> None:
        """Gives assignments that have not begun to other workers, but for one that is cancelled."""
        first = next(iter(self._under_way))
        if first in unbegun:
            self._under_way[first].sent -= 1
        back = [self._under_way.pop(number) for number in [*self._under_way] if number in unbegun]
        back = [each for each in back if each is not cancelled]
        if back:
            self._owner.returned(back)
        if not self._under_way:
            self._rest()

    def _stop(self, assignment: Assignment, failure: Failure, unbegun: set[int]) -> None:
        """Ends the worker, which runs one assignment at a time, for the first one."""
        if self.loaded and len(self._under_way.keys() - unbegun) > 1:
            assignment.deadline_s += PATIENCE_S  # another one has begun: its answer is on the way
            self._give_back(unbegun)
        else:
            self.end(failure, assignment, unbegun)

    def end(
        self,
        failure: Failure | None = None,
        assignment: Assignment | None = None,
        unbegun: AbstractSet[int] = frozenset(),
    ) -> None:
        """Kills the process.

        Its assignments that have begun fail with `failure`; or, if this is the failure of one of them, that one
        fails, and the others of its worker's death. Those that have not begun are given to other workers.
        """
        self._process.drain()
        unbegun = unbegun | self._process.take_back()
        if not self.loaded and self._init not in unbegun:
            unbegun = set()  # to load code is to run it
        ended, self._under_way = self._under_way, {}
        for timer in [*self._leaving.values(), *filter(None, [self._timer])]:
            timer.cancel()
        self._leaving, self._timer, self._retired = {}, None, True
        self._process.end()
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.close()
        self._owner.ended(self)
        first = next(iter(ended), 0)
        back = {n: each for n, each in ended.items() if n in unbegun and each is not assignment}
        behind = [each for n, each in back.items() if n != first and not self.together]
        if behind:
            self._owner.returned(behind)
        for number, each in reversed(back.items()):
            if self.together or number == first:
                self._unbegun(each)
        for number, each in ended.items():
            if failure is not None and number not in back:
                theirs = each is assignment or assignment is None
                told = failure if theirs else Failure(CRASHED, BESIDE.format(why=_why(failure)))
                self._owner.finished(each, each.failed(told), None)

    # --- messages ----------------------------------------------------------------------------

    def _heard(self, document: Any) -> None:
        """Handles a message of the worker. User code can send anything in the worker's name."""
        if document is None:
            self._died()
            return
        number = self._meant(document)
        if number in self._leaving:
            self._left(number, document)
            return
        assignment = self._under_way.get(number)
        if assignment is None:
            return  # a message without a request
        match document:
            case {"value": value, **rest} if assignment.fits(value, rest.get("variables", {})):
                self._measure(rest.get("us"))
                self._finish(number, assignment.outcome(value), document.get("variables"))
            case {"log": str(line)}:
                assignment.log(line, self._clock.now_ms())
            case {"ready": True, **rest} if not self.loaded:
                self._begin(assignment, together=rest.get("together") is True)
            case {"error": error, "code": str(code), **rest} if code in FAILURES:
                variables = rest.get("variables")
                self._measure(rest.get("us"))
                self._finish(
                    number,
                    Failure(code, error, classes_told(rest.get("raised"))),
                    variables if isinstance(variables, dict) else None,
                )
            case {"full": str(reason)} if not self.loaded:
                text = f"The disk has no room for the action's code: {reason}"
                self.end(Failure(UNAVAILABLE, text), assignment)
            case {"failed": str(reason)} if not self.loaded:
                self.end(
                    Failure(CRASHED, f"Initialization has failed due to: {reason}"), assignment
                )
            case _:
                text = f"The action did not produce a valid JSON response: {document!r:.1000}"
                self.end(Failure(BAD_RESPONSE, text), assignment)

    def _meant(self, document: Any) -> int:
        """The number of the assignment that a message is about; 0 for none.

        An answer names it. Output that is no call's goes to the log of the call that began last.
        """
        number = document.get("id") if isinstance(document, dict) else None
        return number if isinstance(number, int) else self._last

    @property
    def _last(self) -> int:
        """The number of the assignment that has begun last; 0 for none."""
        order = reversed(self._under_way) if self.together else iter(self._under_way)
        return next(order, 0)

    def _begin(self, assignment: Assignment, *, together: bool) -> None:
        """The code is loaded: its first request follows, and those that waited for it."""
        assert self.key is not None  # noqa: S101  it has an assignment
        self.loaded, self.together = True, together and self.key.concurrency > 1
        assignment.init_ms = max(0, self._clock.now_ms() - assignment.started_ms)
        if assignment.alone:
            del self._under_way[self._init]
            began_ms = assignment.started_ms
            if assignment.function is not None:
                self._limit(assignment)
                began_ms = self._clock.now_ms()
            self._send(assignment, began_ms)
            self._process.send()
        if self.key.concurrency > 1:
            self._owner.loaded(self)

    def _printed(self, stream: str, lines: list[bytes]) -> None:
        self._prints = True
        assignment = self._under_way.get(self._last)
        if assignment is None:
            return
        now_ms = self._clock.now_ms()
        at = timestamp(now_ms)
        for line in lines:
            assignment.log(f"{at} {stream}: {line.decode('utf-8', 'replace')}", now_ms)
            if assignment.log_left < 0:
                return

    def _finish(
        self, number: int, outcome: Success | Failure, variables: dict[str, JSON] | None
    ) -> None:
        self._process.drain()  # the last lines that it printed belong to the assignment
        assignment = self._under_way.pop(number)
        if isinstance(outcome, Failure) and outcome.code == CRASHED:
            self.end(Failure(CRASHED, BESIDE.format(why=_why(outcome))))
        else:
            if self._under_way and not self.together:
                self._first(next(iter(self._under_way.values())))
            self._slow = False
            self._rest()
        self._owner.finished(assignment, outcome, variables)

    def _measure(self, took_us: Any) -> None:
        if isinstance(took_us, int):
            self._took_us += (max(took_us, 1) - self._took_us) / SMOOTH

    def _watch(self) -> None:
        """Takes back what waits behind an assignment that takes long: another worker may be quicker."""
        self._watching, loop = False, asyncio.get_running_loop()
        if self.load < 2 or self.together:  # noqa: PLR2004  one that runs, and one that waits
            return
        late_s = loop.time() - self._first_s - PATIENCE_S
        if late_s < -EARLY_S:
            self._watching = True
            loop.call_later(-late_s, self._watch)
            return
        self._slow = True
        self._give_back(self._process.take_back())

    def _left(self, number: int, document: dict[str, JSON]) -> None:
        """Handles what a worker says about a call that was cancelled."""
        if "log" in document:
            return
        self._leaving.pop(number).cancel()
        if document.get("left") is False:  # nothing stops it but the end of the worker
            self._retired = True
        self._rest()

    def _rest(self) -> None:
        if self._retired and not self._under_way:
            self.end()
        else:
            self._owner.freed(self)

    # --- its end -----------------------------------------------------------------------------

    def _died(self) -> None:
        self._process.drain()
        first, ran_out = next(iter(self._under_way.values()), None), self._process.ran_out
        last = [line for each in self._under_way.values() for line in each.logs[-LAST_LINES:]]
        text = EXITED
        if ran_out or any(OUT_OF_HEAP in line for line in last):
            text = OUT_OF_MEMORY
        elif not self.loaded:
            text = "The action did not initialize and exited unexpectedly."
        self.end(Failure(CRASHED, text), first if ran_out and not self.together else None)

    def _unbegun(self, assignment: Assignment) -> None:
        """Handles the end of a worker before the code of its assignment began: a retry repeats no side effect."""
        assignment.worker = None
        if assignment.sent < MOST_SENT:
            self._owner.again(assignment)
            return
        text = (
            f"{assignment.sent} workers in a row died before the action had begun; it has not run."
        )
        self._owner.finished(assignment, assignment.failed(Failure(UNAVAILABLE, text)), None)

    def _stuck(self) -> None:
        """Ends the worker: it does not even hear that a call is cancelled."""
        self.end(Failure(CRASHED, BESIDE.format(why="could not be stopped")))

    def _limit(self, assignment: Assignment, more_s: float = 0) -> None:
        """Starts the time limit. The time to load a function does not count, as on Lambda."""
        loop = asyncio.get_running_loop()
        self._first_s = loop.time()
        assignment.deadline_s = due_s = self._first_s + assignment.timeout_s + more_s
        if self._timer is None or self._timer.when() > due_s:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = loop.call_at(due_s, self._look)

    def _look(self) -> None:
        """Stops the assignments whose time is over. One timer is enough: most end long before."""
        loop, self._timer = asyncio.get_running_loop(), None
        over_s = loop.time() + EARLY_S
        for assignment in list(self._timed()):
            if assignment.deadline_s <= over_s:
                self._expire(assignment)
        dues_s = [assignment.deadline_s for assignment in self._timed()]
        if dues_s and self._timer is None:
            self._timer = loop.call_at(min(dues_s), self._look)

    def _timed(self) -> Iterable[Assignment]:
        """The assignments that have begun."""
        under_way = self._under_way.values()
        return under_way if self.together else itertools.islice(under_way, 1)

    def _expire(self, assignment: Assignment) -> None:
        limit_ms = assignment.invocation.action.limits.timeout_ms
        during = "" if self.loaded else " during initialization"
        text = f"The action exceeded its time limits of {limit_ms} milliseconds{during}."
        if self.together:
            self.cancel(assignment, Failure(TIMEOUT, text))
        else:
            unbegun = self._process.take_back() if self.loaded else set()
            self._stop(assignment, Failure(TIMEOUT, text), unbegun)

    def _measured(self, use: Use) -> None:
        """Ends the worker if it exceeds a limit. The kernel limits each process only, not all of them together."""
        room, text = self._room, None
        if self.key is not None and use.memory > self.language.most_mb(self.key.memory_mb) << 20:
            text = OUT_OF_MEMORY
        elif use.disk > room.disk_mb << 20:
            text = (
                f"The action exceeded its disk space of {room.disk_mb} megabytes and was aborted."
            )
        elif use.processes > room.processes:
            text = f"The action exceeded its limit of {room.processes} processes and was aborted."
        if text is None:
            return
        if not self._under_way:
            log.warning("%s between runs: %s", self.key and self.key.namespace, text)
        self.end(Failure(CRASHED, text))


def _why(failure: Failure) -> str:
    """What a call did that has ended its worker, for the calls beside it."""
    return {TIMEOUT: "exceeded its time limit", CRASHED: "crashed"}.get(failure.code, "was stopped")
