"""The frames of a fiber: the stack that says how its code is nested, the innermost frame last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from ..freezing import changed, frozen
from ..values import JSON, Failure, outcome_from_json, outcome_to_json
from .sagas.compensations import Compensating, Compensations, SagaStep
from .stored import Part
from .transactions.coordinator import Coordinating
from .unwind_reasons import Exhaustion, Interruption, reason_from_json, reason_to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Self

    from .stored import Document


@frozen
class Variables(Part):
    """The variables of a `let`."""

    variables: dict[str, JSON]

    def values(self) -> Iterable[JSON]:
        return self.variables.values()

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        return {"variables": {name: keep(value) for name, value in self.variables.items()}}

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:
        return cls({name: load(value) for name, value in doc["variables"].items()})


@frozen
class Remembered(Part):
    """The bottom of the root fiber of a program with queries: variables whose `let` has ended, as they were last."""

    variables: dict[str, JSON]

    def values(self) -> Iterable[JSON]:
        return self.variables.values()

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        return {"variables": {name: keep(value) for name, value in self.variables.items()}}

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:
        return cls({name: load(value) for name, value in doc["variables"].items()})


@frozen
class Mask(Part):
    """Hides the innermost Variables frame below from the code that runs above."""


@frozen
class Saved(Part):
    """A value to come back to."""

    value: JSON

    def values(self) -> Iterable[JSON]:
        return (self.value,)

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        return {"value": keep(self.value)}

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:
        return cls(load(doc["value"]))


@frozen
class Handler(Part):
    """Takes failures of these names (all when empty)."""

    to: int
    errors: tuple[str, ...]

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:  # noqa: ARG002
        return {"to": self.to, "errors": list(self.errors)}

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:  # noqa: ARG003
        return cls(doc["to"], tuple(doc["errors"]))


@frozen
class Finalizer(Part):
    """Runs the code at `to` when the code above it ends, however it ends."""

    to: int


@frozen
class Finalizing(Part):
    """A finalizer is running; afterwards unwinding goes on for `unwind_reason`, if there is one."""

    unwind_reason: Interruption | Exhaustion | None = None

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:  # noqa: ARG002
        return {"cause": reason_to_json(self.unwind_reason)}

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:  # noqa: ARG003
        return cls(reason_from_json(doc["cause"]))


@frozen
class Attempts(Part):
    """The attempt under way, of the Attempt instruction at `at`, and the value it starts from.

    `each` are the values that an attempt differs by; `turn` is where the first one began, `shift` how
    many turns later this one did. `failed` is the failure of the attempt before. `details` came with the
    last heartbeat, of the step whose instruction is at `heard`.
    """

    at: int
    attempt: int
    value: JSON
    turn: int = 0
    shift: int = 0
    each: list[JSON] | None = None
    failed: Failure | None = None
    heard: int | None = None
    details: JSON = None

    def values(self) -> Iterable[JSON]:
        told = (None if self.failed is None else self.failed.error, self.details)
        return (self.value, *(value for value in told if value is not None))

    def refreshed(self, now_ms: int) -> Self:  # noqa: ARG002
        return changed(self, attempt=1, failed=None)

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        doc: dict[str, JSON] = {"at": self.at, "attempt": self.attempt, "value": keep(self.value)}
        if self.turn or self.shift:
            doc |= {"turn": self.turn, "shift": self.shift}
        if self.each is not None:
            doc["each"] = self.each
        if self.failed is not None:
            doc["failed"] = outcome_to_json(self.failed, keep)
        if self.heard is not None:
            doc |= {"heard": self.heard, "details": keep(self.details)}
        return doc

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:
        members = {**doc, "value": load(doc["value"])}
        if "failed" in doc:
            members["failed"] = outcome_from_json(doc["failed"], load)
        if "details" in doc:
            members["details"] = load(doc["details"])
        return cls(**members)


TO_START, TO_END, IN_ALL, HEARTBEAT = "to_start", "to_end", "in_all", "heartbeat"  # of `within`
RUN_TIMEOUT, EXECUTION_TIMEOUT = "run_timeout", "execution_timeout"  # of a run, and of its chain


@frozen
class Deadline(Part):
    """The code above must end by `at_ms`; None once the deadline has been handled, or before it counts.

    `bound` says which timeout it is, if it is one of `within` or of a run. See `timeouts`.
    """

    at_ms: int | None
    timeout_ms: int
    beats: bool = False  # each heartbeat puts it off
    once_taken: bool = False  # it counts from when a worker takes the task
    bound: str = ""

    def refreshed(self, now_ms: int) -> Self:
        untaken = self.bound == TO_START or (self.once_taken and not self.bound)
        return changed(self, at_ms=None if untaken else now_ms + self.timeout_ms)

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:  # noqa: ARG002
        doc: dict[str, JSON] = {
            "at_ms": self.at_ms, "timeout_ms": self.timeout_ms, "beats": self.beats,
            "once_taken": self.once_taken,
        }  # fmt: skip
        return {**doc, "bound": self.bound} if self.bound else doc


@frozen
class Counter(Part):
    """So many rounds are left."""

    left: int


@frozen
class Served(Part):
    """Near the bottom of the root fiber of a program with updates: what its execution remembers of them.

    `accepted` counts the updates so far; `opened` are the Serve instructions that have run. `before` are the
    variables of frames, by depth, as they were when the fiber asked for what it waits for in `turn`: an update
    has changed them since, and a restart asks for the same again.
    """

    accepted: int = 0
    opened: tuple[int, ...] = ()
    turn: int = -1
    before: tuple[tuple[int, dict[str, JSON]], ...] = ()

    def values(self) -> Iterable[JSON]:
        for _, variables in self.before:
            yield from variables.values()

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        doc: dict[str, JSON] = {"accepted": self.accepted, "opened": list(self.opened)}
        if self.before:
            kept: list[JSON] = [
                [depth, {name: keep(value) for name, value in variables.items()}]
                for depth, variables in self.before
            ]
            doc |= {"turn": self.turn, "before": kept}
        return doc

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:
        before = tuple(
            (depth, {name: load(value) for name, value in variables.items()})
            for depth, variables in doc.get("before", ())
        )
        return cls(doc["accepted"], tuple(doc["opened"]), doc.get("turn", -1), before)


@frozen
class Serving(Part):
    """Updates are handled, as the Serve instruction at `at` says, while this frame stands."""

    at: int


@frozen
class Handling(Part):
    """The bottom of a handler's fiber: the update that it handles, and the Serving frame that accepted it.

    The frame stands at `depth` of the root fiber, and its instruction at `at`. The update has a `payload`. `steps` are those of the root
    fiber when the update was accepted.
    """

    at: int
    depth: int
    name: str
    update: str
    payload: JSON
    steps: int

    def values(self) -> Iterable[JSON]:
        return (self.payload,)

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        return {
            "at": self.at, "depth": self.depth, "name": self.name, "update": self.update,
            "payload": keep(self.payload), "steps": self.steps,
        }  # fmt: skip

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:
        return cls(**{**doc, "payload": load(doc["payload"])})


@frozen
class TransactionStart(Part):
    """The start of the first attempt of a transaction: an older transaction goes before a younger one."""

    stored_as = "Stamped"

    at_ms: int


@frozen
class Slot(Part):
    """A slot of a limit that the code above holds.

    Args:
        limit: the name of the limit.
        key: whose slot it is; "" without a key.
        turn: in which the fiber asked for it: no other slot of the fiber has this turn.
        place: its place in the line.
        at: the instruction that asked for it.
    """

    limit: str
    key: str
    turn: int
    place: int
    at: int


@frozen
class Uncounted(Part):
    """A branch that tells participants a decision: its steps are not counted."""

    stored_as = "Insisting"


class OwnFrame(Part):
    """A frame that a language adds: `frozen`, and known to its dialect, which says how it is unwound.

    The fibers that a fiber forks see its `inherited` frames. The events of a fiber that stands on a `quiet`
    frame are not its execution's.
    """

    __slots__ = ()
    inherited: ClassVar[bool] = False
    quiet: bool = False


@frozen
class Failing(Part):
    """Unwinding has stopped here, before a frame that takes long to unwind; it goes on with this failure."""

    failure: Failure

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        return {"failure": outcome_to_json(self.failure, keep)}

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:
        failure: Any = outcome_from_json(doc["failure"], load)
        return cls(failure)


Frame: TypeAlias = (
    Variables | Remembered | Mask | Saved | Handler | Finalizer | Finalizing | Attempts | Deadline | Counter
    | TransactionStart | Coordinating | Compensations | SagaStep | Compensating
    | Uncounted | OwnFrame | Failing | Served | Serving | Handling | Slot
)  # fmt: skip


def quiet(frames: Sequence[Frame]) -> bool:
    """True if the fiber with these frames has events of its own, apart from those of its execution."""
    return bool(frames) and isinstance(frames[0], OwnFrame) and frames[0].quiet


def inherited(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """The frames that a new fiber has of its parent: the variables, to read and to change for itself."""
    return tuple(
        frame
        for frame in frames
        if isinstance(frame, (Variables, Mask)) or (isinstance(frame, OwnFrame) and frame.inherited)
    )
