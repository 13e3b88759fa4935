"""What can be invoked, as data: actions, how they are executed, and their limits. All frozen.

JSON shapes are OpenWhisk's. `exec.kind` says how an action runs:

    python:3        code, run in a worker                     {"kind", "code", "main"?, "binary"?}
    composition     a composition, run by the conductor       {"kind", "composition"}
    sequence        actions one after the other               {"kind", "components"}
    inline          a function of the embedding program       not in JSON
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

import composer
from composer import CompositionError, InvalidNameError, Name, Program, flaw

from .errors import InvalidError, TooLargeError
from .parameters import listed, parsed

if TYPE_CHECKING:
    from collections.abc import Callable

    from composer import JSON

KINDS = {"python:3": "python:3", "python:default": "python:3", "python": "python:3"}
COMPOSITION = "composition"
SEQUENCE = "sequence"
INLINE = "inline"

MAX_CODE_BYTES = 48 << 20
MAX_PARAMETER_BYTES = 1 << 20
MAX_SEQUENCE = 50

_VERSION = re.compile(r"([0-9]{1,9}\.){2}[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one activation may use. A composition's own are those of its inline functions."""

    timeout_ms: int = 60_000
    memory_mb: int = 256
    logs_mb: int = 10
    concurrency: int = 1

    def to_json(self) -> dict[str, JSON]:
        return {
            "concurrency": self.concurrency,
            "logs": self.logs_mb,
            "memory": self.memory_mb,
            "timeout": self.timeout_ms,
        }

    @classmethod
    def from_json(cls, doc: JSON) -> Limits:
        """Reads what `to_json` wrote, or part of it.

        Raises:
            InvalidError: naming the limit that is out of bounds.
        """
        return _limits(doc, cls())


_BOUNDS = {  # field: (attribute, least, most, unit), as OpenWhisk has them
    "timeout": ("timeout_ms", 100, 300_000, " milliseconds"),
    "memory": ("memory_mb", 128, 512, " MB"),
    "logs": ("logs_mb", 0, 10, " MB"),
    "concurrency": ("concurrency", 1, 1, ""),
}


def _limits(doc: JSON, before: Limits) -> Limits:
    if doc is None:
        return before
    if not isinstance(doc, dict):
        raise InvalidError("The request content was malformed:\n'limits' must be an object")
    changes: dict[str, Any] = {}
    for name, value in doc.items():
        if name not in _BOUNDS or value is None:
            continue
        attribute, least, most, unit = _BOUNDS[name]
        if type(value) is not int:
            raise InvalidError(f"The request content was malformed:\nlimit '{name}' must be an int")
        if value > most:
            raise InvalidError(f"{name} {value}{unit} exceeds allowed threshold of {most}{unit}")
        if value < least:
            raise InvalidError(f"{name} {value}{unit} is below allowed threshold of {least}{unit}")
        changes[attribute] = value
    return replace(before, **changes)


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


@dataclass(frozen=True, slots=True)
class Composed:
    """A composition, compiled; `document` is what was deployed."""

    kind: str
    document: JSON
    program: Program

    @property
    def code(self) -> Code:
        """The inline functions of the program, which share workers."""
        return Code("python:3", functions=self.program.functions)


Exec: TypeAlias = Code | Inline | Composed


