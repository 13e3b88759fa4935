"""The continuation: one sequential thread of control, as data.

A fiber is known by its id within an execution: the first is "0"; one forked by fiber P in its turn n
as member i is "P/n.i". Its turn counts its waits; (execution, fiber, turn) is the token that a
completion must show. Frames stand on a stack, the innermost last.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, get_args

from ..freezing import frozen
from ..values import JSON, Failure, Outcome, Success
from .causes import Cancellation, Exhaustion, Expiry, cause_from_json, cause_to_json
from .sagas.compensations import (
    Compensating,
    Compensations,
    Doing,
    Log,
    log_from_json,
    log_to_json,
    logged_values,
)
from .transactions.coordinator import Coordinating, Member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

ROOT = "0"
NOWHERE = -1  # where a fiber stands that has ended

Cause: TypeAlias = Failure | Cancellation | Expiry | Exhaustion
"""Why frames are unwound."""


# --- frames ------------------------------------------------------------------------------------


@frozen
class Variables:
    """Variables of a `let`."""

    variables: dict[str, JSON]


@frozen
class Mask:
    """Hides the innermost Variables frame below from what runs above."""


@frozen
class Saved:
    """A value to come back to."""

    value: JSON


@frozen
class Handler:
    """Takes failures of these names (all when empty)."""

    to: int
    errors: tuple[str, ...]


@frozen
class Finalizer:
    """Runs the code at `to` whatever happens above it."""

    to: int


@frozen
class Finalizing:
    """A finalizer is running; afterwards unwinding goes on for `cause`, if there is one."""

    cause: Cancellation | Expiry | Exhaustion | None = None


@frozen
class Attempts:
    """The attempt under way, of the Attempt instruction at `at`, and the value it starts from.

    `each` are the values that an attempt differs by; `turn` is where the first one began, `shift` how
    many turns later this one did.
    """

    at: int
    attempt: int
    value: JSON
    turn: int = 0
    shift: int = 0
    each: JSON = None


@frozen
class Deadline:
    """What runs above must end by `at_ms`; None once that has been dealt with, or before it counts."""

    at_ms: int | None
    timeout_ms: int
    beats: bool = False  # it is put off by each heartbeat
    once_taken: bool = False  # it counts from when a worker takes the task


@frozen
class Counter:
    """So many rounds are left."""

    left: int


@frozen
class Stamped:
    """When the first attempt of a transaction began: an older one goes before a younger one."""

    at_ms: int


@frozen
class Insisting:
    """A branch that tells a decision: its steps are not counted."""


class OwnFrame:
    """A frame that a language adds: `frozen`, and known to its dialect, which says how it is unwound.

    `inherited` frames are seen by the fibers that theirs forks; the events of what stands on a `quiet`
    one are not its execution's. Its name is no other frame's, of any language.
    """

    __slots__ = ()
    inherited: ClassVar[bool] = False
    quiet: bool = False

    def values(self) -> Iterable[JSON]:
        """The values that it holds."""
        return ()

    def refreshed(self, now_ms: int) -> OwnFrame:  # noqa: ARG002  others count from now
        """For a redrive: as it is when its attempts count anew, and its deadlines from now."""
        return self

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:  # noqa: ARG002  others hold values
        """As JSON; `keep` writes a value, or a reference to where it is stored."""
        return {name: getattr(self, name) for name in type(self).__match_args__}  # type: ignore[attr-defined]

    @classmethod
    def from_json(cls, doc: dict[str, JSON], load: Callable[[JSON], JSON]) -> OwnFrame:  # noqa: ARG003  others hold values
        """What `to_json` wrote; `load` reads what `keep` wrote."""
        return cls(**doc)


@frozen
class Failing:
    """Unwinding has stopped here, before a frame that takes long to unwind; it goes on with this failure."""

    failure: Failure


Frame: TypeAlias = (
    Variables | Mask | Saved | Handler | Finalizer | Finalizing | Attempts | Deadline | Counter
    | Stamped | Coordinating | Compensations | Doing | Compensating
    | Insisting | OwnFrame | Failing
)  # fmt: skip


# --- waits -------------------------------------------------------------------------------------


@frozen
class Invoking:
    """For an action; with a `ticket` once it is to answer later, or to be `polled` for its answer."""

    ticket: JSON = None
    polled: bool = False


@frozen
class Sleeping:
    """For an instant: one that the machine's clock shows (`by_clock`), or one that is so long after now."""

    until_ms: int
    by_clock: bool = False


