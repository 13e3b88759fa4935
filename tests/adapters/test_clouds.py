"""What each cloud says in its own words, and what that means."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import pytest

from tests.kit.actions.things import Answers, invocation
from tests.kit.adapters.asking import check, run
from tests.kit.contracts.elsewhere import SECRET, action, opened
from tests.rigs.answers import answer, cut, held, throttled
from tests.rigs.issuers import IbmIam
from xingqiao.adapters.ambient import azure as azure_identity
from xingqiao.adapters.ambient import google as google_identity
from xingqiao.adapters.credentials import CredentialsError, SecretError
from xingqiao.composer import Success
from xingqiao.infra.clock import SystemClock

pytestmark = pytest.mark.usefixtures("no_secret_is_shown")

ID = "c3" * 16


# --- openwhisk ---------------------------------------------------------------------------------


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


# --- cloudevents -------------------------------------------------------------------------------


def events(server, /, **options):
    return {"kind": "cloudevents", "function": f"{server.url}/fn", "type": "shop.order", **options}


async def test_an_event_is_sent_in_binary_mode(host):
    host.on("POST", "/fn", answer({}))

    await run(events(host, source="/a b/ü%"), {"n": 1})

    headers = host.requests[0].headers
    assert headers["ce-specversion"] == "1.0"
    assert (headers["ce-type"], headers["ce-source"]) == ("shop.order", "/a%20b/%C3%BC%25")
    assert headers["ce-id"] == headers["idempotency-key"]
    assert headers["ce-traceparent"] == headers["traceparent"]
    assert host.requests[0].json() == {"n": 1}


async def test_an_event_is_sent_in_structured_mode(host):
    host.on("POST", "/fn", answer({}))

    await run(events(host, mode="structured"), {"n": 1})

    sent = host.requests[0].json()
    assert host.requests[0].headers["content-type"] == "application/cloudevents+json"
    assert (sent["data"], sent["datacontenttype"], sent["source"]) == (
        {"n": 1},
        "application/json",
        "/xingqiao",
    )
    assert sent["time"].endswith("Z")


EVENT = {"specversion": "1.0", "id": "1", "type": "t", "source": "/s"}


@pytest.mark.parametrize(
    ("body", "kind", "outcome"),
    [
        ({**EVENT, "data": {"n": 1}}, "application/cloudevents+json", Success({"n": 1})),
        (
            {**EVENT, "data": {"n": 1}},
            "Application/CloudEvents+JSON; charset=utf-8",
            Success({"n": 1}),
        ),
        (
            {**EVENT, "data_base64": "AA=="},
            "application/cloudevents+json",
            Success({"value": "AA=="}),
        ),
        (EVENT, "application/cloudevents+json", Success({})),
        ({"n": 1}, "application/cloudevents+json", "BadResponse"),
        ([], "application/cloudevents+json", "BadResponse"),
        ({**EVENT, "data": 1}, "application/json", Success({**EVENT, "data": 1})),
    ],
)
async def test_what_answers_an_event(host, body, kind, outcome):
    said = json.dumps(body).encode()
    host.on("POST", "/fn", _as(said, kind))

    found = (await run(events(host))).outcome

    assert found == outcome or getattr(found, "code", None) == outcome


def _as(body, kind):
    async def play(host, seen, writer):
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        return True

    return play


# --- checks, mistakes, identities --------------------------------------------------------------


async def test_a_check_tells_what_is_wrong_with_a_secret(host):
    issuer = IbmIam(host, key="another")
    secrets = {"mine": {"type": "iam", "apikey": SECRET, "url": issuer.url}}
    exec = {"kind": "http", "function": f"{host.url}/fn", "credentials": "mine"}

    found = await check(exec, secrets)

    assert (found.code, found.may_have_run) == ("Permission", "no")
    assert SECRET not in str(found)
    assert (await check(exec, {})).code == "Permission"


async def test_a_key_of_aws_is_refused_by_other_clouds(host):
    secrets = {"mine": {"type": "aws", "access_key_id": "A", "secret_access_key": SECRET}}

    ended = await run(
        {"kind": "http", "function": host.url, "credentials": "mine"}, secrets=secrets
    )

    assert ended.told == ("Permission", "no")


class Mistaken:
    """An `Adapter` of ours that breaks the law."""

    cloud = "http"

    def ambient(self, target):
        return None

    async def invoke(self, request):
        raise ValueError("a mistake")

    async def stop(self, request, receipt):
        raise ValueError("another")


async def test_a_mistake_of_ours_is_an_answer_too(caplog):
    answers = Answers()
    async with opened() as invoker:
        invoker._adapters = {"http": Mistaken()}
        asked = invocation(action({"kind": "http", "function": "https://h/"}))
        answers.invoke(invoker, asked)

        completion = await answers.next()
    assert (completion.outcome.code, completion.may_have_run) == ("InternalError", "unknown")
    assert "The adapter for 'http' raised an exception" in caplog.text


async def test_who_waits_for_a_token_waits_no_longer_than_the_deadline(host):
    slow = held()
    host.on("POST", "/identity/token", slow)
    secrets = {"mine": {"type": "iam", "apikey": SECRET, "url": f"{host.url}/identity/token"}}

    ended = await run(
        {"kind": "http", "function": host.url, "credentials": "mine"},
        secrets=secrets,
        timeout_ms=1000,
    )
    slow.release()

    assert ended.told == ("Unavailable", "no")
    assert ended.completion.ended_ms - ended.completion.started_ms < 5000


class Nobody:
    """What the SDK of Azure has: a credential that cannot be had."""

    def get_token(self, scope):
        raise ValueError(f"{scope} {SECRET}")


@pytest.mark.parametrize(
    ("identity", "cloud"), [(google_identity, "Google"), (azure_identity, "Azure")]
)
async def test_what_the_server_runs_with_is_asked_of_the_sdk(monkeypatch, identity, cloud):
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere")
    sdk = ModuleType("azure.identity")
    sdk.DefaultAzureCredential = Nobody
    monkeypatch.setitem(sys.modules, "azure.identity", sdk)
    monkeypatch.setitem(sys.modules, "azure", ModuleType("azure"))
    authorizer = identity(SystemClock())("https://h/.default")

    with pytest.raises(CredentialsError) as refused:
        await authorizer.headers(None, 0)

    assert f"{cloud}'s usual chain gives this server no credentials" in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("identity", "module", "extra"),
    [
        (google_identity, "google.oauth2.id_token", "xingqiao[gcp]"),
        (azure_identity, "azure.identity", "xingqiao[azure]"),
    ],
)
def test_an_sdk_that_is_not_there_is_named(monkeypatch, identity, module, extra):
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(SecretError) as refused:
        identity(SystemClock())("https://h/.default")

    assert extra in str(refused.value)
