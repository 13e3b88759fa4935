"""What the strict host plays, and what it notices; the adapters' tests rely on both."""

from __future__ import annotations

import email.utils
import json
import socket
import threading
import time
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding

from tests.rigs.answers import (
    METADATA,
    accepted,
    always,
    answer,
    broken_json,
    cut,
    held,
    oversized,
    redirect,
    throttled,
    truncated,
)
from tests.rigs.durable import ROOT, Durable
from tests.rigs.issuers import Entra, Google, IbmIam
from tests.rigs.strict_host import strict_host


@pytest.fixture
def host():
    with strict_host() as made:
        yield made


@pytest.fixture
def http(host):
    with httpx.Client(base_url=host.url, timeout=10) as client:
        yield client


def raw(host, text):
    """Sends bytes as they are. Returns what comes back until the end."""
    address = urlsplit(host.url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(text.encode().replace(b"HOST", address.netloc.encode()))
        connection.shutdown(socket.SHUT_WR)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


# --- requests ------------------------------------------------------------------------------------


def test_a_request_is_recorded_as_it_came(host, http):
    host.on("POST", "/api/a%20b", answer())

    http.post("/api/a%20b?x=1&y=", json={"n": 1}, headers={"Idempotency-Key": "k"})

    (seen,) = host.requests
    assert (seen.method, seen.path, seen.query) == ("POST", "/api/a%20b", {"x": "1", "y": ""})
    assert (seen.headers["idempotency-key"], seen.json()) == ("k", {"n": 1})


def test_a_script_is_played_once_and_what_goes_on_is_a_failure(http, host):
    host.on("GET", "/", answer({"n": 1}), answer({"n": 2}))

    assert [http.get("/").json() for _ in range(2)] == [{"n": 1}, {"n": 2}]
    assert http.get("/").status_code == 501
    assert host.complaints == ["GET / is not in the script"]
    host.complaints.clear()


def test_a_complaint_fails_the_test():
    with pytest.raises(AssertionError, match="GET /nowhere is not in the script"), strict_host() as host:  # fmt: skip
        httpx.get(f"{host.url}/nowhere")


def test_always_is_for_ever(http, host):
    host.on("GET", "/", answer({"n": 1}), always(answer({"n": 2})))

    assert [http.get("/").json()["n"] for _ in range(4)] == [1, 2, 2, 2]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("GET / HTTP/1.1\r\nHost: elsewhere\r\n\r\n", "Host"),
        ("GET / HTTP/1.0\r\nHost: HOST\r\n\r\n", "HTTP/1.0"),
        ("get / HTTP/1.1\r\nHost: HOST\r\n\r\n", "no request line"),
        ("GET / HTTP/1.1\r\nHost: HOST\r\nContent-Length: -1\r\n\r\n", "Content-Length"),
        ("GET / HTTP/1.1\r\nHost: HOST\r\nA: " + "1" * 70_000 + "\r\n\r\n", "longer than"),
        ("GET / HTTP/1.1\r\nHost: HOST\r\nA: 1\r\na: 2\r\n\r\n", "a is sent twice"),
        ("GET / HTTP/1.1\r\nHost: HOST\r\nA: \x07\r\n\r\n", "A holds"),
        ("GET / HTTP/1.1\r\nHost: HOST\r\nno header\r\n\r\n", "no header"),
        ("POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 1\r\n\r\n1", "without Content-Type"),
        ("GET / HTTP/1.1\r\nHost: HOST\r\ntraceparent: 00-1-2-3\r\n\r\n", "traceparent"),
        ("GET / HTTP/1.1\r\nHost: HOST\r\nIdempotency-Key:\r\n\r\n", "Idempotency-Key"),
        (
            (
                "POST / HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n"
                "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n\r\n"
            ),
            "not the JSON",
        ),
    ],
)
def test_what_breaks_the_rules_is_refused_and_noticed(host, text, complaint):
    assert raw(host, text).startswith(b"HTTP/1.1 400 ")
    assert complaint in host.complaints.pop()
    assert host.requests == []


