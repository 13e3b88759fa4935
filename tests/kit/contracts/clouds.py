"""What the adapters' contract runs over: each row a cloud, or a host that plays one, and a function on it.

A row says in its own cloud's terms what a test asks of the function: `returns`, `raises`, `throttles` and so
on. What it cannot play it has no method for, and tests that need it leave the row out (`playing`). So
another cloud is one more class in `rows.py`.
"""

from __future__ import annotations

import socket
from typing import ClassVar

from tests.kit.actions.things import invocation
from tests.kit.contracts.elsewhere import (
    LONG_MS,
    RESULT_BYTES,
    RUN,
    SECRET,
    TRACE,
    action,
    ended,
    opened,
)
from tests.rigs.answers import (
    accepted,
    answer,
    broken_json,
    cut,
    held,
    oversized,
    throttled,
    truncated,
)
from tests.rigs.durable import ROOT, Durable
from tests.rigs.strict_host import strict_host
from xingqiao import composer


class Row:
    """One cloud with one function on it.

    Attributes:
        kind: of the action.
        secrets: that its actions may name.
        params: with which the function does what was asked for.
        keyed: whether the cloud runs what has the same key once.
        broken: whether what answers no JSON has run.
        late_ms: in which a request is sent for sure, and after which one that hangs is late.
    """

    kind = ""
    keyed = False
    broken = "unknown"
    late_ms = 2000
    credentials: ClassVar = {"type": "bearer", "token": SECRET}

    def __init__(self, stack, shared):
        self.secrets, self.params, self.timeout_ms = {"mine": self.credentials}, {"n": 1}, LONG_MS
        self.open(stack, shared)

    def options(self):
        return {"credentials": "mine"}

    def action(self, *, attempts=3, timeout_ms=None, notes=None, **options):
        retry = {"attempts": attempts, "delay_ms": 1}
        exec = {"kind": self.kind, "function": self.function, "retry": retry}
        exec |= {**self.options(), **options}
        return action(exec, timeout_ms=timeout_ms or self.timeout_ms, **(notes or {}))

    def asked(self, **options):
        return invocation(self.action(**options), dict(self.params), activation=RUN, trace=TRACE)

    async def run(self, **options):
        async with opened(self.secrets) as invoker:
            return await ended(invoker, self.asked(**options))


class Strict(Row):
    """A row on the strict host. `sent` are the requests that would run the function."""

    method, path, function = "POST", "/fn", ""

    def open(self, stack, shared):
        self.host = stack.enter_context(strict_host())
        self.function = self.host.url + self.path
        self.hanging = None

    @property
    def runs(self):
        return len(self.sent)

    @property
    def sent(self):
        return [seen for seen in self.host.requests if seen.path == self.path]

    def script(self, *answers, **fields):
        self.host.on(self.method, self.path, *answers, **fields)

    def good(self, value=None):
        """The answer with which the function returns."""
        return answer({"ok": True} if value is None else value)

    def returns(self, value):
        self.script(answer(value))

    def raises(self):
        self.script(answer({"error": {"code": "Sold", "message": "none left"}}, 400))

    def breaks(self):
        self.script(broken_json())

    def throttles(self, retry_after):
        self.script(throttled(retry_after), self.good())

    def is_throttled(self):
        self.script(throttled(3600))

    def hangs(self):
        self.hanging = held()
        self.script(self.hanging)

    def is_cut(self, times=1):
        self.script(*[cut()] * times, self.good())

    def is_cut_unread(self):
        self.host.cut_unread()

    def is_cut_off(self):
        self.script(truncated())

    def fails_at_gateway(self, status=503):
        self.script(answer("upstream is away", status), self.good())

    def answers_too_much(self, *, told):
        self.script(oversized(RESULT_BYTES + 10_000, told=told))

    def refuses_so_much(self):
        self.script(answer("too much", 413))

    def is_away(self):
        with socket.create_server(("127.0.0.1", 0)) as closed:
            nowhere = f"http://127.0.0.1:{closed.getsockname()[1]}"
        self.function = self.function.replace(self.host.url, nowhere)
        self.host.url = nowhere

    def refuses(self, status=401):
        self.script(answer({"message": "no"}, status))

    def takes_tokens_of(self, issuer):
        self.script(self.good(), self.good(), bearer=issuer)

    def seen(self):
        """The trace and the key that the function has been told, each time."""
        return [
            (seen.headers["traceparent"], seen.headers["idempotency-key"]) for seen in self.sent
        ]

    def told_how_to_complete(self):
        headers = self.sent[0].headers
        return headers["x-completion-token"], headers["x-callback-url"]


