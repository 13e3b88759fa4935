"""The `exec` of state machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import composer
from ..composer import CompositionError, InvalidNameError, Name
from .composed import Composed
from .errors import InvalidError
from .kinds import MACHINE, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ..composer import JSON
    from .kinds import ExecDocument

STANDARD, EXPRESS = MACHINE_TYPES = ("STANDARD", "EXPRESS")


def _parsed(doc: ExecDocument, _namespace: str, _kinds: Collection[str]) -> Composed:
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
    except composer.asl.DefinitionError as error:
        raise InvalidError(_refusal(definition, str(error), error.diagnostics)) from error
    except CompositionError as error:
        raise InvalidError(f"The request content was malformed:\n{error}") from error
    return Composed(MACHINE, {"definition": definition, "type": type}, program)


def _is_name(text: str) -> bool:
    try:
        Name.parse(text)
    except InvalidNameError:
        return False
    return True


# A stored machine was checked when it was put: its integrations were known then.
HOOKS = composer.asl.hooks(is_action=_is_name, is_integration=lambda _: True)


def _check_integrations(machine: Composed, known: Callable[[str], bool]) -> None:
    """Checks that this server has all integrations that a state machine uses.

    Raises:
        InvalidError: an integration is missing. The message names it and its place.
    """
    definition, type = machine.document["definition"], machine.document["type"]
    hooks = composer.asl.hooks(is_action=_is_name, is_integration=known)
    found = composer.asl.diagnose(definition, type=type, hooks=hooks)
    if composer.asl.errors(found):
        raise InvalidError(_refusal(definition, composer.asl.refusal(definition, found), found))


def _refusal(definition: str, why: str, found: list[composer.asl.Diagnostic]) -> str:
    """AWS' text, which users look up, and then ours."""
    told = composer.asl.advice(definition, found)
    return f"The request content was malformed:\n{why}" + (f"\nIn short: {told}" if told else "")


def _shown(execution: Composed, code: bool) -> dict[str, JSON]:
    about = execution.document if code else {"type": execution.document["type"]}
    return {"kind": execution.kind, "binary": False, **about}


def _is_express(execution: Composed) -> bool:
    return bool(execution.document["type"] == EXPRESS)


MACHINES: Mapping[str, Row] = {
    MACHINE: Row(
        parse=_parsed,
        show=_shown,
        check=_check_integrations,
        conducted=True,
        express=_is_express,
    )
}