def test_a_host_has_the_names_that_it_is_given():
    with strict_host("function.test") as host:
        host.on("GET", "/", answer())
        named = {"Host": host.url.partition("//")[2].replace("127.0.0.1", "function.test")}

        assert httpx.get(host.url, headers=named).status_code == 200


def test_head_has_no_body(host, http):
    host.on("HEAD", "/", answer({"n": 1}), answer({"n": 2}))

    assert [http.head("/").headers["content-length"] for _ in range(2)] == ["8", "8"]


@pytest.mark.parametrize(
    ("query", "headers", "status"),
    [("?code=c", {"x-key": "k"}, 200), ("?code=d", {"x-key": "k"}, 401), ("?code=c", {}, 401)],
)
def test_what_a_route_needs_is_checked(host, http, query, headers, status):
    host.on("GET", "/", always(answer()), needs={"x-key": "k", "?code": "c"})

    assert http.get(f"/{query}", headers=headers).status_code == status


# --- answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "kind", "body"),
    [
        ({"a": 1}, "application/json", b'{"a": 1}'),
        ("text", "text/plain; charset=utf-8", b"text"),
        (b"\x00\xff", "application/octet-stream", b"\x00\xff"),
        (None, None, b""),
    ],
)
def test_an_answer_is_what_its_value_is(host, http, value, kind, body):
    host.on("GET", "/", answer(value, 418))

    found = http.get("/")

    assert (found.status_code, found.headers.get("content-type"), found.content) == (
        418,
        kind,
        body,
    )


def test_throttled_says_when_in_seconds_or_as_a_date(host, http):
    then = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    host.on("GET", "/", throttled(7), throttled(then, status=503), throttled())

    seconds, date, nothing = (http.get("/") for _ in range(3))

    assert (seconds.status_code, seconds.headers["retry-after"]) == (429, "7")
    assert date.status_code == 503
    assert email.utils.parsedate_to_datetime(date.headers["retry-after"]) == then
    assert "retry-after" not in nothing.headers


def test_accepted_is_polled_until_it_is_done(host, http):
    host.on("POST", "/start", accepted("/status", retry_after=0))
    host.on("GET", "/status", accepted("/status"), accepted("/status"), answer({"done": True}))

    location = http.post("/start").headers["location"]
    statuses = [http.get(location).status_code for _ in range(3)]

    assert (location, statuses) == (f"{host.url}/status", [202, 202, 200])


def test_broken_and_truncated_bodies(host, http):
    host.on("GET", "/", broken_json(), truncated())

    with pytest.raises(ValueError, match="Expecting value"):
        http.get("/").json()
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete"):
        http.get("/")


def test_a_connection_is_cut_after_the_request_was_read(host, http):
    host.on("GET", "/", cut(), answer())

    with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
        http.get("/")

    assert len(host.requests) == 1
    assert http.get("/").status_code == 200


def test_connections_are_cut_before_the_request_was_read(host, http):
    host.on("GET", "/", answer(), answer())
    http.get("/")

    host.cut_unread(2)
    for _ in range(2):
        with pytest.raises(httpx.TransportError):
            http.get("/")

    assert len(host.requests) == 1
    assert http.get("/").status_code == 200


@pytest.mark.parametrize("part", ["headers", "body"])
def test_an_answer_is_held_until_it_is_released(host, http, part):
    holding, found = held({"n": 1}, part=part), []
    host.on("GET", "/", holding)
    asking = threading.Thread(target=lambda: found.append(http.get("/").json()))

    asking.start()
    assert holding.reached.wait(10)
    assert found == []
    holding.release()
    asking.join()

    assert found == [{"n": 1}]


def test_a_host_ends_while_it_holds_an_answer():
    with strict_host() as host:
        holding = held(part="body")
        host.on("GET", "/", holding)
        asking = threading.Thread(target=lambda: raw(host, "GET / HTTP/1.1\r\nHost: HOST\r\n\r\n"))
        asking.start()
        assert holding.reached.wait(10)

    asking.join(10)
    assert not asking.is_alive()


