"""All operations of the Step Functions API that are answered here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...aws import AwsError, read
from ...http import Wing
from ..integrations import OperationError
from . import (
    activities,
    aliases,
    executions,
    histories,
    listing,
    machines,
    map_runs,
    tags,
    tasks,
    testing,
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
    **listing.OPERATIONS,
    **histories.OPERATIONS,
    **tasks.OPERATIONS,
    **activities.OPERATIONS,
    **map_runs.OPERATIONS,
    **testing.OPERATIONS,
}


def operations(api: StepFunctionsApi) -> Call:
    """The operations as state machines ask for them."""

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
    """An operation, as the request's `X-Amz-Target` names it."""
    return await answer(OPERATIONS, request, api)


STEP_FUNCTIONS: Wing = Wing(routes=[("POST", "/", serve)])
