"""Actions of OpenWhisk hosts; the contract suite has what all clouds share."""

from __future__ import annotations

import pytest

from tests.kit.adapters.asking import check, run
from tests.kit.contracts.elsewhere import SECRET
from tests.rigs.answers import answer, cut, throttled
from tests.rigs.issuers import IbmIam
from xingqiao.actions import Remote
from xingqiao.adapters import Fault
from xingqiao.adapters.openwhisk import WhiskAdapter
from xingqiao.adapters.port import Request
from xingqiao.composer import Success

pytestmark = pytest.mark.usefixtures("no_secret_is_shown")

TARGET = Remote("openwhisk:action", "hello", {"host": "https://host.example"})


class Channel:
    """Keeps what is sent, and answers nothing."""

    async def send(self, request, outgoing):
        self.sent = outgoing
        return Fault.saying("Unavailable", "nobody is there", "no")


async def test_each_attempt_of_a_sagas_step_is_a_call_of_its_own():
    """A host of ours runs a call once for each idempotency key: an attempt after a failure must run again."""
    channel = Channel()
    request = Request(
        target=TARGET,
        params={},
        deadline_ms=1,
        key="of-the-step",
        traceparent="",
        activation="a" * 32,
    )

    await WhiskAdapter(channel).invoke(request)

    assert channel.sent.headers["Idempotency-Key"] == "a" * 32


ID = "c3" * 16


def whisk(server, /, **options):
    return {
        "kind": "openwhisk:action", "function": "/ns/shop/fn", "host": f"{server.url}/api/v1/", "credentials": "whisk",
        **options,
    }  # fmt: skip


WHERE = "/api/v1/namespaces/ns/actions/shop/fn"


def record(status=0, result=None, **fields):
    response = {"success": not status, "statusCode": status, "result": result}
    return {"activationId": ID, "response": response, "duration": 25, **fields}


TIMED_OUT = [{"key": "timeout", "value": True}]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (answer(record(1, {"error": "sold"}), 502), ("ApplicationError", "yes")),
        (answer(record(1, "odd"), 502), ("ApplicationError", "yes")),
        (answer(record(2, {"error": "exited"}), 502), ("Crashed", "unknown")),
        (answer(record(2, {"error": "late"}, annotations=TIMED_OUT), 502), ("Timeout", "unknown")),
        (answer(record(2, None, annotations=[1, {}]), 502), ("Crashed", "unknown")),
        (answer(record(3, {"error": "no room"}), 500), ("Lost", "unknown")),
        (answer({"ok": True}), ("BadResponse", "unknown")),
        (answer([1]), ("BadResponse", "unknown")),
        (answer({"code": 1}, 202), ("BadResponse", "unknown")),
        (answer({"activationId": 7}, 202), ("BadResponse", "unknown")),
        (answer({"error": "no such action"}, 404), ("NotFound", "no")),
        (answer("bad gateway", 502), ("Lost", "unknown")),
    ],
)
async def test_what_a_host_of_openwhisk_says(host, said, told):
    host.on("POST", WHERE, said)

    assert (await run(whisk(host))).told == told


async def test_what_an_activation_record_tells(host):
    notes = [{"key": "initTime", "value": 12}, {"key": "limits", "value": {}}]
    host.on("POST", WHERE, answer(record(0, {"n": 1}, annotations=notes, logs=["a line", 7])))

    completion = (await run(whisk(host))).completion

    assert (completion.logs, completion.init_ms) == (["a line"], 12)
    remote = completion.remote
    assert (remote.cloud, remote.request, remote.ran_ms, remote.billed_ms) == (
        "openwhisk",
        ID,
        25.0,
        25.0,
    )
    assert host.requests[0].query == {"blocking": "true", "result": "false"}


async def test_an_activation_is_not_there_at_first_and_may_stay_away(host):
    host.on("POST", WHERE, answer({"activationId": "../../../x"}, 202))
    host.on("GET", "/api/v1/namespaces/ns/activations/..%2F..%2F..%2Fx", *[answer(None, 404)] * 9)
    host.on("DELETE", "/api/v1/namespaces/ns/activations/..%2F..%2F..%2Fx", answer(None, 405))

    assert (await run(whisk(host), timeout_ms=700)).told == ("Timeout", "unknown")


@pytest.mark.parametrize(
    "hitch",
    [
        throttled(0), cut(), answer("away", 503), answer({"pending": True}), answer({}, 202),
        answer("broken", 500), answer("who?", 401), answer("no", 403),
    ],
)  # fmt: skip
async def test_a_hitch_while_it_is_asked_after_is_none(host, hitch):
    at = f"/api/v1/namespaces/ns/activations/{ID}"
    host.on("POST", WHERE, answer({"activationId": ID}, 202))
    host.on("GET", at, hitch, answer(record(0, {"n": 1})))

    assert (await run(whisk(host))).outcome == Success({"n": 1})


async def test_what_cannot_be_asked_after_may_have_run(host):
    host.on("POST", WHERE, answer({"activationId": ID}, 202))
    host.on("GET", f"/api/v1/namespaces/ns/activations/{ID}", answer({"error": "no"}, 400))

    assert (await run(whisk(host))).told == ("ApplicationError", "unknown")


async def test_a_token_that_expires_while_it_is_asked_after_is_got_anew(host):
    issuer = IbmIam(host, key=SECRET)
    secrets = {"whisk": {"type": "iam", "apikey": SECRET, "url": issuer.url}}
    at = f"/api/v1/namespaces/ns/activations/{ID}"

    async def expire(host, seen, writer):
        issuer.expire()
        return await answer({"activationId": ID}, 202)(host, seen, writer)

    host.on("POST", WHERE, expire, bearer=issuer)
    host.on("GET", at, answer(record(0, {"n": 1})), bearer=issuer)

    assert (await run(whisk(host), secrets=secrets)).outcome == Success({"n": 1})
    assert issuer.asked == 2


async def test_openwhisks_check_reads_the_action(host):
    host.on("GET", WHERE, answer({"name": "fn"}), answer(None, 404))

    assert await check(whisk(host)) == "the action is there"
    assert (await check(whisk(host))).code == "NotFound"
    assert (await check(whisk(host, host="http://127.0.0.1:1"))).code == "Unavailable"
