"""A composition compiled to a flat list of instructions: the one format that the machine runs.

Instructions are verbs of one fiber: it has a program counter, a value, and a stack of frames. Those
that push a frame say so; `Leave` pops one. A target (`to`, `otherwise`) is an index into the list.
A program is JSON and is known by the hash of that JSON; an execution is pinned to it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from hashlib import sha256
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from .errors import ExpressionError, ProgramError
from .expressions import Predicate, Template, parse_predicate
from .retries import RetryPolicy
from .values import MADE_DEPTH, flaw

if TYPE_CHECKING:
    from collections.abc import Callable

    from .values import JSON

VERSION = 1

Errors: TypeAlias = Literal["fail", "wait", "collect"]  # see composer.joins


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluate:
    """value := the filled template, boxed."""

    template: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """value := `{"value": whether the predicate holds}`."""

    predicate: Predicate


@dataclass(frozen=True, slots=True, kw_only=True)
class Assign:
    """Sets visible variables to filled templates; the value stays."""

    assignments: dict[str, Template]


@dataclass(frozen=True, slots=True, kw_only=True)
class Jump:
    to: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """Goes on when the predicate holds (or, without one, when value.value is true), else jumps."""

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
class Consult:
    """Runs the code of the action that the program belongs to, a conductor action, on the value."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """Does as a conductor action has answered: `{"action"?, "params"?, "state"?}`.

    With an action: the state takes the place of the Saved frame's value, and the value becomes what
    InvokeNamed takes; jumps to `unnamed` with an error when the action is no name. Without: pops the
    frame, and jumps to `otherwise` with the parameters, or with all of the answer if it has none.
    """

    unnamed: int
    otherwise: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Save:
    """Pushes a Saved frame: the value, or what the template makes of it."""

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
    """Pushes a Finalizer frame: whatever unwinds it runs the code at `to` first."""

    to: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalize:
    """Turns the Finalizer frame into a Finalizing one: the finalizer begins, unhurried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalized:
    """Pops the Finalizing frame and goes on unwinding if that was under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Pushes an Attempts frame, with the value to start each attempt from."""

    policy: RetryPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """Pops the Attempts frame, unless the policy's `until` does not hold: then it failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Pushes a Deadline frame."""

    timeout_ms: int


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
    """Fails when the value is an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """Starts a fiber at each branch and waits for them as the policies say; then goes on at `to`.

    Args:
        branches: where each begins; each ends at an End.
        after: for each branch, the indexes of those that must succeed before it starts; it then
            takes their results by name.
        names: of the branches, when results are wanted by name.
        first: the first success decides; otherwise all.
        errors: see `composer.joins`.
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
    """The fiber has succeeded with the value."""


Instruction: TypeAlias = (
    Evaluate | Test | Assign | Jump | Branch | Invoke | Call | InvokeNamed | Consult | Conduct | Save
    | Recall | Declare | Hide | Guard | Shield | Finalize | Finalized | Attempt | Settle | Limit | Repeat
    | Count | Leave | Inspect | Fork | Each | Sleep | Raise | Spawn | End
)  # fmt: skip

_OPS: dict[str, type[Any]] = {cls.__name__: cls for cls in get_args(Instruction)}


@dataclass(frozen=True, slots=True)
class Program:
    """Instructions and the inline functions they call, by hash: `{"kind": ..., "code": ...}`.

    Two are equal when their hashes are.
    """

    instructions: tuple[Instruction, ...] = field(compare=False)
    functions: dict[str, dict[str, JSON]] = field(default_factory=dict, compare=False)
    hash: str = field(init=False, default="")

    def __post_init__(self) -> None:
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        object.__setattr__(self, "hash", sha256(text.encode()).hexdigest())

    @property
    def actions(self) -> list[str]:
        """The names of the actions that it invokes, in order of its instructions."""
        return [step.action for step in self.instructions if isinstance(step, Invoke)]

    def to_json(self) -> dict[str, JSON]:
        return {
            "version": VERSION,
            "instructions": [_to_json(instruction) for instruction in self.instructions],
            "functions": self.functions,
        }

    @classmethod
    def from_json(cls, doc: JSON) -> Program:
        """Reads what `to_json` wrote.

        Raises:
            ProgramError: naming the version or the instruction that is wrong.
        """
        version = doc.get("version") if isinstance(doc, dict) else doc
        if version != VERSION or type(version) is not int:
            raise ProgramError(f"program version {version!r:.80} is not {VERSION}, which this runs")
        if why := flaw(doc, depth=MADE_DEPTH):
            raise ProgramError(f"a program is JSON, but {why}")
        items, functions = doc.get("instructions"), doc.get("functions")
        if not isinstance(items, list) or not items:
            raise ProgramError("a program has a list of 'instructions', with at least one")
        if not isinstance(functions, dict) or not all(map(_is_runtime, functions.values())):
            raise ProgramError("a program has 'functions': {hash: {'kind': ..., 'code': ...}}")
        return cls(
            tuple(_from_json(at, item, len(items)) for at, item in enumerate(items)), functions
        )


