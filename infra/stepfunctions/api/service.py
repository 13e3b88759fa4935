"""All supported operations of the Step Functions API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...aws import AwsError, read
from ...http import Wing
from ..integrations import OperationError
from . import (
    activities,
    aliases,
    execution_list,
    executions,
    histories,
    machines,
    map_runs,
    state_tests,
    tags,
    tasks,
    validation,
    versions,
)
from .inputs import INPUTS
from .protocol import Caller, answer, refusing

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ....composer import JSON
    from ..integrations import Call
    from .api import StepFunctionsApi
    from .protocol import Operations

OPERATIONS: Operations = {
    **machines.OPERATIONS,
    **versions.OPERATIONS,
    **aliases.OPERATIONS,
    **tags.OPERATIONS,
    **validation.OPERATIONS,
    **executions.OPERATIONS,
    **execution_list.OPERATIONS,
    **histories.OPERATIONS,
    **tasks.OPERATIONS,
    **activities.OPERATIONS,
    **map_runs.OPERATIONS,
    **state_tests.OPERATIONS,
}


def operations(api: StepFunctionsApi) -> Call:
    """The operations as the integrations of state machines call them."""

    async def call(
        namespace: str, request: str, operation: str, params: dict[str, JSON]
    ) -> dict[str, JSON]:
        try:
            given = read(INPUTS[operation], params)
            return await refusing(OPERATIONS[operation], given, Caller(namespace, request), api)
        except AwsError as error:
            raise OperationError(error.code, error.message, error.status) from error

    return call


async def serve(request: Request, api: StepFunctionsApi) -> Response:
    """Serves the operation that the header `X-Amz-Target` names."""
    return await answer(OPERATIONS, request, api)


STEP_FUNCTIONS: Wing = Wing(routes=[("POST", "/", serve)], frequent=("POST /",))
