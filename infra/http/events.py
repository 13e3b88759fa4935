"""CloudEvents over HTTP: taken in, and told what became of them."""

from __future__ import annotations

import re
import secrets
from functools import partial
from typing import TYPE_CHECKING

from ...actions import InvalidError, ThrottledError
from ..engine import LARGE_BYTES
from . import requests
from .cloudevents import WAIT, envelope_of, read_events
from .errors import RETRY_AFTER, refused
from .responses import Json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from ...composer import Name
    from .api import Api
    from .cloudevents import Envelope

EFFECTS = "effects"
ID_BYTES = 16
_ASKS = "webhook-request-origin"
_ASKED = re.compile(r"/api/v1/namespaces/[^/]+/(?:events|triggers/[^/]+)")


async def send_events(request: Request, api: Api) -> Json:
    """Takes CloudEvents in: 202 `{"accepted", "duplicates", "keys"}` when they are durable; rules fire afterwards.

    The binary, the structured and the batched mode of the HTTP protocol binding are read. Any other body is the data
    of one CloudEvent, whose `type` and `source`, and perhaps `subject`, are in the query; its id is a hash of the body
    and the header Idempotency-Key, or drawn. With `wait=effects` the response comes when the effects are durable, too.
    """
    return await take_in(request, api, envelope_of(request.headers.raw), api.auth.own(request))


async def get_event(request: Request, api: Api) -> Json:
    """Describes a CloudEvent that was taken in, by its key: its state, and the triggers that it has fired."""
    found = await api.engine.events.get(api.auth.own(request), request.path_params["key"])
    return Json(found)


async def take_in(
    request: Request, api: Api, envelope: Envelope, namespace: str, trigger: Name | None = None
) -> Json:
    """Takes the CloudEvents of a request in; with `trigger` they are for this trigger only.

    Raises:
        InvalidError: one is malformed. The text names the attribute, and in a batch the index.
        RefusedError: they are too large, or may not come now.
    """
    query = request.query_params
    waits = query.get(WAIT)
    if waits not in (None, EFFECTS):
        raise InvalidError(f"The query parameter '{WAIT}' must be '{EFFECTS}', not {waits!r:.100}.")
    content = await requests.content(request, envelope.limit)
    read = partial(read_events, envelope, query, content, partial(secrets.token_hex, ID_BYTES))
    events = await api.engine.threads.run(read) if len(content) > LARGE_BYTES else read()
    try:
        taken = await api.engine.events.accept(namespace, events, trigger=trigger)
    except ThrottledError as error:
        return refused(request, error, RETRY_AFTER)
    if waits:
        await api.engine.events.settled(namespace, taken.keys)
    return Json(taken.to_json(), 202)


def granted(path: str, headers: Mapping[str, str]) -> dict[str, str] | None:
    """The headers that allow a sender of CloudEvents to deliver here; None if the request does not ask for that.

    It needs no key: what is sent later does. https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/http-webhook.md
    """
    if _ASKS not in headers or not _ASKED.fullmatch(path):
        return None
    return {
        "Allow": "POST",
        "WebHook-Allowed-Origin": headers[_ASKS],
        "WebHook-Allowed-Rate": "*",  # 429 with Retry-After tells a sender when it is too much
    }
