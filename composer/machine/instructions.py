"""The instructions of the machine, which one fiber runs.

It has a program counter, a value, and a stack of frames. Those that push a frame say so; `Leave` pops
one. A target (`to`, `otherwise`, ...) is an index into the program's list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from .update_instructions import Close, Serve, Until

if TYPE_CHECKING:
    from ..expressions import Predicate, Template
    from ..values import JSON
    from .retries import RetryPolicy

Errors: TypeAlias = Literal["fail", "wait", "collect"]  # see composer.machine.joins


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluate:
    """value := the filled template, boxed."""

    template: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """value := `{"value": true}` if the predicate holds, else `{"value": false}`."""

    predicate: Predicate


@dataclass(frozen=True, slots=True, kw_only=True)
class Assign:
    """Sets visible variables to filled templates; the value stays."""

    assignments: dict[str, Template]


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotate:
    """Gives the execution attributes, filled templates, by which it is found; the value stays."""

    assignments: dict[str, Template]


@dataclass(frozen=True, slots=True, kw_only=True)
class Emit:
    """Emits the CloudEvent that the template makes; the value stays."""

    template: Template
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Jump:
    to: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """Goes on if the predicate holds (or, without one, if value.value is true), else jumps."""

    otherwise: int
    predicate: Predicate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoke:
    """Runs the action on the value; its result is the value."""

    action: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Runs an inline function, by hash, on the value and the visible variables."""

    function: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InvokeNamed:
    """Runs the action that the value names: `{"type": "action", "name": ..., "params": {...}}`."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operate:
    """Sends an entity the message that the template makes; its answer is the value.

    Within a transaction the message is part of it.
    """

    action: str
    message: Template
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopt:
    """Starts an execution of its own, a child: of the action, with the `params` and `id` that the template makes.

    Its result is the value, or with `wait` false its ids as soon as it has started. The other members are
    those of `commands.Child`.
    """

    action: str
    message: Template
    path: str
    wait: bool = True
    on_open: str = "fail"
    on_closed: str = "allow"
    close: str = "terminate"
    on_cancel: str = "wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Pushes a TransactionStart frame: now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Insist:
    """Pushes an Uncounted frame: telling a decision may take any number of steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """Pushes a Coordinating frame: a transaction begins, whose coordinator is the code at `to`.

    `calls` makes the list of its operations, when these are declared; otherwise it works as it goes.
    """

    to: int
    order: str
    timeout_ms: int
    calls: Template | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Ends the work of a transaction, whose result is the value: the commit begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinate:
    """Takes the next step of the coordinator.

    The value becomes the one message to send, or `{"value": [messages]}`. Goes on if the message asks one
    participant; jumps to `decide` if it asks the last participant to decide, to `tell` if it tells one
    participant the decision, to `many` and `tell_many` with several messages. When the transaction has ended,
    pops the frame, and fails or jumps to `end` with the result.
    """

    decide: int
    tell: int
    many: int
    tell_many: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Absorb:
    """Gives the coordinator the answer, or the answers; jumps."""

    to: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Enter:
    """Pushes a Compensations frame: a saga begins, which the code at `to` undoes.

    With `all`, no retry of an enclosing saga covers its failure.
    """

    to: int
    all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """Pushes a SagaStep frame: a step of a saga begins. See `compensations.SagaStep`."""

    done: int
    path: str
    undo: int | None = None
    always: bool = False
    pivot: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Pops the SagaStep frame: the step is done, and how to undo it goes into the saga's log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Complete:
    """Pops the Compensations frame: the saga is done. An enclosing saga may undo its steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compensate:
    """Undoes the last logged step: the value becomes the input of its undo, or `{"value": [logs]}`.

    Jumps to that undo, or to `group` when it was done in branches. When nothing is left the
    Compensating frame is popped: what has caused it goes on, or in a branch the code at `end`.
    """

    group: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compensated:
    """Ends an undo: jumps back to the code that undoes the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """Pushes a Compensating frame for the log that the value is; jumps to the code that undoes it."""

    to: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Consult:
    """Runs the code of the action that the program belongs to, a conductor action, on the value."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """Applies the answer of a conductor action: `{"action"?, "params"?, "state"?}`.

    With an action: the state takes the place of the Saved frame's value, and the value becomes what
    InvokeNamed takes; jumps to `unnamed` with an error if the action is not a name. Without: pops the
    frame, and jumps to `otherwise` with the parameters, or with all of the answer if it has none.
    """

    unnamed: int
    otherwise: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Save:
    """Pushes a Saved frame with the value, or with the filled template."""

    template: Template | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Pops a Saved frame: takes its value back, or combines the two.

    `restore`: the saved value. `retain`: `{"params": saved, "result": value}`. `merge`: saved with
    the value's fields over it. `under`: the value with saved's fields over it, be it an error or not.
    `into`: saved with the value in its field `field`.
    """

    how: Literal["restore", "retain", "merge", "under", "into"]
    field: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Declare:
    """Pushes a Variables frame."""

    variables: dict[str, JSON]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hide:
    """Pushes a Mask frame: the innermost variables below it are not visible above it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Pushes a Handler frame: failures of these names (all when empty) continue at `to`."""

    to: int
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shield:
    """Pushes a Finalizer frame: its unwinding runs the code at `to` first."""

    to: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalize:
    """Replaces the Finalizer frame by a Finalizing one: the finalizer begins after a success."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalized:
    """Pops the Finalizing frame and goes on unwinding if that was under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Pushes an Attempts frame, with the value to start each attempt from.

    With `each` there are as many attempts as that makes values, and the value has the next of them in
    its field `field`.
    """

    policy: RetryPolicy
    each: Template | None = None
    field: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """Pops the Attempts frame, or fails if the policy's `until` does not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Pushes a Deadline frame.

    Args:
        timeout_ms: from now; that of `to_start` counts while the step waits for a worker.
        bound: which timeout of `within` it is; "" for a plain one.
        once_taken: the time in which the step waits for a worker does not count.
    """

    timeout_ms: int
    bound: str = ""
    once_taken: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """Pushes a Counter frame."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """Counts one down; at zero pops the Counter frame and jumps."""

    otherwise: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """Pops one frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspect:
    """Fails if the value is an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """Starts a fiber at each branch and waits for them as the policies say; then goes on at `to`.

    Args:
        branches: where each begins; each ends at an End.
        after: for each branch, the indexes of those that must succeed before it starts; it then
            takes their results by name.
        names: of the branches, when results are wanted by name.
        first: the first success decides; otherwise all.
        errors: see `composer.machine.joins`.
    """

    branches: tuple[int, ...]
    to: int
    path: str
    after: tuple[tuple[int, ...], ...] = ()
    names: tuple[str, ...] = ()
    first: bool = False
    errors: Errors = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Each:
    """Starts a fiber at the next instruction for each item, so many at a time; then goes on at `to`."""

    items: Template
    to: int
    path: str
    concurrency: int | None = None
    errors: Errors = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleep:
    """Waits: `template` makes seconds, or with `until` an instant (ISO 8601, or epoch seconds)."""

    template: Template
    path: str
    until: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hear:
    """Waits for messages that satisfy `want` (see `inbox.Want`); the value becomes the payload, boxed.

    With several names in the want it becomes `{name: payload}`. With `drop`, messages that came before it began to
    wait are dropped.
    """

    want: JSON
    path: str
    drop: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquire:
    """Waits for a slot of a limit, and pushes a Slot frame; see `acquiring`.

    Args:
        name: of the limit; "" for one of the composition's own, known by its action and `path`.
        key: a template; the limit counts for each of its values apart.
        concurrent: slots of each key; None for any number.
        per_minute: slots that are given in a minute; None for any number.
    """

    name: str
    key: Template | None
    concurrent: int | None
    per_minute: int | None
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tell:
    """Tells another execution a message; the value becomes `{"executionId": ..., "message": ...}`.

    The template `execution` makes its id, `payload` the payload.
    """

    execution: Template
    name: str
    payload: Template
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """Ends the run: the next run of its chain begins in its place, with what the template makes as its input.

    The next run is one of the action, or with "" of the one that this run is of.
    """

    template: Template
    action: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Raise:
    """Fails with an error object of this code and message."""

    code: str
    template: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawn:
    """Starts an execution of its own at the next instruction and goes on at `to` without it."""

    to: int
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """Ends the fiber: it has succeeded with the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnInstruction:
    """An instruction that a language adds: a dataclass, with a row in the tables of its dialect.

    A member that is called as one of the machine's is written as that is (`to`, `targets`, `path`, ...),
    any other as the JSON that it is.
    """


Instruction: TypeAlias = (
    Evaluate | Test | Assign | Annotate | Emit | Jump | Branch | Invoke | Call | InvokeNamed | Consult | Conduct | Save
    | Recall | Adopt | Declare | Hide | Guard | Shield | Finalize | Finalized | Attempt | Settle | Limit | Repeat
    | Count | Leave | Inspect | Fork | Each | Sleep | Hear | Acquire | Tell | Serve | Close | Until | Restart | Raise | Spawn | End | Operate | Stamp | Insist | Open | Commit
    | Coordinate | Absorb | Enter | Begin | Done | Complete | Compensate | Compensated | Resume
    | OwnInstruction
)  # fmt: skip
