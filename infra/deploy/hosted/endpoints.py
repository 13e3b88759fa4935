"""The HTTP API of a bundle, for any host.

    POST   /{composition}      begins it with the body, an object       202 {"executionId"}, Location
    GET    /executions/{id}    its state, or its result                 200
    DELETE /executions/{id}    cancels it                               202
    POST   /completions/{token}  completes a step that answers later; the body is its result    202

A request waits for the end of the execution only if it asks for that with `Prefer: wait=SECONDS` (RFC 7240), because
the wait costs money: it is then answered 200 with the state once the execution has ended, within MOST_WAIT_S. A POST with an `Idempotency-Key` that was used
before returns the id of the execution that it began then, under way or ended; with other parameters it is refused
with 422.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

from ....composer import flaw
from .conductor import OtherParametersError
from .records import Token
from .user_code import APPLICATION_ERROR, VALUE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....composer import JSON
    from .conductor import Conductor
    from .ports import Clock, Deployed

EXECUTIONS, COMPLETIONS = "executions", "completions"
MAX_KEY = 255
MOST_WAIT_S = 20  # the conductor's function and the gateways before it allow some seconds more
LOOK_S = (0.1, 1.0)  # between two looks at an execution: the first, and the longest
_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?(\d{1,6})\"?\s*(?=$|[,;])", re.IGNORECASE)
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request: the path without a stage or a prefix, header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A response, its body to be written as JSON."""

    status: int
    body: dict[str, JSON]
    headers: dict[str, str] = field(default_factory=dict)


class _RefusedError(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.answer = Answer(status=status, body={"error": text})


def serve(
    conductor: Conductor,
    deployed: Deployed,
    clock: Clock,
    request: Request,
    pause: Callable[[float], object] | None = None,
) -> Answer:
    """Answers a request. `pause` lets some seconds pass; None for the machine's time."""
    try:
        answer = _served(conductor, deployed, clock, request)
    except _RefusedError as refused:
        return refused.answer
    wait_s = _wait_s(request)
    if not wait_s or request.method == "DELETE" or "executionId" not in answer.body:
        return answer
    return _awaited(conductor, clock, answer, wait_s, pause or threading.Event().wait)


def _wait_s(request: Request) -> int:
    """The seconds that the caller wants to wait, at most MOST_WAIT_S."""
    found = _WAIT.search(request.headers.get("prefer", ""))
    return min(MOST_WAIT_S, int(found[1])) if found else 0


def _awaited(
    conductor: Conductor,
    clock: Clock,
    answer: Answer,
    wait_s: int,
    pause: Callable[[float], object],
) -> Answer:
    """The state of an execution once it has ended, or after the wait: then the answer as it is."""
    id, until_ms = str(answer.body["executionId"]), clock.now_ms() + 1000 * wait_s
    look_s, most_s = LOOK_S
    applied = {**answer.headers, "Preference-Applied": f"wait={wait_s}"}
    while (seen := conductor.look(id)) is not None:
        if seen["status"] != "running":
            return Answer(status=200, body=seen, headers=applied)
        left_s = (until_ms - clock.now_ms()) / 1000
        if left_s <= 0:
            break
        pause(min(look_s, left_s))
        look_s = min(2 * look_s, most_s)
    return Answer(status=answer.status, body=answer.body, headers=applied)


def _served(conductor: Conductor, deployed: Deployed, clock: Clock, request: Request) -> Answer:
    first, *rest = request.path.strip("/").split("/")
    if first == EXECUTIONS and len(rest) == 1:
        return _execution(conductor, request.method, rest[0])
    if first == COMPLETIONS and len(rest) == 1 and request.method == "POST":
        return _complete(conductor, rest[0], request)
    if rest or f"/_/{first}" not in deployed.programs:
        raise _RefusedError(404, f"composition {request.path!r} does not exist")
    if request.method != "POST":
        raise _RefusedError(
            405, f"method {request.method} is not allowed: invoke a composition with POST"
        )
    return _begin(conductor, clock, first, request)


def _begin(conductor: Conductor, clock: Clock, name: str, request: Request) -> Answer:
    params = _object(request.body)
    key = request.headers.get("idempotency-key")
    if key is None:
        id = _drawn(clock)
        conductor.begin(id, f"/_/{name}", params)
    else:
        if not 0 < len(key) <= MAX_KEY:
            text = f"the Idempotency-Key must have 1 to {MAX_KEY} characters, not {len(key)}"
            raise _RefusedError(400, text)
        id = sha256(f"{name}\n{key}".encode()).hexdigest()[:32]
        try:
            conductor.join(id, f"/_/{name}", params)
        except OtherParametersError as error:
            text = (
                f"this Idempotency-Key began the execution {id} with other parameters: send the same body again, "
                "or use another key to begin another execution"
            )
            raise _RefusedError(422, text) from error
    return Answer(status=202, body={"executionId": id}, headers={"Location": f"/{EXECUTIONS}/{id}"})


def _complete(conductor: Conductor, text: str, request: Request) -> Answer:
    """Completes a step: the body is the result, and an `error` field means failure."""
    result, token = _object(request.body), Token.from_text(text)
    outcome: dict[str, JSON] = {"value": result}
    if "error" in result:
        outcome = {"code": APPLICATION_ERROR, "error": result["error"]}
    if token is None or not conductor.answer(token, outcome):
        raise _RefusedError(
            404,
            f"no step waits for the token {text!r:.300}: it was completed before, or its execution has ended",
        )
    return Answer(status=202, body={"accepted": True})


def _drawn(clock: Clock) -> str:
    return f"{clock.now_ms():012x}{secrets.token_hex(10)}"


def _object(body: bytes) -> dict[str, JSON]:
    if len(body) > VALUE_BYTES:
        raise _RefusedError(
            413, f"the body has {len(body)} bytes: at most {VALUE_BYTES} are allowed"
        )
    try:
        params = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise _RefusedError(400, f"the body is not valid JSON: {error}") from error
    why = flaw(params) if isinstance(params, dict) else f"it is {params!r:.80}"
    if why:
        raise _RefusedError(400, f"the body must be a JSON object, but {why}")
    made: dict[str, JSON] = params
    return made


def _execution(conductor: Conductor, method: str, id: str) -> Answer:
    if method not in ("GET", "DELETE"):
        raise _RefusedError(
            405,
            f"method {method} is not allowed: read an execution with GET, cancel it with DELETE",
        )
    status, body = 404, None
    if _ID.fullmatch(id):
        if method == "GET":
            status, body = 200, conductor.look(id)
        elif conductor.cancel(id):
            status, body = 202, {"executionId": id}
    if body is None:
        raise _RefusedError(404, f"execution {id!r} does not exist; it may have ended long ago")
    return Answer(status=status, body=body)