@frozen
class Joining:
    """For the fibers it forked; with a `cause`, to unwind as soon as the last of them has ended."""

    cause: Cancellation | Expiry | None = None


@frozen
class Paused:
    """For an operator, after this failure; `stuck` when it is a saga's, which cannot go on otherwise."""

    failure: Failure
    stuck: bool = False


Wait: TypeAlias = Invoking | Sleeping | Joining | Paused
FrameNamed: TypeAlias = "Callable[[str], type[OwnFrame]]"
"""Finds a frame that a language adds, by its name. See `dialect.Dialects.frame`."""


def invoking(wait: Wait | None) -> bool:
    """Whether it waits for an action that has not answered at all."""
    return type(wait) is Invoking and wait.ticket is None


def quiet(frames: Sequence[Frame]) -> bool:
    """Whether they are of what has events of its own, beside those of its execution."""
    return bool(frames) and isinstance(frames[0], OwnFrame) and frames[0].quiet


def polling(wait: Wait | None) -> bool:
    """Whether it waits for an action that is asked after."""
    return type(wait) is Invoking and wait.polled


# --- the fiber ---------------------------------------------------------------------------------


@frozen
class Fiber:
    """The continuation. Without a wait and an outcome it is ready to run.

    `steps` counts what it has done, its forks' work included; `origin` is the turn whose failure is
    being dealt with; `pc` is the instruction that runs next. `log` is what it has done, when it has
    ended, for the saga that it is a branch of.
    """

    id: str
    pc: int
    value: JSON
    frames: tuple[Frame, ...] = ()
    turn: int = 0
    steps: int = 0
    origin: int | None = None
    wait: Wait | None = None
    outcome: Outcome | None = None
    log: Log = ()
    event: int = 0  # the number of its last event, where events are numbered
    told: int = (
        0  # the number of the execution's last event, if the fiber stands before a `Stretch`
    )

    @property
    def due_ms(self) -> int | None:
        """When a timer must fire for it: at the end of its sleep or at its nearest deadline."""
        due = self.deadline_ms
        if type(self.wait) is Sleeping:
            until = self.wait.until_ms
            return until if due is None else min(due, until)
        return due

    @property
    def deadline_ms(self) -> int | None:
        """Its nearest deadline."""
        due = None
        for frame in self.frames:
            if type(frame) is Deadline and frame.at_ms is not None:
                due = frame.at_ms if due is None else min(due, frame.at_ms)
        return due

    @property
    def by_clock_ms(self) -> int | None:
        """The instant of the machine's clock that it sleeps until, if it does."""
        wait = self.wait
        return wait.until_ms if type(wait) is Sleeping and wait.by_clock else None

    @property
    def active(self) -> bool:
        """Whether a crash interrupts something: then it must be taken up at once."""
        wait = self.wait
        if self.outcome is not None:
            return False
        return wait is None or type(wait) is Joining or invoking(wait) or polling(wait)

    def values(self) -> Iterator[JSON]:
        """The values that it holds."""
        yield self.value
        for frame in self.frames:
            if isinstance(frame, (Saved, Attempts, Doing)):
                yield frame.value
            if isinstance(frame, OwnFrame):
                yield from frame.values()
            if isinstance(frame, Variables):
                yield from frame.variables.values()
            if isinstance(frame, Compensations):
                yield from logged_values(frame.log)
            if isinstance(frame, Compensating):
                yield from logged_values(frame.left)

    def refreshed(self, now_ms: int) -> Fiber:
        """For a redrive: its attempts counted anew, its deadlines from now, its action not yet run."""
        return replace(
            self,
            frames=tuple(_refreshed(frame, now_ms) for frame in self.frames),
            wait=Invoking() if isinstance(self.wait, Invoking) else self.wait,
        )

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        """As JSON; `keep` writes a value, or a reference to where it is stored."""
        doc: dict[str, JSON] = {"id": self.id, "turn": self.turn, "steps": self.steps}
        if self.event:
            doc["event"] = self.event
        if self.told:
            doc["told"] = self.told
        if self.outcome is not None:
            ended = {"origin": self.origin, "outcome": outcome_to_json(self.outcome, keep)}
            log = {"log": log_to_json(self.log, keep)} if self.log else {}
            return {**doc, **ended, **log}
        return {
            **doc,
            "pc": self.pc,
            "value": keep(self.value),
            "frames": [_to_json(frame, keep) for frame in self.frames],
            "origin": self.origin,
            "wait": None if self.wait is None else _to_json(self.wait, keep),
        }

    @classmethod
    def from_json(
        cls, doc: dict[str, JSON], load: Callable[[JSON], JSON], frame: FrameNamed
    ) -> Fiber:
        """What `to_json` wrote; `load` reads what `keep` wrote, `frame` finds those of languages."""
        if "outcome" in doc:
            outcome = outcome_from_json(doc["outcome"], load)
            log = log_from_json(doc.get("log", ()), load)
            return cls(**{**doc, "pc": NOWHERE, "value": None, "outcome": outcome, "log": log})
        wait = doc["wait"]
        return cls(
            **{
                **doc,
                "value": load(doc["value"]),
                "frames": tuple(_from_json(item, load, frame) for item in doc["frames"]),
                "wait": None if wait is None else _from_json(wait, load, frame),
            }
        )


