"""Compositions and sequences: their `exec`, read, compiled and shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import composer
from ..composer import CompositionError, InvalidNameError, Name
from .coded import runnable
from .errors import InvalidError
from .kinds import COMPOSITION, SEQUENCE, Row

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..composer import JSON, Program

MAX_SEQUENCE = 50


@dataclass(frozen=True, slots=True)
class Composed:
    """A composition, compiled; `document` is what was deployed."""

    kind: str
    document: JSON
    program: Program


def _composition(doc: dict[str, JSON], namespace: str, kinds: Collection[str]) -> Composed:
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


def _sequence(doc: dict[str, JSON], namespace: str, _kinds: Collection[str]) -> Composed:
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
    """A sequence that forwards: a component is given all there was before it, the later over the earlier.

    That is the sequence's parameters and the results so far; the result is the last component's.
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
    COMPOSITION: Row(parse=_composition, show=_composition_shown),
    SEQUENCE: Row(parse=_sequence, show=_sequence_shown, components=_components),
}