@pytest.mark.parametrize("told", [True, False])
def test_oversized_bodies_are_as_long_as_they_say(host, http, told):
    host.on("GET", "/", oversized(200_000, told=told))

    found = http.get("/")

    assert (len(found.content), len(found.json())) == (200_000, 199_998)
    assert ("content-length" in found.headers) == told


def test_redirects_lead_here_there_and_to_where_none_may_go(host, http):
    with strict_host() as other:
        host.on("GET", "/", redirect("/b"), redirect(f"{other.url}/c", 307), redirect(METADATA))

        assert [http.get("/").headers["location"] for _ in range(3)] == [
            f"{host.url}/b", f"{other.url}/c", METADATA,
        ]  # fmt: skip


# --- tokens --------------------------------------------------------------------------------------


def test_entra_issues_to_the_right_secret_only(host, http):
    entra = Entra(host, tenant="t", client="c", secret="s", scope="api://app/.default")
    form = {"grant_type": "client_credentials", "client_id": "c", "scope": "api://app/.default"}

    wrong = http.post(entra.url, data={**form, "client_secret": "x"})
    right = http.post(entra.url, data={**form, "client_secret": "s"})

    assert (wrong.status_code, wrong.json()["error"]) == (401, "invalid_client")
    assert right.json()["expires_in"] == 3600
    assert entra.issued == [right.json()["access_token"]]
    assert entra.asked == 2


def test_iam_issues_to_the_right_key_only(host, http):
    iam = IbmIam(host, key="k", expires_in_s=60)
    form = {"grant_type": "urn:ibm:params:oauth:grant-type:apikey"}

    wrong = http.post(iam.url, data={**form, "apikey": "x"})
    right = http.post(iam.url, data={**form, "apikey": "k"})

    assert (wrong.status_code, wrong.json()["errorCode"]) == (400, "BXNIM0415E")
    assert (right.json()["token_type"], right.json()["expires_in"]) == ("Bearer", 60)


def test_an_expired_token_is_401_and_a_new_one_is_fine(host, http):
    iam = IbmIam(host, key="k")
    host.on("GET", "/", always(answer({"n": 1})), bearer=iam)
    form = {"grant_type": "urn:ibm:params:oauth:grant-type:apikey", "apikey": "k"}

    def ask(token):
        return http.get("/", headers={"Authorization": f"Bearer {token}"})

    old = http.post(iam.url, data=form).json()["access_token"]
    assert (ask(old).status_code, ask("forged").status_code) == (200, 401)

    iam.expire()
    refused = ask(old)
    new = http.post(iam.url, data=form).json()["access_token"]

    assert (refused.status_code, ask(new).status_code, iam.asked) == (401, 200, 2)
    assert refused.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    assert http.get("/").status_code == 401


def signed(account, **changes):
    """An assertion as a service account signs it."""
    now = int(time.time())
    claims = {
        "iss": account["client_email"], "aud": account["token_uri"], "iat": now,
        "exp": now + 3600, "target_audience": "https://f", **changes,
    }  # fmt: skip
    parts = [{"alg": "RS256", "kid": account["private_key_id"]}, claims]
    text = ".".join(urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts)
    key = serialization.load_pem_private_key(account["private_key"].encode(), None)
    signature = key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{text}.{urlsafe_b64encode(signature).decode().rstrip('=')}"


