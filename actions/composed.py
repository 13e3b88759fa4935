"""The `exec` of compositions and sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import composer
from ..composer import CompositionError, InvalidNameError, Name
from .coded import runnable
from .errors import InvalidError
from .kinds import COMPOSITION, SEQUENCE, Row

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..composer import JSON, Program
    from .kinds import ExecDocument

MAX_SEQUENCE = 50


@dataclass(frozen=True, slots=True)
class Composed:
    """A compiled composition. `document` is the deployed text in the shape of its kind, whose row has checked it."""

    kind: str
    document: Any
    program: Program


def _composition(doc: ExecDocument, namespace: str, kinds: Collection[str]) -> Composed:
    document = doc.get("composition")
    if document is None:
        raise InvalidError("The request content was malformed:\n'exec.composition' is missing")
    try:
        composition = composer.parse(document)
        program = composer.compile(composition, namespace=namespace)
    except CompositionError as error:
        raise InvalidError(f"The request content was malformed:\n{error}") from error
    for function in program.functions.values():
        runnable(str(function["kind"]), kinds)
    return Composed(COMPOSITION, document, program)


def _sequence(doc: ExecDocument, namespace: str, _kinds: Collection[str]) -> Composed:
    components = doc.get("components")
    if not isinstance(components, list) or not components:
        raise InvalidError("No component specified for the sequence.")
    if len(components) > MAX_SEQUENCE:
        raise InvalidError("Too many actions in the sequence.")
    try:
        names = [str(Name.parse(component).within(namespace)) for component in components]
    except InvalidNameError as error:
        raise InvalidError(f"The request content was malformed:\n{error}") from error
    return Composed(SEQUENCE, names, composer.compile(composer.sequence(*names)))


def forwarding(names: list[str]) -> Program:
    """Compiles a forwarding sequence: each component gets the sequence's parameters and all results before it.

    Later values replace earlier ones. The result is the last component's.
    """
    *before, last = names
    return composer.compile(composer.sequence(*map(composer.merge, before), last))


def _composition_shown(execution: Composed, code: bool) -> dict[str, JSON]:
    shown = {COMPOSITION: execution.document} if code else {}
    return {"kind": execution.kind, "binary": False, **shown}


def _sequence_shown(execution: Composed, _code: bool) -> dict[str, JSON]:
    return {"kind": execution.kind, "binary": False, "components": execution.document}


def _components(execution: Composed) -> list[str]:
    return list(execution.document)


COMPOSED: Mapping[str, Row] = {
    COMPOSITION: Row(parse=_composition, show=_composition_shown, conducted=True),
    SEQUENCE: Row(parse=_sequence, show=_sequence_shown, conducted=True, components=_components),
}