class Http(Strict):
    kind = "http"

    def checks(self):
        pass  # it is connected to, and that is all

    def told_key(self):
        async def echo(host, seen, writer):
            return await answer({"order": seen.json()["order"]})(host, seen, writer)

        self.script(echo)

    def returns_text(self):
        self.script(answer("hello"))


class Gcp(Http):
    kind = "gcp:function"


class Events(Strict):
    kind = "cloudevents"

    def options(self):
        return {**super().options(), "type": "shop.order", "source": "/shop"}

    def returns_text(self):
        self.script(answer("hello"))


class Structured(Events):
    def options(self):
        return {**super().options(), "mode": "structured"}


class Azure(Strict):
    kind, path = "azure:function", "/api/fn"
    credentials: ClassVar = {"type": "functions-key", "key": SECRET}

    def open(self, stack, shared):
        super().open(stack, shared)
        self.function = "fn"

    def options(self):
        return {**super().options(), "host": self.host.url}

    def returns_text(self):
        self.script(answer("hello"))

    def takes_in(self, *, looks, value=None, retry_after=None):
        where = "/runtime/status"
        self.script(accepted(f"{where}?code={SECRET}", retry_after=retry_after))
        later = {} if retry_after is None else {"Retry-After": retry_after}
        pending = answer({"runtimeStatus": "Running"}, 202, later)
        ends = answer({"runtimeStatus": "Completed", "output": value})
        self.host.on("GET", where, *[pending] * looks, ends, needs={"?code": SECRET})

    def loses(self):
        self.script(accepted("/runtime/status"))
        self.host.on("GET", "/runtime/status", answer(None, 404))

    looks_at = "/runtime/status"

    def ended_as(self, value):
        return {"runtimeStatus": "Completed", "output": value}

    def looks(self):
        return [seen for seen in self.host.requests if seen.path == self.looks_at]


class Orchestration(Strict):
    kind, path, keyed = "azure:durable", f"{ROOT}/orchestrators/main/{RUN}", True
    credentials: ClassVar = {"type": "functions-key", "key": SECRET}

    def open(self, stack, shared):
        super().open(stack, shared)
        self.function = "main"
        self.durable = Durable(self.host, key=SECRET)
        pattern, play = self.host.handlers.pop()
        self.host.handlers.append((pattern, lambda seen: self._scripted(seen) or play(seen)))
        self.durable.expect("main", output={"ok": True}, polls=0)

    def _scripted(self, seen):
        """The script's answer, where there is one; the API answers all else."""
        route = self.host._routes.get((seen.method, seen.path))
        return route and route.next()

    def options(self):
        return {**super().options(), "host": self.host.url}

    def good(self, value=None):
        async def start(host, seen, writer):
            return await self.durable.start("main", RUN, seen.json())(host, seen, writer)

        return start

    def returns(self, value):
        self.durable.expect("main", output=value, polls=0)

    def raises(self):
        error = {"code": "Sold", "message": "none left"}
        self.durable.expect("main", output=error, polls=0, ends="Failed")

    def breaks(self):
        instance = f"{ROOT}/instances/{RUN}"
        self.script(self.good())
        self.host.on("GET", instance, answer(None, 404), broken_json())

    def answers_too_much(self, *, told):
        self.script(self.good())
        much = oversized(RESULT_BYTES + 10_000, told=told)
        self.host.on("GET", f"{ROOT}/instances/{RUN}", answer(None, 404), much)

    def is_cut_off(self):
        self.script(truncated(), self.good())

    def takes_tokens_of(self, issuer):
        self.script(self.good(), bearer=issuer)
        done = answer({"runtimeStatus": "Completed", "output": {"ok": True}})
        self.host.on("GET", f"{ROOT}/instances/{RUN}", answer(None, 404), done, bearer=issuer)

    def takes_in(self, *, looks, value=None, retry_after=None):
        self.durable.expect("main", output=value, polls=looks)
        self.durable._retry_after = retry_after or 0

    looks_at = f"{ROOT}/instances/{RUN}"

    def ended_as(self, value):
        return {"runtimeStatus": "Completed", "output": value}

    def looks(self):
        seen = [one for one in self.host.requests if one.path == self.looks_at]
        return seen[1:]  # the first was before it was started

    def checks(self):
        self.host.on("GET", f"{ROOT}/instances", answer([], headers={"x-ms-request-id": "1"}))

    def stops(self):
        self.durable.expect("main", awaits="never")

    @property
    def stopped(self):
        found = self.durable.instances.get(RUN)
        return found is not None and found.status == "Terminated"


