"""How an action is executed: its `exec`, read, checked and shown.

JSON shapes are OpenWhisk's. `exec.kind` says how:

    python:3, nodejs:20   code, run in a worker                  {"kind", "code", "main"?, "binary"?}
    composition           a composition, run by the conductor    {"kind", "composition"}
    sequence              actions one after the other            {"kind", "components"}
    states                a state machine, as AWS' text          {"kind", "definition", "type"?}
    inline                a function of the embedding program    not in JSON
    aws:lambda, http, ... a function elsewhere, see `remotes`    {"kind", "function", ...}
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import composer
from ..composer import CompositionError, InvalidNameError, Name, Program, flaw
from .errors import InvalidError, TooLargeError
from .kinds import COMPOSITION, INLINE, MACHINE, RUNTIMES, SEQUENCE, resolved
from .remotes import REMOTES, Remote, parsed_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ..composer import JSON

MAX_CODE_BYTES = 48 << 20
MAX_SEQUENCE = 50
STANDARD, EXPRESS = MACHINE_TYPES = ("STANDARD", "EXPRESS")
KINDS = (*RUNTIMES, *REMOTES)
_ARCHIVES = {"UEsD": b"PK\x03\x04", "H4sI": b"\x1f\x8b\x08"}  # zip and gzip, in base64 and not


@dataclass(frozen=True)
class Code:
    """Code for a worker: one module with a `main`, or several inline functions by hash."""

    kind: str
    text: str = ""
    main: str = "main"
    binary: bool = False
    functions: dict[str, dict[str, JSON]] = field(default_factory=dict)

    @cached_property
    def hash(self) -> str:
        """What a worker is kept warm for."""
        parts = (self.kind, self.main, str(self.binary), self.text, *self.functions)
        return sha256(repr(parts).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Inline:
    """A function of the embedding program. It is trusted, and it is not stored."""

    function: Callable[..., Any]
    kind: str = INLINE


@dataclass(frozen=True, slots=True)
class Composed:
    """A composition, compiled; `document` is what was deployed."""

    kind: str
    document: JSON
    program: Program


def code_of(program: Program, function: str) -> Code:
    """The inline functions of a program in the language of this one, which share workers."""
    functions = program.functions
    kind = resolved(functions[function]["kind"])
    same = {hash: doc for hash, doc in functions.items() if resolved(doc["kind"]) == kind}
    return Code(kind or functions[function]["kind"], functions=same)


Exec: TypeAlias = Code | Inline | Composed | Remote


def parsed_exec(doc: JSON, namespace: str, kinds: Collection[str] = KINDS) -> Exec:
    """The `exec` of a document; names in it are within `namespace`.

    Raises:
        InvalidError: naming what is malformed; for a kind of code that is not among `kinds`.
        TooLargeError: for code over its limit.
    """
    if not isinstance(doc, dict) or not isinstance(doc.get("kind"), str):
        raise InvalidError("The request content was malformed:\n'exec' must have a 'kind'")
    kind = doc["kind"]
    if kind == COMPOSITION:
        return _composed(doc.get("composition"), namespace, kinds)
    if kind == SEQUENCE:
        return _sequence(doc.get("components"), namespace)
    if kind == MACHINE:
        return _machine(doc)
    if kind in REMOTES and kind in kinds:
        return parsed_remote(doc)
    return _code(_runnable(kind, kinds), doc)


def _runnable(kind: str, kinds: Collection[str]) -> str:
    ours = resolved(kind)
    if ours not in kinds:
        known = ", ".join(f"'{name}'" for name in sorted({*kinds, COMPOSITION, MACHINE, SEQUENCE}))
        raise InvalidError(
            "The request content was malformed:\n"
            f"The specified runtime '{kind:.100}' is not supported by this platform. "
            f"Valid values are: {known}"
        )
    assert ours is not None  # noqa: S101  it is among the kinds
    return ours


def _code(kind: str, doc: dict[str, JSON]) -> Code:
    text, main = doc.get("code"), doc.get("main")
    if not isinstance(text, str) or not text:
        raise InvalidError("The request content was malformed:\n'exec.code' must be a string")
    if main is not None and not isinstance(main, str):
        raise InvalidError("The request content was malformed:\n'exec.main' must be a string")
    for field_name, value in (("code", text), ("main", main)):
        if why := flaw(value):
            raise InvalidError(f"The request content was malformed:\n'exec.{field_name}': {why}")
    size = len(text.encode())
    if size > MAX_CODE_BYTES:
        raise TooLargeError(f"Code larger than allowed: {size} > {MAX_CODE_BYTES} bytes.")
    return Code(kind, text, main or "main", _is_archive(text))


def _is_archive(text: str) -> bool:
    """Whether code is base64 of an archive, as OpenWhisk's clients send one."""
    if text[:4] not in _ARCHIVES:
        return False
    try:
        return base64.b64decode(text, validate=True).startswith(_ARCHIVES[text[:4]])
    except ValueError:
        return False


