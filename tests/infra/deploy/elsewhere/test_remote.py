"""Steps of a bundle on other clouds: a hosted conductor, the adapters' requests, and a strict host that answers."""

from __future__ import annotations

import json

import pytest

from tests.kit.deploy.hosts import Host, result
from tests.rigs.answers import accepted, always, answer, cut, throttled
from tests.rigs.strict_host import strict_host
from xingqiao import adapters, composer
from xingqiao.infra.deploy.elsewhere import AMBIENT, variable_of
from xingqiao.infra.deploy.elsewhere.remote import RemoteAction

ACTIVATION = "0" * 31 + "7"
RECORD = {
    "activationId": ACTIVATION,
    "response": {"success": True, "statusCode": 0, "result": {"n": 2}},
}
WHISK = "/api/v1/namespaces/_"
LONG_MS = 3_600_000


@pytest.fixture
def elsewhere(monkeypatch):
    monkeypatch.setenv("XINGQIAO_EGRESS_ALLOW", "127.0.0.1")
    monkeypatch.setenv(
        "XINGQIAO_SECRET_mine", json.dumps({"type": "bearer", "token": "t0ken-of-tests"})
    )
    with strict_host() as host:
        yield host


class Cloud(Host):
    """A bundle of one step, which is a function elsewhere."""

    def __init__(self, exec, *, repeatable=False, composition=None, timeout_ms=LONG_MS):
        settings = {"far": {"timeout_ms": timeout_ms, "at_most_once": not repeatable}}
        super().__init__(composition or composer.sequence("far"), {"far": None}, settings=settings)
        exec.setdefault("retry", {"attempts": 3, "delay_ms": 1000})
        doc = {"exec": exec, "repeatable": repeatable}
        self.actions["/_/far"] = RemoteAction(doc, self.clock, 60_000)


def http(host, **options):
    return {"kind": "http", "function": f"{host.url}/charge", **options}


def whisk(host, **options):
    return {"kind": "openwhisk:action", "function": "hello", "host": host.url, **options}


def test_a_function_elsewhere_is_a_step(elsewhere):
    bearer = {"authorization": "Bearer t0ken-of-tests"}
    elsewhere.on("POST", "/charge", answer({"paid": True}), needs=bearer)

    seen = Cloud(http(elsewhere, credentials="mine")).run({"n": 1})

    assert result(seen) == ("succeeded", {"paid": True})
    (request,) = elsewhere.requests
    assert request.json() == {"n": 1}
    assert request.headers["traceparent"].split("-")[1] == seen["executionId"]


def test_every_attempt_has_one_key(elsewhere):
    elsewhere.on("POST", "/charge", throttled(2), cut(), answer({"paid": True}))

    assert result(Cloud(http(elsewhere), repeatable=True).run()) == ("succeeded", {"paid": True})
    assert len({request.headers["idempotency-key"] for request in elsewhere.requests}) == 1


def test_a_function_that_may_have_run_is_not_invoked_again(elsewhere):
    elsewhere.on("POST", "/charge", throttled(1), cut())

    status, error = result(Cloud(http(elsewhere)).run())

    assert (status, error["error"]["code"]) == ("failed", "Lost")


def test_a_failure_has_its_code(elsewhere):
    elsewhere.on("POST", "/charge", answer({"error": "broke"}, status=403))
    handled = composer.do("far", composer.literal({"handled": True}), errors="Permission")

    assert result(Cloud(http(elsewhere), composition=handled).run())[1] == {"handled": True}