@dataclass(frozen=True)
class Action:
    """Anything that can be invoked."""

    name: Name
    exec: Exec
    parameters: dict[str, JSON] = field(default_factory=dict)
    annotations: dict[str, JSON] = field(default_factory=dict)
    limits: Limits = Limits()
    version: str = "0.0.1"
    publish: bool = False
    updated_ms: int = 0

    @cached_property
    def kind(self) -> str:
        return INLINE if isinstance(self.exec, Inline) else self.exec.kind

    @cached_property
    def code(self) -> Code | None:
        """What its workers are initialized with."""
        if isinstance(self.exec, Composed):
            return self.exec.code if self.exec.program.functions else None
        return self.exec if isinstance(self.exec, Code) else None

    @cached_property
    def about(self) -> bytes:
        """What the record of every activation of it says of it, as JSON: version and annotations."""
        notes = {
            "path": f"{self.name.namespace}/{self.name.path}",
            "kind": self.kind,
            "limits": self.limits.to_json(),
        }
        about = {"version": self.version, "annotations": listed(notes)}
        return json.dumps(about, ensure_ascii=False).encode()

    @cached_property
    def invoker_kind(self) -> str:
        """The kind that its invoker goes by: a composition's inline functions are code."""
        return self.code.kind if self.code is not None else self.kind

    @cached_property
    def answers_later(self) -> bool:
        """Whether what it returns is no result: that comes by its completion trigger."""
        return self.annotations.get("completion") == "callback"

    @property
    def at_most_once(self) -> bool:
        """Whether a run that a crash has interrupted must not be run again."""
        return self.marked("at-most-once")

    @property
    def express(self) -> bool:
        """Whether it keeps its execution in memory only, with one record at the end."""
        return self.annotations.get("durability") == "express"

    def marked(self, annotation: str) -> bool:
        """Whether an annotation is there and true."""
        return bool(self.annotations.get(annotation))

    def to_json(self, *, code: bool = True) -> dict[str, JSON]:
        """As OpenWhisk shows it; without the code when `code` is False."""
        return {
            "namespace": self.name.namespace
            + (f"/{self.name.package}" if self.name.package else ""),
            "name": self.name.name,
            "version": self.version,
            "updated": self.updated_ms,
            "exec": _exec_to_json(self.exec, code=code),
            "parameters": listed(self.parameters),
            "annotations": listed(self.annotations),
            "limits": self.limits.to_json(),
            "publish": self.publish,
        }

    def summary(self) -> dict[str, JSON]:
        """As OpenWhisk lists it."""
        binary = isinstance(self.exec, Code) and self.exec.binary
        doc = {**self.to_json(code=False), "exec": {"binary": binary}}
        del doc["parameters"]
        return doc

    @classmethod
    def from_json(cls, doc: dict[str, JSON]) -> Action:
        """What `to_json` wrote, from the store."""
        namespace, _, package = doc["namespace"].partition("/")
        name = Name(namespace, package or None, doc["name"])
        return cls(
            name,
            _exec(doc["exec"], namespace),
            parsed("parameters", doc["parameters"]),
            parsed("annotations", doc["annotations"]),
            _limits(doc["limits"], Limits()),
            doc["version"],
            doc["publish"],
            doc["updated"],
        )


def updated(name: Name, doc: JSON, before: Action | None, now_ms: int) -> Action:
    """The action that a PUT of `doc` makes of `before`, or makes anew.

    Fields that are missing stay as they were; annotations are merged, `delAnnotations` removes some;
    the patch version goes up.

    Raises:
        InvalidError: naming the field that is malformed.
        TooLargeError: for code, parameters or annotations over their limit.
    """
    if not isinstance(doc, dict):
        raise InvalidError("The request content was malformed:\nthe body must be an object")
    if doc.get("exec") is None and before is None:
        raise InvalidError("The request content was malformed:\nexec undefined")
    execution = before.exec if before else None
    if doc.get("exec") is not None:
        execution = _exec(doc["exec"], name.namespace)
    assert execution is not None  # noqa: S101  one of the two is there
    parameters = before.parameters if before else {}
    if doc.get("parameters") is not None:
        parameters = _values("parameters", doc["parameters"])
    kind = execution.kind if not isinstance(execution, Inline) else INLINE
    return Action(
        name,
        execution,
        parameters,
        _annotations(doc, before, kind),
        _limits(doc.get("limits"), before.limits if before else Limits()),
        _next_version(before.version) if before else _version(doc),
        _publish(doc.get("publish"), before),
        now_ms,
    )


