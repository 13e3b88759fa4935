"""The answers to a check's questions about texts, from the modules that evaluate them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import ExpressionError
from ..jsonpath.intrinsics import Intrinsic
from ..jsonpath.paths import Path
from ..jsonpath.references import ReferencePath
from ..running.evaluation import flaws, members_of
from .diagnostic import Hooks

if TYPE_CHECKING:
    from collections.abc import Callable


def hooks(*, is_action: Callable[[str], bool], is_integration: Callable[[str], bool]) -> Hooks:
    """The hooks of a server; the arguments answer for its actions and its integrations."""
    return Hooks(_is_path, _is_reference, _is_intrinsic, _jsonata_flaw, is_action, is_integration)


def _is_path(text: str) -> bool:
    return _compiles(Path.compile, text)


def _is_reference(text: str) -> bool:
    return _compiles(ReferencePath.compile, text)


def _is_intrinsic(text: str) -> bool:
    return _compiles(Intrinsic.compile, text)


def _compiles(compile: Callable[[str], object], text: str) -> bool:
    try:
        compile(text)
    except ExpressionError:
        return False
    return True


def _jsonata_flaw(expression: str, fields: frozenset[str]) -> tuple[str, str] | None:
    found = next(flaws(f"{{%{expression}%}}", ""), None)
    if found is not None:
        return found[0], found[2]
    missing = sorted(members_of(expression) - fields)
    if missing:
        what = f"Field '$states.{missing[0]}' does not exist."
        return "UNSUPPORTED_JSONATA_EXPRESSION", what
    return None
