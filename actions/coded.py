"""The `exec` of code for workers and of functions of the embedding program."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ..composer import flaw
from .errors import InvalidError, TooLargeError
from .kinds import INLINE, RUNTIMES, Row, resolved
from .requirements import parsed_requirements, shown_requirements

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ..composer import JSON, Program
    from .kinds import ExecDocument

MAX_CODE_BYTES = 48 << 20
_ARCHIVES = {"UEsD": b"PK\x03\x04", "H4sI": b"\x1f\x8b\x08"}  # zip and gzip, in base64 and not
_PIECE = 1 << 18  # characters that are decoded in one call


@dataclass(frozen=True)
class Code:
    """Code for a worker: one module with a `main`, or several inline functions by hash.

    `requirements` are the packages that it needs, as `parsed_requirements` returns them.
    """

    kind: str
    text: str = ""
    main: str = "main"
    binary: bool = False
    functions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # as in a `Program`
    requirements: tuple[str, ...] = ()

    @cached_property
    def hash(self) -> str:
        """The hash by which warm workers are found."""
        head = (self.kind, self.main, str(self.binary), self.text)
        parts = (*head, self.requirements, *self.functions)
        return sha256(repr(parts).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Inline:
    """A function of the embedding program. It is trusted, and it is not stored.

    `function` is None until the program registers it, if an earlier run of the program has done so.
    """

    function: Callable[..., Any] | None
    kind: str = INLINE


def code_of(program: Program, function: str) -> Code:
    """Returns all inline functions of a program that are in the language of this one: they share workers."""
    kinds = {hash: str(doc["kind"]) for hash, doc in program.functions.items()}
    kind = resolved(kinds[function])
    same = {hash: doc for hash, doc in program.functions.items() if resolved(kinds[hash]) == kind}
    return Code(kind or kinds[function], functions=same)


def runnable(kind: str, kinds: Collection[str]) -> str:
    """The kind of code that a client means, which must be one of `kinds`.

    Raises:
        InvalidError: it is not one of `kinds`. The message lists them.
    """
    ours = resolved(kind)
    if ours not in kinds:
        known = ", ".join(f"'{name}'" for name in sorted(kinds))
        raise InvalidError(
            "The request content was malformed:\n"
            f"The specified runtime '{kind:.100}' is not supported by this platform. "
            f"Valid values are: {known}"
        )
    assert ours is not None  # noqa: S101  it is among the kinds
    return ours


def _parsed(doc: ExecDocument, _namespace: str, kinds: Collection[str]) -> Code:
    kind = runnable(doc["kind"], kinds)
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
    requirements = parsed_requirements(kind, doc.get("requirements"))
    return Code(kind, text, main or "main", _is_archive(text), requirements=requirements)


def _is_archive(text: str) -> bool:
    """True if code is base64 of an archive, as OpenWhisk's clients send one.

    It is decoded piece by piece: one call for 48 MB would keep every other thread waiting for 0.1 s.
    """
    if text[:4] not in _ARCHIVES or "=" in text[:-2]:
        return False
    pieces = (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
    try:
        start, *_ = [base64.b64decode(piece, validate=True)[:4] for piece in pieces]
    except ValueError:
        return False
    return start.startswith(_ARCHIVES[text[:4]])


def _shown(execution: Code, code: bool) -> dict[str, JSON]:
    doc: dict[str, JSON] = {"kind": execution.kind, "binary": execution.binary}
    if execution.main != "main":
        doc["main"] = execution.main
    if execution.requirements:
        doc["requirements"] = shown_requirements(execution.kind, execution.requirements)
    if code:
        doc["code"] = execution.text
    return doc


def _inline_shown(execution: Inline, _code: bool) -> dict[str, JSON]:
    return {"kind": execution.kind, "binary": False}


CODE = Row(parse=_parsed, show=_shown)
# An inline function is in no document: the code's parser refuses it.
CODED: Mapping[str, Row] = {
    **dict.fromkeys(RUNTIMES, CODE),
    INLINE: Row(parse=_parsed, show=_inline_shown),
}