class Whisk(Strict):
    """An OpenWhisk host as its wire is, on the strict host."""

    kind, path = "openwhisk:action", "/api/v1/namespaces/_/actions/shop/fn"
    credentials = f"id:{SECRET}"

    def open(self, stack, shared):
        super().open(stack, shared)
        self.function = "shop/fn"

    def options(self):
        return {**super().options(), "host": self.host.url}

    def record(self, value, status=0, **fields):
        response = {"success": not status, "statusCode": status, "result": value}
        notes = [{"key": "initTime", "value": 12}]
        return {
            "activationId": "c3" * 16, "response": response, "duration": 25, "logs": ["a line"],
            "annotations": notes, **fields,
        }  # fmt: skip

    def good(self, value=None):
        return answer(self.record({"ok": True} if value is None else value))

    def returns(self, value):
        self.script(answer(self.record(value)))

    def raises(self):
        error = {"error": {"code": "Sold", "message": "none left"}}
        self.script(answer(self.record(error, 1), 502))

    def takes_in(self, *, looks, value=None, retry_after=None):
        id = "c3" * 16
        later = {} if retry_after is None else {"Retry-After": retry_after}
        self.script(answer({"activationId": id}, 202, later))
        pending = answer({"error": "not yet"}, 404)
        where = f"/api/v1/namespaces/_/activations/{id}"
        self.host.on("GET", where, *[pending] * looks, answer(self.record(value)))

    looks_at = f"/api/v1/namespaces/_/activations/{'c3' * 16}"
    ended_as = record

    def looks(self):
        return [seen for seen in self.host.requests if seen.path == self.looks_at]

    def stops(self):
        id = "c3" * 16
        self.script(answer({"activationId": id}, 202))
        where = f"/api/v1/namespaces/_/activations/{id}"
        self.host.on("GET", where, *[answer(None, 404)] * 100)
        self.host.on("DELETE", where, answer({}))

    @property
    def stopped(self):
        return any(seen.method == "DELETE" for seen in self.host.requests)


PROGRAM = """
def main(request):
    p = request.get_json(silent=True) or {}
    if p.get("do") == "raise":
        return {"error": {"code": "Sold", "message": "none left"}}, 400
    return ("", 200) if p.get("value") is None else p["value"]
"""


class Framework(Row):
    """Google's functions-framework with a function that does what its parameters say."""

    kind = "gcp:function"

    def open(self, stack, shared):
        self.function = f"{shared('framework')}/fn"

    def returns(self, value):
        self.params = {"value": value}

    def returns_text(self):
        self.params = {"value": "hello"}

    def raises(self):
        self.params = {"do": "raise"}

    def answers_too_much(self, *, told):
        self.params = {"value": {"text": "x" * (RESULT_BYTES + 10)}}


class FrameworkHttp(Framework):
    kind = "http"


CODE = """
def main(p):
    if p.get("do") == "raise":
        return {"error": {"code": "Sold", "message": "none left"}}
    return {} if p["value"] is None else p["value"]
"""


KEY_CODE = "def main(p):\n    return {'order': p['order']}\n"


class OwnNamespace:
    """A new namespace of a server of ours."""

    def __init__(self, server, name):
        self.server, self.url = server, server.url
        with server.operator() as operator:
            made = operator.put(f"{server.url}/api/v1/operator/namespaces/{name}", json={})
        assert made.status_code == 200, made.text
        self.credentials = made.json()["auth"]

    def client(self):
        return self.server.client(tuple(self.credentials.split(":")))


def deploy(server):
    """Deploys to a namespace of ours what `OwnServer` invokes there."""
    documents = {
        "fn": {"exec": {"kind": "python:3", "code": CODE}},
        "key": {"exec": {"kind": "python:3", "code": KEY_CODE}},
        "waits": {"exec": {"kind": "composition", "composition": composer.wait(3600).to_json()}},
    }
    with server.client() as client:
        for name, document in documents.items():
            done = client.put(f"/actions/{name}?overwrite=true", json=document)
            assert done.status_code == 200, done.text


class OwnServer(Row):
    """Our own server as an OpenWhisk host."""

    kind = "openwhisk:action"

    def open(self, stack, shared):
        self.server, self.function = shared("own_namespace"), "fn"
        self.secrets = {"mine": self.server.credentials}

    def options(self):
        return {"credentials": "mine", "host": self.server.url}

    def returns(self, value):
        self.params = {"value": value}

    def raises(self):
        self.params = {"do": "raise"}

    def takes_in(self, *, looks, value=None, retry_after=None):
        self.params = {"value": value}

    def told_key(self):
        self.function = "key"

    def checks(self):
        pass

    def stops(self):
        self.function = "waits"

    @property
    def stopped(self):
        with self.server.client() as client:
            found = client.get("/activations?limit=1&docs=true").json()
        return (
            bool(found) and found[0]["name"] == "waits" and found[0]["response"]["statusCode"] != 0
        )