def parent_of(fiber: str) -> tuple[str, int, int]:
    """The fiber that forked this one, in which turn, and as which member."""
    parent, _, place = fiber.rpartition("/")
    turn, _, index = place.partition(".")
    return parent, int(turn), int(index)


def member_id(parent: str, turn: int, index: int) -> str:
    """The id of member `index` of what `parent` forked in `turn`."""
    return f"{parent}/{turn}.{index}"


def _refreshed(frame: Frame, now_ms: int) -> Frame:
    if isinstance(frame, Attempts):
        return replace(frame, attempt=1)
    if isinstance(frame, Deadline):
        return replace(frame, at_ms=None if frame.once_taken else now_ms + frame.timeout_ms)
    if isinstance(frame, OwnFrame):
        return frame.refreshed(now_ms)
    return frame


# --- JSON --------------------------------------------------------------------------------------

_KINDS: dict[str, type[Any]] = {
    cls.__name__: cls for cls in (*get_args(Frame), *get_args(Wait)) if cls is not OwnFrame
}


def outcome_to_json(outcome: Outcome, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
    if isinstance(outcome, Success):
        return {"value": keep(outcome.value)}
    return {"code": outcome.code, "error": keep(outcome.error)}


def outcome_from_json(doc: dict[str, JSON], load: Callable[[JSON], JSON]) -> Outcome:
    if "code" in doc:
        return Failure(doc["code"], load(doc["error"]))
    return Success(load(doc["value"]))


def _to_json(item: Frame | Wait, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:  # noqa: C901, PLR0911  a case a kind
    kind: dict[str, JSON] = {"is": type(item).__name__}
    match item:
        case Invoking(ticket, polled):
            return {**kind, "ticket": ticket, **({"polled": True} if polled else {})}
        case Sleeping(until_ms, by_clock):
            return {**kind, "until_ms": until_ms, **({"by_clock": True} if by_clock else {})}
        case Variables(variables):
            return {**kind, "variables": {name: keep(value) for name, value in variables.items()}}
        case Saved(value):
            return {**kind, "value": keep(value)}
        case OwnFrame():
            return {**kind, **item.to_json(keep)}
        case Attempts(at, attempt, value, turn, shift, each):
            more = {"each": each} if each is not None else {}
            begun = {"turn": turn, "shift": shift} if turn or shift else {}
            return {**kind, "at": at, "attempt": attempt, "value": keep(value), **begun, **more}
        case Handler(to, errors):
            return {**kind, "to": to, "errors": list(errors)}
        case Finalizing(cause) | Joining(cause):
            return {**kind, "cause": cause_to_json(cause)}
        case Paused() | Failing():
            members: dict[str, JSON] = {name: getattr(item, name) for name in item.__match_args__}
            return {**kind, **members, "failure": outcome_to_json(item.failure, keep)}
        case Compensations() | Doing() | Compensating():
            return {**kind, **_saga_to_json(item, keep)}
        case Coordinating():
            return {**kind, **_coordinating_to_json(item)}
        case _:
            return {**kind, **{name: getattr(item, name) for name in type(item).__match_args__}}


def _from_json(doc: dict[str, JSON], load: Callable[[JSON], JSON], frame: FrameNamed) -> Any:
    members = {name: value for name, value in doc.items() if name != "is"}
    kind = _KINDS.get(doc["is"])
    if kind is None:
        return frame(doc["is"]).from_json(members, load)
    match doc["is"]:
        case "Variables":
            members["variables"] = {k: load(v) for k, v in members["variables"].items()}
        case "Saved" | "Attempts":
            members["value"] = load(members["value"])
        case "Handler":
            members["errors"] = tuple(members["errors"])
        case "Finalizing" | "Joining":
            members["cause"] = cause_from_json(members["cause"])
        case "Paused" | "Failing":
            members["failure"] = outcome_from_json(members["failure"], load)
        case "Compensations" | "Compensating" | "Doing":
            members |= _saga_from_json(members, load)
        case "Coordinating":
            members |= _coordinating_from_json(members)
    return kind(**members)


def _saga_to_json(
    frame: Compensations | Doing | Compensating, keep: Callable[[JSON], JSON]
) -> dict[str, JSON]:
    doc: dict[str, JSON] = {name: getattr(frame, name) for name in frame.__match_args__}
    match frame:
        case Doing():
            doc["value"] = keep(frame.value)
        case Compensations():
            doc["log"] = log_to_json(frame.log, keep)
            doc["cause"] = cause_to_json(frame.cause)
        case _:
            cause = frame.cause
            undoing = () if frame.undoing is None else (frame.undoing,)
            doc["left"] = log_to_json(frame.left, keep)
            doc["undoing"] = log_to_json(undoing, keep)
            failed = isinstance(cause, Failure)
            doc["cause"] = outcome_to_json(cause, keep) if failed else cause_to_json(cause)  # type: ignore[arg-type]
    return doc


def _saga_from_json(doc: dict[str, JSON], load: Callable[[JSON], JSON]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if "undoing" in doc:
        made["undoing"] = next(iter(log_from_json(doc["undoing"], load)), None)
        made["left"] = log_from_json(doc["left"], load)
    elif "log" in doc:
        made["log"] = log_from_json(doc["log"], load)
    else:
        made["value"] = load(doc["value"])
    if "cause" in doc:
        cause = doc["cause"]
        failed = isinstance(cause, dict)
        made["cause"] = outcome_from_json(cause, load) if failed else cause_from_json(cause)
    return made


def _coordinating_to_json(frame: Coordinating) -> dict[str, JSON]:
    reason = frame.reason
    return {
        **{name: getattr(frame, name) for name in frame.__match_args__},
        "members": [member.to_json() for member in frame.members],
        "asked": list(frame.asked),
        "reason": None if reason is None else [reason.code, reason.error],
        "cause": cause_to_json(frame.cause),
    }


def _coordinating_from_json(doc: dict[str, JSON]) -> dict[str, Any]:
    reason = doc["reason"]
    return {
        "members": tuple(Member.from_json(member) for member in doc["members"]),
        "asked": tuple(doc["asked"]),
        "reason": None if reason is None else Failure(*reason),
        "cause": cause_from_json(doc["cause"]),
    }
