"""The Amazon States Language: definitions checked, parsed and lowered, and made of compositions. What they do is in `composer.states`."""

from ...states import Asked
from ...states.resources import Integration
from .diagnostic import Diagnostic, Hooks
from .diagnostics import diagnose, diagnose_state, errors, refusal
from .export import ExportError, export
from .hooks import hooks
from .jsontext import DepthError, TextError, read_json
from .lowering import lower
from .machine import DefinitionError, parse
from .mentions import variables_used
from .mocks import RefusedTestError
from .testing import ALONE, StateTest, Surroundings, begin_test

__all__ = [
    "ALONE",
    "Asked",
    "DefinitionError",
    "DepthError",
    "Diagnostic",
    "ExportError",
    "Hooks",
    "Integration",
    "RefusedTestError",
    "StateTest",
    "Surroundings",
    "TextError",
    "begin_test",
    "diagnose",
    "diagnose_state",
    "errors",
    "export",
    "hooks",
    "lower",
    "parse",
    "read_json",
    "refusal",
    "variables_used",
]
