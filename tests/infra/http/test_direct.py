"""The direct way and the router's way: whatever is asked, both answer with the same bytes, and leave the same behind.

Each case is sent over a connection to two services that are alike. One answers frequent requests directly; the
other leaves all requests to the framework's router. What differs by chance (ids) is masked.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio.lowlevel
import orjson
import pytest

from tests.kit.edge.wires import Line
from tests.kit.http.worlds import KEY, LOOKS, OPERATOR, PAYLOAD_BYTES, USER
from tests.kit.http.worlds import world as opened
from tests.kit.stepfunctions.clients import Aws
from tests.kit.stepfunctions.machines import DEFINITION, ROLE, M
from xingqiao import composer
from xingqiao.actions import Quotas
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.http import create_app
from xingqiao.infra.http.direct import QUERY_BYTES
from xingqiao.infra.http.routes import FREQUENT
from xingqiao.infra.service.api import WINGS
from xingqiao.infra.stores import MemoryStore

HOME = "/api/v1/namespaces/_"
WAIT = "?blocking=true&result=true"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
DIGITS = re.compile(rb"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def basic(credentials):
    return "Basic " + base64.b64encode(credentials.encode()).decode()


GUEST = basic(f"{USER}:{KEY}")


def request(path, body=b"", *, method="POST", auth=GUEST, version="1.1", sized=True, **headers):
    """The bytes of a request; headers of the value None are left out."""
    named = {"Host": "test", "Authorization": auth}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    if sized and body:
        named["Content-Length"] = str(len(body))
    lines = [f"{name}: {value}" for name, value in named.items() if value is not None]
    return "\r\n".join((f"{method} {path} HTTP/{version}", *lines, "", "")).encode() + body


def chunked(path, *chunks):
    pieces = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return request(path, pieces + b"0\r\n\r\n", sized=False, Transfer_Encoding="chunked")


def call(rest, body=b'{"n": 1}', **options):
    """A call of an action."""
    return request(f"{HOME}/actions/{rest}", body, **options)


async def signed(world, operation, /, *, secret=KEY, **params):
    """A signed request to Step Functions."""
    body = json.dumps(params).encode()
    client = Aws(world, secret=secret)
    headers = client.signed(body, client.headers(operation))
    auth = headers.pop("Authorization")
    return request("/", body, auth=auth, **headers)


def operation(name, /, **params):
    """A case that asks Step Functions for an operation."""

    async def asked(world):
        return [await signed(world, name, **params)]

    return asked


# --- what the services do ------------------------------------------------------------------------


async def furnish(world):
    """Deploys what the cases call."""
    for name in ("echo", "fail", "raise", "hold", "crash"):
        await world.put(name, name)
    await world.put("twice", composer.sequence("echo", "echo"))
    for box, publish in (("tools", False), ("shown", True)):
        answer = await world.client.put(f"/packages/{box}", json={"publish": publish})
        assert answer.status_code == 200
        await world.put(f"{box}/echo", "echo")
    bound = {"binding": {"namespace": "guest", "name": "tools"}}
    bound |= {"parameters": [{"key": "by", "value": "binding"}]}
    assert (await world.client.put("/packages/mine", json=bound)).status_code == 200
    aws = Aws(world)
    for name, type in (("m", "STANDARD"), ("quick", "EXPRESS")):
        await aws("CreateStateMachine", name=name, definition=DEFINITION, roleArn=ROLE, type=type)


async def stop(world):
    world.api.stopping = True


async def key_of(world, role):
    return (await world.client.put(f"/keys/{role}", json={"role": role})).json()["auth"]


def by(role, rest="echo"):
    """A case that calls with a key of a role."""

    async def asked(world):
        return [call(rest, auth=basic(await key_of(world, role)))]

    return asked


async def another_namespace(world):
    answer = await world.caller(auth=tuple(OPERATOR.split(":"))).put(
        "/api/v1/operator/namespaces/bob", json={}
    )
    bob = basic(answer.json()["auth"])
    paths = ("shown/echo", "tools/echo", "echo")
    return [
        *(request(f"/api/v1/namespaces/guest/actions/{path}", b"{}", auth=bob) for path in paths),
        request(f"{HOME}/actions/echo", b"{}", auth=bob),
        request("/api/v1/namespaces/bob/actions/echo", b"{}", auth=GUEST),
        request("/api/v1/namespaces/nobody/actions/echo", b"{}", auth=GUEST),
    ]


async def revoked(world):
    """A key that works, and is revoked before the next request."""
    key = await key_of(world, "invoke")
    yield call("echo" + WAIT, auth=basic(key))
    assert (await world.client.delete("/keys/invoke")).status_code == 200
    yield call("echo" + WAIT, auth=basic(key))


async def rotated(world):
    """A key that expires a minute after it is rotated."""
    key = await key_of(world, "invoke")
    yield call("echo" + WAIT, auth=basic(key))
    answer = await world.client.post("/keys/invoke/rotate", json={"graceSeconds": 60})
    yield call("echo" + WAIT, auth=basic(key))
    yield call("echo" + WAIT, auth=basic(answer.json()["auth"]))
    world.clock.ms += 60_000
    yield call("echo" + WAIT, auth=basic(key))
    yield call("echo" + WAIT, auth=basic(answer.json()["auth"]))


async def completed(world):
    """A step that is completed by its token, twice; and tokens and results that are wrong."""
    await world.put("ask", "hold", annotations=[{"key": "completion", "value": "callback"}])
    await world.start("twice")
    await world.client.post("/actions/ask", json={})
    invocation = await world.hands.held.get()
    token = invocation.token
    yield request(f"/api/v1/completions/{token}", b'{"n": ', auth=None)
    yield request(f"/api/v1/completions/{token}", b"[1]", auth=None)
    yield request(f"/api/v1/completions/{token}", b'{"n": 1}', auth=None)
    yield request(f"/api/v1/completions/{token}", b'{"n": 2}', auth=None)
    yield request("/api/v1/completions/none", b"{}", auth=None)
    yield request("/api/v1/completions/", b"{}", auth=None)
    yield request("/api/v1/completions/a/b", b"{}", auth=None)


async def looked_up(world):
    """An activation that has ended, one that runs, and some that are not there."""
    id = await world.ended("echo", {"n": 1})
    running = await world.start("hold")
    for rest in (id, f"{id}?wait=5", f"{running}?wait=1", f"{id}?wait=x", f"{id}/", f"{id}/result"):
        yield request(f"{HOME}/activations/{rest}", method="GET")
    for wrong in ("0" * 32, "0" * 31, "x" * 32, "%30" * 32):
        yield request(f"{HOME}/activations/{wrong}", method="GET")
    yield request(f"/api/v1/namespaces/nobody/activations/{id}", method="GET")
    yield request(f"{HOME}/activations/{id}", method="GET", auth=None)
    yield request(f"{HOME}/activations/{id}", method="GET", auth=basic(await key_of(world, "read")))
    yield request(f"{HOME}/activations/{id}", method="HEAD")
    yield request(f"{HOME}/activations/{running}", method="DELETE")


async def fired(world):
    """A trigger with a rule, one without, and one that is not there."""
    for name in ("t", "lonely"):
        assert (await world.client.put(f"/triggers/{name}", json={})).status_code == 200
    rule = {"trigger": "/_/t", "action": "/_/echo"}
    assert (await world.client.put("/rules/r", json=rule)).status_code == 200
    for name in ("t", "lonely", "none", "a/b", "%20"):
        yield request(f"{HOME}/triggers/{name}", b'{"n": 1}')
    yield request("/api/v1/namespaces/nobody/triggers/t", b"{}")
    yield request(f"{HOME}/triggers/t", b"{}", auth=basic(await key_of(world, "read")))
    yield request(f"{HOME}/triggers/t", b"[]")
    yield request(f"{HOME}/triggers/t", method="GET")


async def entities(world):
    """Calls of entities and signals, in a package and without, with keys in odd forms."""
    await world.put("account", "account", annotations=[{"key": "entity", "value": True}])
    await world.put("tools/account", "account", annotations=[{"key": "entity", "value": True}])
    add, paths = b'{"operation": "add"}', ("account/keys/", "tools/account/keys/", "none/keys/")
    for path in paths:
        for key in ("k", "a/b", "keys/k", "%2F", "%20", "", "a%0A"):
            yield request(f"{HOME}/entities/{path}{key}", add)
    for query in ("signal=true", "signal=2", "timeout=0", "after=1"):
        yield request(f"{HOME}/entities/account/keys/k?{query}", add)
    for wrong in (b"{}", b"[]", b'{"operation": "no"}', b'{"operation": "add", "more": 1}'):
        yield request(f"{HOME}/entities/account/keys/k", wrong)
    yield request(f"{HOME}/entities/account/keys/k", add, auth=None)
    yield request(f"{HOME}/entities/account/keys", add)
    yield request(f"{HOME}/entities/account/keys/k", method="GET")
    yield request(f"{HOME}/entities/account/keys/k", method="DELETE")


async def described(world):
    """An execution that is started, described and stopped; the last is audited."""
    arn = (await Aws(world)("StartExecution", stateMachineArn=M, name="one"))["executionArn"]
    yield await signed(world, "DescribeExecution", executionArn=arn)
    yield await signed(world, "DescribeExecution", executionArn=arn, includedData="METADATA_ONLY")
    yield await signed(world, "StopExecution", executionArn=arn)
    yield await signed(world, "DescribeExecution", executionArn=arn + "x")


async def altered(world):
    """A signed request whose body was changed, and one whose secret is wrong."""
    asked = await signed(world, "StartExecution", stateMachineArn=M)
    yield asked.replace(b":m", b":x")
    yield await signed(world, "StartExecution", stateMachineArn=M, secret="wrong")
    yield request("/", b"{}", auth=None)
    yield request("/", b"{}", auth=GUEST)
    yield request("/?q=1", b"{}", auth=None)


async def signed_by_a_reader(world):
    id, _, secret = (await key_of(world, "read")).partition(":")
    body = json.dumps({"stateMachineArn": M}).encode()
    client = Aws(world, id, secret)
    headers = client.signed(body, client.headers("StartExecution"))
    return [request("/", body, auth=headers.pop("Authorization"), **headers)]


async def lambdas(world):
    path = "/2015-03-31/functions/none/invocations"
    client = Aws(world, service="lambda")
    headers = client.signed(b"{}", {"Content-Type": "application/json"}, f"http://test{path}")
    yield request(path, b"{}", auth=headers.pop("Authorization"), **headers)
    yield request(path, b"{}", auth=None)


TOO_LARGE = b'{"n": "%b"}' % (b"x" * PAYLOAD_BYTES)
DEEP = b'{"n": ' + b"[" * 2000 + b"]" * 2000 + b"}"
CASES: dict[str, Any] = {
    "accepted": [call("echo")],
    "waited for": [call("echo?blocking=true")],
    "waited for its result": [call("echo" + WAIT)],
    "a composition": [call("twice" + WAIT), call("twice?blocking=true"), call("twice")],
    "failed": [call("fail" + WAIT), call("fail?blocking=true"), call("fail")],
    "raised": [call("raise" + WAIT)],
    "crashed": [call("crash" + WAIT)],
    "not ended within the wait": [call("hold?blocking=true&timeout=1")],
    "without a body": [call("echo" + WAIT, b""), call("echo" + WAIT, b"", Content_Length="0")],
    "in chunks": [chunked(f"{HOME}/actions/echo{WAIT}", b'{"n', b'": 1}')],
    "in pieces": [[call("echo" + WAIT)[:n], call("echo" + WAIT)[n:]] for n in (1, 99, -3)],
    "no chunk": [chunked(f"{HOME}/actions/echo{WAIT}")],
    "no key": [call("echo", auth=None)],
    "an empty key": [call("echo", auth="")],
    "a wrong secret": [call("echo", auth=basic(f"{USER}:wrong"))] * 2,
    "a wrong id": [call("echo", auth=basic(f"nobody:{KEY}"))],
    "another scheme": [call("echo", auth=GUEST.replace("Basic", "Bearer"))],
    "the scheme in capitals": [call("echo" + WAIT, auth=GUEST.replace("Basic", "BASIC"))],
    "not base64": [call("echo", auth="Basic !!!")],
    "two keys": [call("echo").replace(b"Host: test", f"Host: test\r\nAuthorization: {basic('a:b')}".encode())],
    "the operator": [call("echo", auth=basic(OPERATOR))],
    "a role that may call": by("invoke"),
    "a role that may not": by("read"),
    "another's namespace": another_namespace,
    "a revoked key": revoked,
    "a rotated key": rotated,
    "by its namespace": [request("/api/v1/namespaces/guest/actions/echo" + WAIT, b"{}")],
    "unknown": [call("none"), call("none" + WAIT), call("tools/none"), call("none/echo")],
    "in a package": [call("tools/echo" + WAIT)],
    "in a bound package": [call("mine/echo" + WAIT)],
    "too many parts": [call("a/b/c"), call("tools/echo/"), call("/echo"), call("")],
    "no name": [call(b" ".hex()), call("%20"), call("e%0Acho"), call("echo%0A"), call("a" * 300)],
    "percent-encoded": [call("%65cho" + WAIT), call("tools%2Fecho" + WAIT), call("%C3%A4"), call("%ff")],
    "dots in its path": [request("/api/v1/namespaces/_/actions/../actions/echo", b"{}")],
    "a slash behind it": [call("echo/"), request(f"{HOME}/actions/", b"{}"), request(f"{HOME}/actions", b"{}")],
    "an encoded namespace": [request("/api/v1/namespaces/%5F/actions/echo" + WAIT, b"{}")],
    "no JSON": [call("echo", b'{"n": '), call("echo", b"\xff"), call("echo", b" ")],
    "no object": [call("echo", b"[1]"), call("echo", b"null"), call("echo", b"1")],
    "a wide integer": [call("echo", b'{"n": 18446744073709551616}')],
    "too deep": [call("echo", DEEP)],
    "too large": [call("echo", TOO_LARGE)],
    "too large in chunks": [chunked(f"{HOME}/actions/echo", *[b"x" * 4000] * 4)],
    "too large for all": [call("echo", b"", Content_Length=str(1 << 40))],
    "a malformed flag": [call("echo?blocking=maybe"), call("echo?result=maybe"), call("echo?blocking=true&result=2")],
    "flags in other forms": [call("echo?blocking=YES&result=on"), call("echo?blocking=&result="), call("echo?blocking")],
    "a flag twice": [call("echo?blocking=true&blocking=false"), call("echo?blocking=0&blocking=1&result=1")],
    "an encoded flag": [call("echo?%62locking=tr%75e&result=true"), call("echo?blocking=true%26result=true")],
    "an empty query": [call("echo?"), call("echo?&"), call("echo?=")],
    "unknown parameters": [call("echo?a=1&b=2&blocking=true&result=true#fragment")],
    "queries around the cache": [call(f"echo{WAIT}&x=" + "y" * (QUERY_BYTES - len(WAIT) + d)) for d in (-3, -2, -1, 0)],
    "a bad timeout": [call(f"echo?blocking=true&timeout={n}") for n in ("0", "60001", "x", "1.5", "")],
    "a timeout without a wait": [call("echo?timeout=0")],
    "with an idempotency key": [call("echo" + WAIT, Idempotency_Key="k")] * 2,
    "with a key that was used": [
        call("echo", Idempotency_Key="k"),
        call("echo", b'{"n": 2}', Idempotency_Key="k"),
        call("fail", Idempotency_Key="k"),
        call("echo?blocking=true", Idempotency_Key="k"),
    ],
    "with a bad idempotency key": [call("echo", Idempotency_Key=key) for key in ("", "x" * 255, "x" * 256, "\x7f")],
    "with a trace": [call("echo" + WAIT, traceparent=TRACE), call("echo" + WAIT, traceparent="00-0-0-01")],
    "with an id": [call("none", X_Request_ID=id) for id in ("mine", "x" * 128, "x" * 129, "")],
    "a browser's preflight": [call("echo", b"", method="OPTIONS"), request("/", b"", method="OPTIONS")],
    "from another origin": [call("echo" + WAIT, Origin="http://elsewhere")],
    "another method": [
        call("echo", b"", method=method) for method in ("GET", "HEAD", "DELETE", "PATCH", "TRACE")
    ],
    "methods of other routes": [
        request("/api/v1/completions/x", method="GET"), request("/", method="GET"), request("/", method="PUT"),
    ],
    "version 1.0": [call("echo" + WAIT, version="1.0")],
    "version 1.0 that stays": [call("echo" + WAIT, version="1.0", Connection="keep-alive")],
    "the last on its connection": [call("echo" + WAIT, Connection="close")],
    "an upgrade": [call("echo" + WAIT, Connection="Upgrade", Upgrade="websocket")],
    "it waits to be asked for its body": [[call("echo" + WAIT, Expect="100-continue")[:-8], b'{"n": 1}']],
    "two at once": [call("echo" + WAIT) + call("none")],
    "completions": completed,
    "activations": looked_up,
    "triggers": fired,
    "entities": entities,
    "started": operation("StartExecution", stateMachineArn=M, input='{"n": 1}'),
    "started by its name": operation("StartExecution", stateMachineArn=M, name="one"),
    "started with a bad input": operation("StartExecution", stateMachineArn=M, input="{"),
    "started without a machine": operation("StartExecution"),
    "started and waited for": operation("StartSyncExecution", stateMachineArn=M.replace(":m", ":quick")),
    "not to be waited for": operation("StartSyncExecution", stateMachineArn=M),
    "an operation that does not exist": operation("Nothing"),
    "an operation that is listed": operation("ListStateMachines"),
    "described and stopped": described,
    "signed wrong": altered,
    "signed by a reader": signed_by_a_reader,
    "functions": lambdas,
}  # fmt: skip


# --- both ways -----------------------------------------------------------------------------------


@dataclass
class Seen:
    """What clients and operators see of a case: the bytes, the calls, the audit log, and the counts."""

    sent: list[bytes] = field(default_factory=list)
    closed: list[bool] = field(default_factory=list)
    calls: list[Any] = field(default_factory=list)
    audit: list[Any] = field(default_factory=list)
    counts: Any = None


class Watching:
    """Notes the calls that reach an engine."""

    def __init__(self, engine, seen):
        self._engine, self._seen = engine, seen

    def __getattr__(self, name):
        return getattr(self._engine, name)

    async def invoke(self, call, *, wait_s=None):
        self._seen.calls.append((call, wait_s))
        return await self._engine.invoke(call, wait_s=wait_s)


@asynccontextmanager
async def served(frequent, *args, **options):
    """A furnished service, and the application that answers these routes directly (None for the usual ones)."""
    async with opened(*args, **options) as world:
        await furnish(world)
        yield world, create_app(world.api, WINGS, _frequent=frequent)


async def answered(line, pieces):
    """What a connection answers to the pieces of a request, once the service has nothing more to say."""
    before = len(line.wire.sent)
    for piece in pieces:
        line.protocol.data_received(piece)
        await anyio.lowlevel.checkpoint()
    idle = 0
    for _ in range(LOOKS * 20):
        await anyio.lowlevel.checkpoint()
        cycle = line.protocol.cycle
        idle = idle + 1 if cycle is not None and cycle.response_complete else 0
        if idle > 20 or line.wire.closed:
            break
    return line.wire.sent[before:]


async def observe(case, frequent, **options):
    """What is seen of a case over one way."""
    seen = Seen()
    async with served(frequent, **options) as (world, app):
        world.api.engine = Watching(world.engine, seen)
        asked = case(world) if callable(case) else case
        if hasattr(asked, "__await__"):
            asked = await asked
        async for pieces in each(asked):
            line = Line(app)
            sent = await answered(line, [pieces] if isinstance(pieces, bytes) else pieces)
            seen.sent.append(DIGITS.sub(b"ID", sent))
            seen.closed.append(line.wire.closed)
        seen.audit = [_masked(d.body) async for d in world.store.documents("audit")]
        seen.counts = (
            dict(world.api.auth.failures.counts),
            world.api.bodies,
            world.api.audit.unkept,
        )
    return seen


def _masked(entry):
    """An entry of the audit log without what differs by chance."""
    told = orjson.loads(DIGITS.sub(b"ID", entry))
    return {name: value for name, value in told.items() if name not in ("request", "key_id")}


async def each(asked):
    if hasattr(asked, "__aiter__"):
        async for pieces in asked:
            yield pieces
    else:
        for pieces in asked:
            yield pieces


@pytest.mark.parametrize("name", CASES)
async def test_both_ways_answer_alike(name):
    direct = await observe(CASES[name], None)
    routed = await observe(CASES[name], ())

    assert direct == routed
    assert all(b"HTTP/1.1 " in sent for sent in direct.sent)


@pytest.mark.parametrize(("quotas", "statuses"), [
    (Quotas(per_minute=2), [b"202", b"202", b"429"]),
    (Quotas(payload_bytes=8), [b"202", b"202", b"202"]),
    (Quotas(payload_bytes=6), [b"413", b"413", b"413"]),
    (Quotas(live=0), [b"429", b"429", b"429"]),
])  # fmt: skip
async def test_both_ways_have_the_same_quotas(quotas, statuses):
    settings = EngineSettings(quotas=lambda _: quotas)

    for frequent in (None, ()):
        seen = await observe([call("echo", b'{"n":1}')] * 3, frequent, settings=settings)
        assert [sent.split()[1] for sent in seen.sent] == statuses


async def test_a_server_that_stops_or_is_paused_refuses_both_ways():
    async def stopping(world):
        await stop(world)
        return [call("echo"), await signed(world, "StartExecution", stateMachineArn=M)]

    assert await observe(stopping, None) == (seen := await observe(stopping, ()))
    assert all(b" 503 " in sent for sent in seen.sent)


async def test_a_store_that_does_not_commit_is_told_both_ways():
    class FullDisk(MemoryStore):
        full = False

        async def commit(self, writes):
            if self.full:
                raise OSError("no space left")
            return await super().commit(writes)

    async def full(world):
        world.store.full = True
        return [call("echo"), call("echo" + WAIT), request("/api/v1/completions/x", b"{}")]

    pacing = Pacing(commit_retry_s=0, commit_deadline_s=0.05)
    direct, routed = [
        await observe(full, frequent, store=FullDisk(), pacing=pacing) for frequent in (None, ())
    ]

    assert direct == routed
    assert [sent.split()[1] for sent in direct.sent] == [b"503", b"503", b"404"]
    assert all(b"retry-after: 1\r\n" in sent for sent in direct.sent[:2])


async def test_a_mistake_of_ours_is_told_without_its_details_and_logged_both_ways(caplog):
    async def mistaken(world):
        class Mistaken(Watching):
            async def invoke(self, call, *, wait_s=None):
                raise RuntimeError("a detail")

        world.api.engine = Mistaken(world.engine, None)
        return [call("echo")]

    direct, routed = [await observe(mistaken, frequent) for frequent in (None, ())]

    assert direct == routed
    assert b" 500 " in direct.sent[0]
    assert b"There was an internal server error." in direct.sent[0]
    assert b"a detail" not in direct.sent[0]
    told = [record for record in caplog.records if record.exc_info]
    assert [str(record.exc_info[1]) for record in told] == ["a detail", "a detail"]


@pytest.mark.parametrize("frequent", [None, ()], ids=["direct", "routed"])
async def test_a_request_that_is_cut_off_calls_nothing(frequent):
    seen = Seen()
    async with served(frequent) as (world, app):
        world.api.engine = Watching(world.engine, seen)
        line = Line(app)
        line.protocol.data_received(call("echo", b'{"n": 1}')[:-3])
        await anyio.lowlevel.checkpoint()
        line.wire.close()
        for _ in range(LOOKS):
            await anyio.lowlevel.checkpoint()

    assert line.wire.sent == b""
    assert seen.calls == []
    assert line.protocol.tasks == set()


async def test_a_client_that_leaves_while_it_waits_ends_nothing():
    async with served(None) as (world, app):
        line = Line(app)
        line.protocol.data_received(call("hold" + WAIT))
        invocation = await asyncio.wait_for(world.hands.held.get(), 30)
        line.wire.close()
        await anyio.lowlevel.checkpoint()
        world.hands.answer(invocation.activation, composer.Success({"n": 2}))

        record = await world.record(invocation.activation)

    assert record["response"]["result"] == {"n": 2}


def test_the_direct_way_leads_where_the_router_does():
    """Each frequent route is served by the first route that matches its path, as the router finds it."""
    app = create_app(_Nothing(), WINGS)
    direct, router = app._direct, app._app.router
    frequent = {*FREQUENT, *(route for wing in WINGS for route in wing.frequent)}
    for one in sorted(frequent):
        method, path = one.split(" ", 1)
        path = re.sub(r"\{(\w+)(:path)?\}", "x", path)
        scope = {"type": "http", "method": method, "path": path, "root_path": ""}
        first = next(r for r in router.routes if r.matches(scope)[0].name == "FULL")
        assert direct.find(scope) is first.endpoint
        assert scope["path_params"] == first.matches(scope)[1]["path_params"]
        assert direct.find({**scope, "root_path": "/mounted"}) is None
        assert direct.find({**scope, "method": "PUT"}) is None


class _Nothing:
    """Stands for the parts of a service that no request reaches."""

    bodies = None