def test_an_accepted_run_is_polled_and_nobody_waits(elsewhere):
    elsewhere.on("POST", f"{WHISK}/actions/hello", answer({"activationId": ACTIVATION}, status=202))
    missing = answer({"error": "not yet"}, status=404)
    elsewhere.on("GET", f"{WHISK}/activations/{ACTIVATION}", missing, missing, answer(RECORD))
    cloud = Cloud(whisk(elsewhere))

    began_ms = cloud.clock.ms
    assert result(cloud.run({"n": 1})) == ("succeeded", {"n": 2})

    assert [request.method for request in elsewhere.requests] == ["POST", "GET", "GET", "GET"]
    assert cloud.clock.ms - began_ms >= 3_000
    assert [params for _, params in cloud.invocations] == [{"n": 1}, {}, {}, {}]


def test_a_function_on_azure_is_polled_where_its_202_says(elsewhere):
    elsewhere.on("POST", "/api/label", accepted("/status/1?code=secret"))
    elsewhere.on("GET", "/status/1", answer(None, status=202), answer({"label": 9}))
    exec = {"kind": "azure:function", "function": "label", "host": elsewhere.url}

    assert result(Cloud(exec).run()) == ("succeeded", {"label": 9})


def test_a_run_that_takes_too_long_is_stopped(elsewhere):
    elsewhere.on("POST", f"{WHISK}/actions/hello", answer({"activationId": ACTIVATION}, status=202))
    path = f"{WHISK}/activations/{ACTIVATION}"
    elsewhere.on("GET", path, always(answer({"error": "not yet"}, status=404)))
    elsewhere.on("DELETE", path, answer({}))

    status, error = result(Cloud(whisk(elsewhere), timeout_ms=60_000).run())

    assert (status, error["error"]["code"]) == ("failed", "Timeout")
    assert elsewhere.requests[-1].method == "DELETE"


def test_a_run_is_stopped_when_its_execution_has_ended(elsewhere):
    elsewhere.on("POST", f"{WHISK}/actions/hello", answer({"activationId": ACTIVATION}, status=202))
    path = f"{WHISK}/activations/{ACTIVATION}"
    elsewhere.on("GET", path, always(answer({"error": "not yet"}, status=404)))
    elsewhere.on("DELETE", path, answer({}))
    cloud = Cloud(whisk(elsewhere), composition=composer.timeout(5, "far"))

    assert result(cloud.run())[0] == "failed"

    assert [request.method for request in elsewhere.requests].count("DELETE") == 1
    assert elsewhere.requests[-1].method == "DELETE"


@pytest.mark.parametrize("secret", [None, "{}", "no colon"])
def test_a_secret_that_cannot_be_used_says_what_to_set(elsewhere, monkeypatch, secret):
    monkeypatch.delenv("XINGQIAO_SECRET_mine")
    if secret is not None:
        monkeypatch.setenv("XINGQIAO_SECRET_mine", secret)

    status, error = result(Cloud(http(elsewhere, credentials="mine")).run())

    assert (status, error["error"]["code"]) == ("failed", "Permission")
    assert "set XINGQIAO_SECRET_mine" in error["error"]["message"]
    assert elsewhere.requests == []


def test_a_secret_goes_over_tls_only(elsewhere, monkeypatch):
    monkeypatch.delenv("XINGQIAO_EGRESS_ALLOW")

    _, error = result(Cloud(http(elsewhere, credentials="mine")).run())

    assert "a secret is sent over TLS only" in error["error"]["message"]
    assert "t0ken" not in json.dumps(error)
    assert elsewhere.requests == []


def test_a_text_is_a_secret_for_basic_authentication(elsewhere, monkeypatch):
    monkeypatch.setenv("XINGQIAO_SECRET_mine", "id:key")
    elsewhere.on("POST", "/charge", answer({}), needs={"authorization": "Basic aWQ6a2V5"})

    assert result(Cloud(http(elsewhere, credentials="mine")).run()) == ("succeeded", {})


def test_the_variable_of_a_secret_is_one_that_clouds_allow():
    assert variable_of("a.b-c") == "XINGQIAO_SECRET_a_b_c"


def test_the_servers_own_credentials_have_one_name():
    assert adapters.AMBIENT == AMBIENT
