"""The Amazon States Language: definitions checked, parsed and lowered, and exported from compositions. `composer.languages.asl.running` runs them."""

from .checking.definition import DefinitionError, parse
from .checking.diagnostic import Diagnostic, Hooks
from .checking.diagnostics import diagnose, diagnose_state, errors, refusal
from .checking.hooks import hooks
from .checking.jsontext import DepthError, TextError, read_json
from .checking.mentions import variables_used
from .checking.wording import advice
from .documents import Definition, StateDoc
from .export.export import ExportError, export
from .lowering import lower
from .resources import Integration
from .testing.mocks import RefusedTestError
from .testing.single_state import TaskRequest
from .testing.state_test import ALONE, StateTest, Surroundings, begin_test

__all__ = [
    "ALONE",
    "Definition",
    "DefinitionError",
    "DepthError",
    "Diagnostic",
    "ExportError",
    "Hooks",
    "Integration",
    "RefusedTestError",
    "StateDoc",
    "StateTest",
    "Surroundings",
    "TaskRequest",
    "TextError",
    "advice",
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
