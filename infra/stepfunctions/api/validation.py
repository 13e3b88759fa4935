"""Definitions: what is found in one, and whether a machine can be made of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ....actions import RefusedError, is_integration
from ....composer import InvalidNameError, Name, asl
from ...aws import AwsError

if TYPE_CHECKING:
    from ....composer import JSON
    from .api import StepFunctionsApi
    from .protocol import Caller, Operations

MOST = 100  # findings in one answer
STANDARD = "STANDARD"


def hooks_of(caller: Caller, api: StepFunctionsApi, *, deployed: bool = False) -> asl.Hooks:
    """What the checks of a definition ask, answered by what its names stand for here.

    What is to be `deployed` may ask only for integrations that are here, not for all that AWS has.
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
    definition: str, type: JSON, hooks: asl.Hooks, api: StepFunctionsApi
) -> list[asl.Diagnostic]:
    """All that is found in a definition's text, by what its names stand for here; errors first."""
    diagnose = partial(asl.diagnose, definition, type=type, hooks=hooks)
    return await api.engine.threads.weigh(definition, diagnose)


async def checked(definition: str, type: JSON, caller: Caller, api: StepFunctionsApi) -> str:
    """A definition that a machine can be made of, as it is.

    Raises:
        AwsError: InvalidDefinition.
    """
    findings = await diagnosed(definition, type, hooks_of(caller, api, deployed=True), api)
    if asl.errors(findings):
        raise AwsError("InvalidDefinition", asl.refusal(definition, findings))
    return definition


async def validate(
    params: dict[str, JSON], caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    """What is found in a definition: errors, and warnings if they are asked for."""
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
