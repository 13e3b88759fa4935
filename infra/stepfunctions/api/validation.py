"""Checks of definitions: ValidateStateMachineDefinition, and the check before a deployment."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ....actions import RefusedError, is_integration
from ....composer import InvalidNameError, Name, asl
from ...aws import AwsError

if TYPE_CHECKING:
    from ....composer import JSON
    from ...aws import Parameters
    from .api import StepFunctionsApi
    from .protocol import Caller, Operations

MOST = 100  # findings in one answer
STANDARD = "STANDARD"


def hooks_of(caller: Caller, api: StepFunctionsApi, *, deployed: bool = False) -> asl.Hooks:
    """The lookups of actions and integrations that the checks of a definition need.

    A definition that is to be `deployed` may use installed integrations only, not all of AWS'.
    """

    def is_action(name: str) -> bool:
        try:
            api.engine.catalog.resolve(Name.parse(name).within(caller.namespace), caller.namespace)
        except (InvalidNameError, RefusedError):
            return False
        return True

    def is_known(resource: str) -> bool:
        return api.integrations.knows(resource) or (not deployed and is_integration(resource))

    return asl.hooks(is_action=is_action, is_integration=is_known)


async def diagnosed(
    definition: str, type: Any, hooks: asl.Hooks, api: StepFunctionsApi
) -> list[asl.Diagnostic]:
    """All findings about a definition's text, errors first."""
    diagnose = partial(asl.diagnose, definition, type=type, hooks=hooks)
    return await api.engine.threads.weigh(definition, diagnose)


async def checked(definition: str, type: Any, caller: Caller, api: StepFunctionsApi) -> str:
    """Returns a definition without errors, as it is.

    Raises:
        AwsError: InvalidDefinition.
    """
    findings = await diagnosed(definition, type, hooks_of(caller, api, deployed=True), api)
    if asl.errors(findings):
        raise AwsError("InvalidDefinition", asl.refusal(definition, findings))
    return definition


async def validate(params: Parameters, caller: Caller, api: StepFunctionsApi) -> dict[str, JSON]:
    """Returns the errors of a definition, and on request its warnings."""
    hooks, type = hooks_of(caller, api), params.get("type", STANDARD)
    findings = await diagnosed(params["definition"], type, hooks, api)
    wrong = asl.errors(findings)
    told = findings if params.get("severity") == "WARNING" else wrong
    most = params.get("maxResults") or MOST
    return {
        "result": "FAIL" if wrong else "OK",
        "diagnostics": [_shown(finding) for finding in told[:most]],
        "truncated": len(told) > most,
    }


def _shown(finding: asl.Diagnostic) -> dict[str, JSON]:
    shown: dict[str, JSON] = {
        "severity": finding.severity,
        "code": finding.code,
        "message": finding.message,
    }
    return shown if finding.location is None else {**shown, "location": finding.location}


OPERATIONS: Operations = {"ValidateStateMachineDefinition": validate}
