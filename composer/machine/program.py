"""A composition compiled to a flat list of instructions: the one format that the machine runs.

A program is JSON and is known by the hash of that JSON; an execution is pinned to it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from hashlib import sha256
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import ExpressionError, ProgramError
from ..expressions import Template, parse_predicate
from ..values import MADE_DEPTH, flaw
from .inbox import check_want
from .instructions import Adopt, Enter, Guard, Instruction, Invoke, Open, Operate, Restart
from .plain import PLAIN
from .retries import RetryPolicy
from .update_instructions import Serve

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..values import JSON
    from .dialect import Dialect, Dialects

VERSION = 1

FunctionCode: TypeAlias = dict[str, Any]
"""An inline function: `{"kind": ..., "code": ...}` and more, as its runtime takes it. Reading checks these two."""


@dataclass(frozen=True, slots=True)
class Program:
    """Instructions and the inline functions they call, by hash: `{"kind": ..., "code": ...}`.

    `dialect` is the language whose instructions they are; its name is stored with the program, but for
    languages whose programs were stored before there was one (see `Dialect.mark`). Two programs are equal
    when their hashes are.
    """

    instructions: tuple[Instruction, ...] = field(compare=False)
    functions: dict[str, FunctionCode] = field(default_factory=dict, compare=False)
    dialect: Dialect = field(default=PLAIN, compare=False)
    queries: dict[str, Template] = field(default_factory=dict, compare=False)  # by name
    hash: str = field(init=False, default="")
    spans: bool = field(init=False, compare=False, default=False)  # has transactions or sagas
    updates: tuple[str, ...] = field(init=False, compare=False, default=())  # names, each once
    restarts: bool = field(init=False, compare=False, default=False)  # may continue as a new run

    def __post_init__(self) -> None:
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        object.__setattr__(self, "hash", sha256(text.encode()).hexdigest())
        spans = any(isinstance(step, (Enter, Open)) for step in self.instructions)
        object.__setattr__(self, "spans", spans)
        served = [step.targets for step in self.instructions if isinstance(step, Serve)]
        names = tuple(dict.fromkeys(name for targets in served for name in targets))
        object.__setattr__(self, "updates", names)
        restarts = any(isinstance(step, Restart) for step in self.instructions)
        object.__setattr__(self, "restarts", restarts)

    @property
    def actions(self) -> list[str]:
        """The names of the actions that it invokes, in order of its instructions."""
        return [
            step.action for step in self.instructions if isinstance(step, (Adopt, Invoke, Operate))
        ]

    def to_json(self) -> dict[str, JSON]:
        named = {"dialect": self.dialect.name} if self.dialect.name else {}
        return {
            **(named if self.dialect.mark is None else {}),
            "version": VERSION,
            "instructions": [_to_json(instruction) for instruction in self.instructions],
            "functions": dict(self.functions),
            **({"queries": _TEMPLATES[0](self.queries)} if self.queries else {}),
        }

    @classmethod
    def from_json(cls, doc: JSON, dialects: Dialects) -> Program:
        """Reads what `to_json` wrote, in one of these dialects.

        Raises:
            ProgramError: naming the version, the dialect or the instruction that is wrong.
        """
        version = doc.get("version") if isinstance(doc, dict) else None
        if not isinstance(doc, dict) or version != VERSION or type(version) is not int:
            raise ProgramError(f"program version {version!r:.80} is not {VERSION}, which this runs")
        if why := flaw(doc, depth=MADE_DEPTH):
            raise ProgramError(f"a program is JSON, but {why}")
        items, functions = doc.get("instructions"), doc.get("functions")
        if not isinstance(items, list) or not items:
            raise ProgramError("a program has a list of 'instructions', with at least one")
        if not isinstance(functions, dict) or not all(map(_is_function, functions.values())):
            raise ProgramError("a program has 'functions': {hash: {'kind': ..., 'code': ...}}")
        codes: dict[str, Any] = {**functions}
        dialect = dialects.of(doc)
        ops = {kind.__name__: kind for kind in dialect.operations}
        instructions = tuple(_from_json(at, item, len(items), ops) for at, item in enumerate(items))
        return cls(instructions, codes, dialect, _queries(doc.get("queries", {})))


def _queries(doc: JSON) -> dict[str, Template]:
    try:
        made: dict[str, Template] = _TEMPLATES[1](doc)
    except (TypeError, AttributeError, ExpressionError) as error:
        raise ProgramError(
            f"'queries' are templates by name, not {doc!r:.200} ({error})"
        ) from error
    return made


def _is_function(doc: JSON) -> bool:
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


def _from_json(at: int, doc: Any, size: int, ops: dict[str, type[Any]]) -> Instruction:
    try:
        cls = ops[doc["op"]]
        arguments = {
            name: _codec(cls, name)[1](value) for name, value in doc.items() if name != "op"
        }
        instruction: Instruction = cls(**arguments)
    except (KeyError, ValueError, TypeError, AttributeError, ExpressionError) as error:
        raise ProgramError(f"instruction {at} is not valid: {doc!r:.200} ({error})") from error
    if outside := [to for to in _targets(arguments) if to >= size]:
        raise ProgramError(f"instruction {at} goes to {outside[0]}, of {size} instructions")
    return instruction


def _targets(arguments: dict[str, Any]) -> list[int]:
    ends = [arguments[name] for name in _TARGETS if arguments.get(name) is not None]
    named = arguments.get("targets", {}).values()
    return [*arguments.get("branches", ()), *ends, *named]


_TARGETS = ("to", "otherwise", "unnamed", "decide", "tell", "many", "tell_many", "end", "done", "undo",
            "group")  # fmt: skip
_Codec: TypeAlias = "tuple[Callable[[Any], JSON], Callable[[Any], Any]]"


def _plain(*kinds: type[Any]) -> _Codec:
    """Written as it is; read when it is of one of these kinds."""

    def read(doc: JSON) -> JSON:
        if type(doc) not in kinds:
            raise TypeError(f"{doc!r:.80} is of the wrong type")
        return doc

    return lambda value: value, read


def _index(doc: JSON) -> int:
    if type(doc) is not int or doc < 0:
        raise ValueError(f"{doc!r:.80} is not an index")
    return doc


_JSON: _Codec = (lambda value: value, lambda doc: doc)
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
_TEMPLATES: _Codec = (
    lambda value: {name: template.to_json() for name, template in value.items()},
    lambda doc: {name: Template.from_json(item) for name, item in doc.items()},
)
_PREDICATES: _Codec = (
    lambda value: {name: predicate.to_json() for name, predicate in value.items()},
    lambda doc: {name: parse_predicate(item) for name, item in doc.items()},
)
_CODECS: dict[str, _Codec] = {
    "action": _TEXT,
    "all": _plain(bool),
    "always": _plain(bool),
    "after": (
        lambda value: [list(indexes) for indexes in value],
        lambda doc: tuple(map(_INDEXES[1], doc)),
    ),
    "answers": _TEMPLATES,
    "assignments": _TEMPLATES,
    "bound": _TEXT,
    "branches": _INDEXES,
    "calls": _TEMPLATE,
    "code": _TEXT,
    "concurrency": _plain(int, NoneType),
    "concurrent": _plain(int, NoneType),
    "count": _NUMBER,
    "decide": _NUMBER,
    "done": _NUMBER,
    "drop": _plain(bool),
    "each": _TEMPLATE,
    "end": _NUMBER,
    "errors": _TEXT,
    "execution": _TEMPLATE,
    "field": _plain(str, NoneType),
    "first": _plain(bool),
    "function": _TEXT,
    "group": _NUMBER,
    "how": _TEXT,
    "items": _TEMPLATE,
    "key": _TEMPLATE,
    "many": _NUMBER,
    "message": _TEMPLATE,
    "names": _NAMES,
    "once_taken": _plain(bool),
    "order": _TEXT,
    "otherwise": _NUMBER,
    "path": _TEXT,
    "payload": _TEMPLATE,
    "per_minute": _plain(int, NoneType),
    "pivot": _plain(bool),
    "policy": (RetryPolicy.to_json, RetryPolicy.from_json),
    "predicate": _PREDICATE,
    "sets": (
        lambda value: {name: _TEMPLATES[0](templates) for name, templates in value.items()},
        lambda doc: {name: _TEMPLATES[1](templates) for name, templates in doc.items()},
    ),
    "state": _plain(str, NoneType),
    "targets": (
        lambda value: value,
        lambda doc: {_TEXT[1](name): _index(to) for name, to in doc.items()},
    ),
    "tell": _NUMBER,
    "tell_many": _NUMBER,
    "template": _TEMPLATE,
    "timeout_ms": (
        lambda value: value,
        lambda doc: None if doc is None else _index(doc),
    ),
    "to": _NUMBER,
    "undo": (
        lambda value: value,
        lambda doc: None if doc is None else _index(doc),
    ),
    "unnamed": _NUMBER,
    "until": _plain(bool),
    "validators": _PREDICATES,
    "variables": _plain(dict),
    "want": (lambda value: value, check_want),
}


def _codec(instruction: type[Any], member: str) -> _Codec:
    if instruction is Guard and member == "errors":  # names of failures, no policy
        return _NAMES
    return _CODECS.get(member, _JSON)


_OPTIONAL = {"all", "always", "bound", "calls", "drop", "each", "pivot", "undo", "predicate", "template", "field", "errors", "after", "names", "first",
             "once_taken", "until", "concurrency"}  # fmt: skip