def _annotations(doc: dict[str, JSON], before: Action | None, kind: str) -> dict[str, JSON]:
    annotations: dict[str, JSON] = {"provide-api-key": False}
    if before is not None:
        annotations = dict(before.annotations)
    annotations.update(_values("annotations", doc.get("annotations")))
    gone = doc.get("delAnnotations")
    if gone is None:
        gone = []
    if not isinstance(gone, list) or not all(isinstance(key, str) for key in gone):
        raise InvalidError(
            "The request content was malformed:\n'delAnnotations' must be a list of strings"
        )
    for key in gone:
        annotations.pop(key, None)
    annotations["exec"] = kind
    return annotations


def _values(field: str, doc: JSON) -> dict[str, JSON]:
    """Parameters or annotations, within bounds."""
    values = parsed(field, doc)
    if why := flaw(doc):
        raise InvalidError(f"The request content was malformed:\n'{field}' is no JSON value: {why}")
    size = len(json.dumps(values, ensure_ascii=False).encode())
    _check_size(field.capitalize(), size, MAX_PARAMETER_BYTES)
    return values


def _publish(publish: JSON, before: Action | None) -> bool:
    if publish is None:
        return before.publish if before else False
    if not isinstance(publish, bool):
        raise InvalidError("The request content was malformed:\n'publish' must be true or false")
    return publish


def _version(doc: dict[str, JSON]) -> str:
    version = doc.get("version")
    if version is None:
        return "0.0.1"
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise InvalidError(
            "The request content was malformed:\n"
            f"'version' must be like 0.0.1, not {version!r:.100}"
        )
    return version


def _next_version(version: str) -> str:
    major, minor, patch = version.split(".")
    return f"{major}.{minor}.{int(patch) + 1}"


def _check_size(what: str, size: int, limit: int) -> None:
    if size > limit:
        raise TooLargeError(f"{what} larger than allowed: {size} > {limit} bytes.")


# --- exec --------------------------------------------------------------------------------------


def _exec(doc: JSON, namespace: str) -> Exec:
    if not isinstance(doc, dict) or not isinstance(doc.get("kind"), str):
        raise InvalidError("The request content was malformed:\n'exec' must have a 'kind'")
    kind = doc["kind"]
    if kind == COMPOSITION:
        return _composed(doc.get("composition"), namespace)
    if kind == SEQUENCE:
        return _sequence(doc.get("components"), namespace)
    if kind not in KINDS:
        known = ", ".join(f"'{name}'" for name in sorted({*KINDS.values(), COMPOSITION, SEQUENCE}))
        raise InvalidError(
            "The request content was malformed:\n"
            f"The specified runtime '{kind:.100}' is not supported by this platform. "
            f"Valid values are: {known}"
        )
    return _code(KINDS[kind], doc)


def _code(kind: str, doc: dict[str, JSON]) -> Code:
    text, main = doc.get("code"), doc.get("main")
    if not isinstance(text, str) or not text:
        raise InvalidError("The request content was malformed:\n'exec.code' must be a string")
    if main is not None and not isinstance(main, str):
        raise InvalidError("The request content was malformed:\n'exec.main' must be a string")
    for field_name, value in (("code", text), ("main", main)):
        if why := flaw(value):
            raise InvalidError(f"The request content was malformed:\n'exec.{field_name}': {why}")
    _check_size("Code", len(text.encode()), MAX_CODE_BYTES)
    return Code(kind, text, main or "main", _is_zip(text))


def _is_zip(text: str) -> bool:
    """Whether code is base64 of an archive, as OpenWhisk's clients send one."""
    if not text.startswith("UEsD"):
        return False
    try:
        return base64.b64decode(text, validate=True).startswith(b"PK\x03\x04")
    except ValueError:
        return False


def _composed(document: JSON, namespace: str) -> Composed:
    if document is None:
        raise InvalidError("The request content was malformed:\n'exec.composition' is missing")
    try:
        composition = composer.parse(document)
        program = composer.compile(composition, namespace=namespace)
    except CompositionError as error:
        raise InvalidError(f"The request content was malformed:\n{error}") from error
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


def _exec_to_json(execution: Exec, *, code: bool) -> dict[str, JSON]:
    if isinstance(execution, Inline):
        return {"kind": INLINE, "binary": False}
    if isinstance(execution, Composed):
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
