"""Actions over HTTP: create, update, get, list, delete, invoke."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actions import Call, status_of
from composer import Name

from . import reading
from .responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from infra.engine import Ended

    from .api import Api

MAX_ACTION_BYTES = 64 << 20  # code of 48 MB in base64
MAX_WAIT_MS = 60_000
SUCCESS = 0
INTERNAL = 3


def _name(request: Request, namespace: str) -> Name:
    """The name that a path spells.

    Raises:
        InvalidNameError: when it is none.
    """
    return Name.parse(f"/{namespace}/{request.path_params['name']}")


async def list_actions(request: Request, api: Api) -> Json:
    namespace = api.auth.own(request)
    query = request.query_params
    found = api.engine.actions.list(namespace)
    if reading.flag(query, "count"):
        return Json({"actions": len(found)})
    skip, limit = reading.page(query, "actions")
    return Json([action.summary() for action in found[skip : skip + limit]])


async def get_action(request: Request, api: Api) -> Json:
    name = _name(request, api.auth.own(request))
    code = request.query_params.get("code", "true").lower() not in reading.FALSE
    return Json(api.engine.actions.get(name).to_json(code=code))


async def put_action(request: Request, api: Api) -> Json:
    name = _name(request, api.auth.own(request))
    overwrite = reading.flag(request.query_params, "overwrite")
    document = await reading.body(request, MAX_ACTION_BYTES)
    return Json((await api.engine.put(name, document, overwrite=overwrite)).to_json())


async def delete_action(request: Request, api: Api) -> Json:
    name = _name(request, api.auth.own(request))
    return Json((await api.engine.remove(name)).to_json())


async def invoke_action(request: Request, api: Api) -> Json:
    """Invokes; answers at once with an id, or waits for the result, as OpenWhisk does.

    200 when it has succeeded, 502 when the action has failed, 500 when we have; 202 when it is not
    waited for, or is not done in time.
    """
    namespace = api.auth.own(request)
    query = request.query_params
    call = Call(
        name=_name(request, namespace),
        params=await reading.parameters(request, api.payload_bytes),
        namespace=namespace,
    )
    wait_s = None
    if reading.flag(query, "blocking"):
        wait_ms = reading.number(
            query, "timeout", MAX_WAIT_MS, low=1, high=MAX_WAIT_MS, of="timeout"
        )
        wait_s = wait_ms / 1000
    invoked = await api.engine.invoke(call, wait_s=wait_s)
    headers = {"x-openwhisk-activation-id": invoked.activation}
    if invoked.ended is None:
        return Json({"activationId": invoked.activation}, 202, headers)
    if reading.flag(query, "result"):
        return Json(invoked.ended.outcome.value, _status(invoked.ended), headers)
    record = await api.engine.records.activation(namespace, invoked.activation)
    return Json(record, _status(invoked.ended), headers)


def _status(ended: Ended) -> int:
    status = status_of(ended.outcome)
    if status == SUCCESS:
        return 200
    return 500 if status == INTERNAL else 502
