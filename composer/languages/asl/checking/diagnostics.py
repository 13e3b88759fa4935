"""Deployment-time validation: AWS' findings about a definition, with its codes, places and words.

The sources are recordings, then answers seen from ValidateStateMachineDefinition, then AWS'
developer guide; for all else the rule is the States Language specification's and the text
our own. Findings come in the order of AWS: the text, the fields, and only when these are right
the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....values import flaw
from .diagnostic import SCHEMA, Check, Diagnostic
from .graph import check_graph
from .jsontext import DepthError, TextError, read_json
from .structures import LABEL_FLAW, check_machine, check_state, language_of
from .variables import check_variables

if TYPE_CHECKING:
    from ....values import JSON
    from .diagnostic import Hooks, MachineType

MAX_DEFINITION = 1_048_576  # characters (API_CreateStateMachine)
MAX_SHOWN = 100  # findings in one answer (API_ValidateStateMachineDefinition, maxResults)


def diagnose(definition: JSON, *, type: MachineType, hooks: Hooks) -> list[Diagnostic]:
    """All findings about a definition, as a text or as its value; errors first.

    At most MAX_FOUND of each severity. Without errors, the machine can be created.
    """
    value, found = _read(definition)
    if found:
        return found
    language = language_of(value, "JSONPath")
    check = Check(hooks, language, language, type, frozenset(), [], [])
    check_machine(check, value)
    if not check.wrong:
        check_graph(check, value)
        check_variables(check, value)
    return check.wrong + check.doubtful


def diagnose_state(state: JSON, *, type: MachineType, hooks: Hooks) -> list[Diagnostic]:
    """All findings about one state by itself, for TestState; its next states are not checked."""
    value, found = _read(state)
    if found:
        return found
    check = Check(hooks, "JSONPath", "JSONPath", type, frozenset(), [], [])
    check_state(check, value, "")
    return check.wrong + check.doubtful


def errors(found: list[Diagnostic]) -> list[Diagnostic]:
    """The findings that stop a machine from being created."""
    return [finding for finding in found if finding.severity == "ERROR"]


def refusal(definition: str, found: list[Diagnostic]) -> str:
    """The message of InvalidDefinition for a definition's text and its findings."""
    wrong = errors(found)
    for finding in wrong:
        if finding.message.startswith(LABEL_FLAW):
            # Recorded on AWS: no code, no place, and the definition itself instead.
            return f"Error=ValueError Args={[finding.message]!r} in definition '{definition}'."
    told = ", ".join(f"{f.code}: {f.message} at {_place(f)}" for f in wrong[:MAX_SHOWN])
    return f"Invalid State Machine Definition: '{told}'"


def _place(finding: Diagnostic) -> str:
    return "null" if finding.location is None else finding.location


def _read(definition: JSON) -> tuple[dict[str, JSON], list[Diagnostic]]:
    """The object of a definition, or the findings about one that is not an object."""
    if not isinstance(definition, str):
        return _whole(definition)
    if len(definition) > MAX_DEFINITION:
        return _wrong(SCHEMA, f"Definition must have at most {MAX_DEFINITION} characters")
    if not definition.strip(" \t\n\r"):
        return _whole(None)
    try:
        return _whole(read_json(definition))
    except DepthError as error:
        return _wrong("TOO_DEEPLY_NESTED", f"The states are too deeply nested: {error}")
    except TextError as error:
        return _wrong("INVALID_JSON_DESCRIPTION", error.message, error.location)


def _whole(value: JSON) -> tuple[dict[str, JSON], list[Diagnostic]]:
    if not isinstance(value, dict):
        return _wrong(SCHEMA, "Definition must be a valid JSON object")
    why = flaw(value)
    if why is None:
        return value, []
    if "deeper" in why:
        return _wrong("TOO_DEEPLY_NESTED", f"The states are too deeply nested: {why}")
    return _wrong("INVALID_JSON_DESCRIPTION", why)


def _wrong(
    code: str, message: str, location: str | None = None
) -> tuple[dict[str, JSON], list[Diagnostic]]:
    return {}, [Diagnostic("ERROR", code, message, location)]