def test_google_checks_the_assertion(host, http):
    google = Google(host, audience="https://f")
    host.on("GET", "/", always(answer()), bearer=google)

    def grant(assertion):
        kind = "urn:ietf:params:oauth:grant-type:jwt-bearer"
        return http.post(google.url, data={"grant_type": kind, "assertion": assertion})

    token = grant(signed(google.account)).json()["id_token"]

    assert http.get("/", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    for assertion, reason in (
        ("a.b.c", "Invalid JWT Signature."),
        (signed(google.account)[:-8] + "AAAAAAAA", "Invalid JWT Signature."),
        (signed(google.account, aud="https://g"), "aud is not the token's URL"),
        (signed(google.account, iat=1, exp=2), "iat and exp are not of now"),
        (signed(google.account, target_audience="https://g"), "target_audience is not"),
    ):
        refused = grant(assertion)
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")
        assert refused.json()["error_description"].startswith(reason)


# --- Durable Functions ---------------------------------------------------------------------------


def test_an_orchestration_is_started_polled_and_done(host, http):
    durable = Durable(host, key="secret")
    durable.expect("count", output=[1, 2], polls=2)
    host.on("POST", "/api/start", durable.starter("count", "i1"))

    uris = http.post("/api/start", json={"to": 2})
    polled = [http.get(uris.json()["statusQueryGetUri"]) for _ in range(3)]

    assert (uris.status_code, uris.json()["id"]) == (202, "i1")
    assert uris.headers["location"] == uris.json()["statusQueryGetUri"]
    assert parse_qs(urlsplit(uris.headers["location"]).query)["code"] == ["secret"]
    assert [found.status_code for found in polled] == [202, 202, 200]
    assert polled[0].headers["location"] == uris.headers["location"]
    states = [found.json()["runtimeStatus"] for found in polled]
    assert states == ["Running", "Running", "Completed"]
    assert (polled[2].json()["input"], polled[2].json()["output"]) == ({"to": 2}, [1, 2])


def test_a_failed_orchestration_is_200_unless_it_is_asked_otherwise(host, http):
    durable = Durable(host)
    durable.expect("fails", output="why", polls=0, ends="Failed")

    uri = http.post(f"{ROOT}/orchestrators/fails?code=a-system-key").json()["statusQueryGetUri"]

    assert (http.get(uri).status_code, http.get(uri).json()["runtimeStatus"]) == (200, "Failed")
    assert http.get(f"{uri}&returnInternalServerErrorOnFailure=true").status_code == 500


def test_an_orchestration_waits_for_its_event(host, http):
    durable = Durable(host)
    durable.expect("asks", output="yes", polls=0, awaits="approval")
    uris = http.post(f"{ROOT}/orchestrators/asks/i1?code=a-system-key").json()

    waiting = http.get(uris["statusQueryGetUri"]).status_code
    raised = http.post(uris["sendEventPostUri"].replace("{eventName}", "approval"), json={"by": 1})

    assert (waiting, raised.status_code) == (202, 202)
    assert http.get(uris["statusQueryGetUri"]).json()["output"] == "yes"
    assert durable.instances["i1"].events == [("approval", {"by": 1})]
    assert http.post(f"{ROOT}/instances/i1/raiseEvent/more?code=a-system-key").status_code == 410


def test_an_orchestration_is_terminated(host, http):
    durable = Durable(host)
    durable.expect("long", polls=99)
    uris = http.post(f"{ROOT}/orchestrators/long/i1?code=a-system-key").json()

    again = http.post(f"{ROOT}/orchestrators/long/i1?code=a-system-key").status_code
    ended = http.post(uris["terminatePostUri"].replace("{text}", "enough")).status_code

    assert (again, ended) == (409, 202)
    found = http.get(uris["statusQueryGetUri"]).json()
    assert (found["runtimeStatus"], found["output"]) == ("Terminated", "enough")


def test_durable_functions_need_their_key_and_know_what_is_there(host, http):
    Durable(host)

    key = {"x-functions-key": "a-system-key"}
    assert http.get(f"{ROOT}/instances/i1").status_code == 401
    assert http.get(f"{ROOT}/instances/i1?code=wrong").status_code == 401
    assert http.get(f"{ROOT}/instances/i1", headers=key).status_code == 404
    assert http.post(f"{ROOT}/orchestrators/none", headers=key).status_code == 404
