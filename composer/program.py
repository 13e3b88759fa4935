"""A composition compiled to a flat list of instructions: the one format that the machine runs.

Instructions are verbs of one fiber: it has a program counter, a value, and a stack of frames. Those
that push a frame say so; `Leave` pops one. A target (`to`, `otherwise`) is an index into the list.
A program is JSON and is known by the hash of that JSON; an execution is pinned to it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from .errors import ExpressionError, ProgramError
from .expressions import Predicate, Template, parse_predicate
from .retries import RetryPolicy

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
class Save:
    """Pushes a Saved frame: the value, or what the template makes of it."""

    template: Template | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Pops a Saved frame: takes its value back, or combines the two.

    `restore`: the saved value. `retain`: `{"params": saved, "result": value}`. `merge`: saved with
    the value's fields over it. `into`: saved with the value in its field `field`.
    """

    how: Literal["restore", "retain", "merge", "into"]
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
    Evaluate | Test | Assign | Jump | Branch | Invoke | Call | InvokeNamed | Save | Recall
    | Declare | Hide | Guard | Shield | Finalize | Finalized | Attempt | Settle | Limit | Repeat
    | Count | Leave | Inspect | Fork | Each | Sleep | Raise | Spawn | End
)  # fmt: skip

_OPS: dict[str, type[Any]] = {cls.__name__: cls for cls in get_args(Instruction)}


@dataclass(frozen=True, slots=True)
class Program:
    """Instructions and the inline functions they call, by hash: `{"kind": ..., "code": ...}`."""

    instructions: tuple[Instruction, ...]
    functions: dict[str, dict[str, JSON]] = field(default_factory=dict)
    hash: str = field(init=False, default="")

    def __post_init__(self) -> None:
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        object.__setattr__(self, "hash", sha256(text.encode()).hexdigest())

    @property
    def actions(self) -> list[str]:
        """Names of the actions it may invoke, in order of appearance; dynamic ones not included."""
        named = (i.action for i in self.instructions if isinstance(i, Invoke))
        return list(dict.fromkeys(named))

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
        if not isinstance(doc, dict) or doc.get("version") != VERSION:
            found = doc.get("version") if isinstance(doc, dict) else doc
            raise ProgramError(f"program version {found!r} is not {VERSION}, the one this runs")
        return cls(
            tuple(_from_json(at, item) for at, item in enumerate(doc["instructions"])),
            doc["functions"],
        )


def _to_json(instruction: Instruction) -> dict[str, JSON]:
    doc: dict[str, JSON] = {"op": type(instruction).__name__}
    for member in fields(instruction):
        value = getattr(instruction, member.name)
        if value == member.default and member.name in _OPTIONAL:
            continue
        write, _ = _CODECS.get(member.name, _PLAIN)
        doc[member.name] = write(value)
    return doc


def _from_json(at: int, doc: JSON) -> Instruction:
    try:
        cls = _OPS[doc["op"]]
        arguments = {
            name: _CODECS.get(name, _PLAIN)[1](value) for name, value in doc.items() if name != "op"
        }
        instruction: Instruction = cls(**arguments)
    except (KeyError, TypeError, AttributeError, ExpressionError) as error:
        raise ProgramError(f"instruction {at} is none: {doc!r} ({error})") from error
    return instruction


_Codec: TypeAlias = "tuple[Callable[[Any], JSON], Callable[[JSON], Any]]"

_PLAIN: _Codec = (lambda value: value, lambda doc: doc)
_NAMES: _Codec = (list, tuple)
_TEMPLATE: _Codec = (
    lambda value: {"t": value.to_json()} if value is not None else None,
    lambda doc: Template.from_json(doc["t"]) if doc is not None else None,
)
_PREDICATE: _Codec = (
    lambda value: value.to_json() if value is not None else None,
    lambda doc: parse_predicate(doc) if doc is not None else None,
)
_CODECS: dict[str, _Codec] = {
    "template": _TEMPLATE,
    "items": _TEMPLATE,
    "predicate": _PREDICATE,
    "policy": (RetryPolicy.to_json, RetryPolicy.from_json),
    "assignments": (
        lambda value: {name: template.to_json() for name, template in value.items()},
        lambda doc: {name: Template.from_json(item) for name, item in doc.items()},
    ),
    "errors": (
        lambda value: value if isinstance(value, str) else list(value),
        lambda doc: doc if isinstance(doc, str) else tuple(doc),
    ),
    "branches": _NAMES,
    "names": _NAMES,
    "after": (
        lambda value: [list(indexes) for indexes in value],
        lambda doc: tuple(tuple(indexes) for indexes in doc),
    ),
}
_OPTIONAL = {"predicate", "template", "field", "errors", "after", "names", "first", "until",
             "concurrency"}  # fmt: skip