def _is_runtime(doc: JSON) -> bool:
    return isinstance(doc, dict) and all(isinstance(doc.get(key), str) for key in ("kind", "code"))


def _to_json(instruction: Instruction) -> dict[str, JSON]:
    doc: dict[str, JSON] = {"op": type(instruction).__name__}
    for member in fields(instruction):
        value = getattr(instruction, member.name)
        if value == member.default and member.name in _OPTIONAL:
            continue
        write, _ = _codec(type(instruction), member.name)
        doc[member.name] = write(value)
    return doc


def _from_json(at: int, doc: JSON, size: int) -> Instruction:
    try:
        cls = _OPS[doc["op"]]
        arguments = {
            name: _codec(cls, name)[1](value) for name, value in doc.items() if name != "op"
        }
        instruction: Instruction = cls(**arguments)
    except (KeyError, ValueError, TypeError, AttributeError, ExpressionError) as error:
        raise ProgramError(f"instruction {at} is none: {doc!r:.200} ({error})") from error
    if outside := [to for to in _targets(arguments) if to >= size]:
        raise ProgramError(f"instruction {at} goes to {outside[0]}, of {size} instructions")
    return instruction


def _targets(arguments: dict[str, Any]) -> list[int]:
    ends = [arguments[name] for name in ("to", "otherwise", "unnamed") if name in arguments]
    return [*arguments.get("branches", ()), *ends]


_Codec: TypeAlias = "tuple[Callable[[Any], JSON], Callable[[JSON], Any]]"


def _plain(*kinds: type[Any]) -> _Codec:
    """Written as it is; read when it is of one of these kinds."""

    def read(doc: JSON) -> JSON:
        if type(doc) not in kinds:
            raise TypeError(f"{doc!r:.80} is of the wrong type")
        return doc

    return lambda value: value, read


def _index(doc: JSON) -> int:
    if type(doc) is not int or doc < 0:
        raise ValueError(f"{doc!r:.80} is no index")
    return doc


_NUMBER: _Codec = (lambda value: value, _index)
_TEXT = _plain(str)
_INDEXES: _Codec = (list, lambda doc: tuple(map(_index, doc)))
_NAMES: _Codec = (list, lambda doc: tuple(_TEXT[1](name) for name in doc))
_TEMPLATE: _Codec = (
    lambda value: {"t": value.to_json()} if value is not None else None,
    lambda doc: Template.from_json(doc["t"]) if doc is not None else None,
)
_PREDICATE: _Codec = (
    lambda value: value.to_json() if value is not None else None,
    lambda doc: parse_predicate(doc) if doc is not None else None,
)
_CODECS: dict[str, _Codec] = {
    "action": _TEXT,
    "after": (
        lambda value: [list(indexes) for indexes in value],
        lambda doc: tuple(map(_INDEXES[1], doc)),
    ),
    "assignments": (
        lambda value: {name: template.to_json() for name, template in value.items()},
        lambda doc: {name: Template.from_json(item) for name, item in doc.items()},
    ),
    "branches": _INDEXES,
    "code": _TEXT,
    "concurrency": _plain(int, NoneType),
    "count": _NUMBER,
    "errors": _TEXT,
    "field": _plain(str, NoneType),
    "first": _plain(bool),
    "function": _TEXT,
    "how": _TEXT,
    "items": _TEMPLATE,
    "names": _NAMES,
    "otherwise": _NUMBER,
    "path": _TEXT,
    "policy": (RetryPolicy.to_json, RetryPolicy.from_json),
    "predicate": _PREDICATE,
    "template": _TEMPLATE,
    "timeout_ms": _NUMBER,
    "to": _NUMBER,
    "unnamed": _NUMBER,
    "until": _plain(bool),
    "variables": _plain(dict),
}


def _codec(instruction: type[Any], member: str) -> _Codec:
    if instruction is Guard and member == "errors":  # names of failures, no policy
        return _NAMES
    return _CODECS[member]


_OPTIONAL = {"predicate", "template", "field", "errors", "after", "names", "first", "until",
             "concurrency"}  # fmt: skip
