"""One state in a machine, and what is said of it."""

from __future__ import annotations

from tests.kit.asl.hooks import HOOKS
from xingqiao.composer.languages.asl import diagnose, errors

SCHEMA = "SCHEMA_VALIDATION_FAILED"
PASS = {"Type": "Pass", "End": True}
INNER = {"StartAt": "I", "States": {"I": PASS}}
DISTRIBUTED = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, **INNER}


def machine(state, language=None):
    made = {"StartAt": "A", "States": {"A": state}}
    return made | ({"QueryLanguage": language} if language else {})


def said(state, language=None, type="STANDARD"):
    """The message and place (without `/States/A`) of each error in a state named A.

    But not that a machine of a Choice alone never ends.
    """
    found = errors(diagnose(machine(state, language), type=type, hooks=HOOKS))
    return [(f.message, f.location.removeprefix("/States/A")) for f in found if f.location]


def warned(state, language=None):
    """The code and place of each warning."""
    found = diagnose(machine(state, language), type="STANDARD", hooks=HOOKS)
    return [(f.code, f.location.removeprefix("/States/A")) for f in found if f.severity != "ERROR"]


def codes(state, language=None):
    """The code of each error."""
    return [
        f.code for f in errors(diagnose(machine(state, language), type="STANDARD", hooks=HOOKS))
    ]