def _composed(document: JSON, namespace: str, kinds: Collection[str]) -> Composed:
    if document is None:
        raise InvalidError("The request content was malformed:\n'exec.composition' is missing")
    try:
        composition = composer.parse(document)
        program = composer.compile(composition, namespace=namespace)
    except CompositionError as error:
        raise InvalidError(f"The request content was malformed:\n{error}") from error
    for function in program.functions.values():
        _runnable(str(function["kind"]), kinds)
    return Composed(COMPOSITION, document, program)


def _sequence(components: JSON, namespace: str) -> Composed:
    if not isinstance(components, list) or not components:
        raise InvalidError("No component specified for the sequence.")
    if len(components) > MAX_SEQUENCE:
        raise InvalidError("Too many actions in the sequence.")
    try:
        names = [str(Name.parse(component).within(namespace)) for component in components]
    except InvalidNameError as error:
        raise InvalidError(f"The request content was malformed:\n{error}") from error
    return Composed(SEQUENCE, names, composer.compile(composer.sequence(*names)))


def _machine(doc: dict[str, JSON]) -> Composed:
    definition, type = doc.get("definition"), doc.get("type", STANDARD)
    if not isinstance(definition, str):
        raise InvalidError(
            "The request content was malformed:\n'exec.definition' must be the text of a state machine"
        )
    if type not in MACHINE_TYPES:
        raise InvalidError(
            f"The request content was malformed:\n'exec.type' must be {' or '.join(MACHINE_TYPES)}"
        )
    try:
        program = composer.asl.lower(definition, type=type, hooks=HOOKS)
    except CompositionError as error:
        raise InvalidError(f"The request content was malformed:\n{error}") from error
    return Composed(MACHINE, {"definition": definition, "type": type}, program)


def _is_name(text: str) -> bool:
    try:
        Name.parse(text)
    except InvalidNameError:
        return False
    return True


# What is stored names what was there when it was put.
HOOKS = composer.asl.hooks(is_action=_is_name, is_integration=lambda _: True)


def check_integrations(machine: Composed, known: Callable[[str], bool]) -> None:
    """Checks that a state machine asks for no integration that is not known here.

    Raises:
        InvalidError: naming it and where it stands.
    """
    definition, type = machine.document["definition"], machine.document["type"]
    hooks = composer.asl.hooks(is_action=_is_name, is_integration=known)
    found = composer.asl.diagnose(definition, type=type, hooks=hooks)
    if composer.asl.errors(found):
        why = composer.asl.refusal(definition, found)
        raise InvalidError(f"The request content was malformed:\n{why}")


def forwarding(names: list[str]) -> Program:
    """A sequence that forwards: a component is given all there was before it, the later over the earlier.

    That is the sequence's parameters and the results so far; the result is the last component's.
    """
    *before, last = names
    return composer.compile(composer.sequence(*map(composer.merge, before), last))


def exec_to_json(execution: Exec, *, code: bool) -> dict[str, JSON]:
    """As OpenWhisk shows it; without the code when `code` is False."""
    if isinstance(execution, Inline):
        return {"kind": execution.kind, "binary": False}
    if isinstance(execution, Remote):
        return execution.to_json()
    if isinstance(execution, Composed):
        if execution.kind == MACHINE:
            about = execution.document if code else {"type": execution.document["type"]}
            return {"kind": MACHINE, "binary": False, **about}
        name = "components" if execution.kind == SEQUENCE else COMPOSITION
        shown = code or execution.kind == SEQUENCE
        return {"kind": execution.kind, "binary": False} | (
            {name: execution.document} if shown else {}
        )
    doc: dict[str, JSON] = {"kind": execution.kind, "binary": execution.binary}
    if execution.main != "main":
        doc["main"] = execution.main
    if code:
        doc["code"] = execution.text
    return doc
