"""CloudEvents as their senders send them: the SDK of the project, and bytes on a socket, to a real server."""

from __future__ import annotations

import json
import secrets
import socket
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest
from cloudevents.core.bindings.http import to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent

from tests.kit.infra.servers import AUTH, running
from xingqiao.infra.client import basic

ECHO = "def main(params):\n    return params\n"
EFFECTS = {"wait": "effects"}
WHEN = datetime(2026, 11, 23, 8, 30, tzinfo=UTC)
DEADLINE_S = 30


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("data"), "--auth", AUTH, "--isolation", "none") as made:
        yield made


@pytest.fixture
def http(server):
    with server.client() as http:
        yield http


@pytest.fixture
def type(http):
    """A type of CloudEvents that fires a trigger with a rule, each test its own."""
    type = f"com.example.t{secrets.token_hex(4)}"
    echo = {"exec": {"kind": "python:3", "code": ECHO}}
    trigger = {"filter": {"exact": {"type": type}}}
    rule = {"trigger": f"/_/{type}", "action": "/_/echo"}
    assert http.put("/actions/echo?overwrite=true", json=echo).status_code == 200
    assert http.put(f"/triggers/{type}", json=trigger).status_code == 200
    assert http.put(f"/rules/{type}-rule", json=rule).status_code == 200
    return type


def given(http, key):
    """What the action of the rule was given."""
    (fired,) = http.get(f"/events/{key}").json()["fired"]
    record = http.get(f"/activations/{fired['activationId']}").json()
    (line,) = record["logs"]
    work = f"/activations/{json.loads(line)['activationId']}"
    return http.get(work, params={"wait": 30_000}).json()["response"]["result"]


@pytest.mark.parametrize("write", [to_binary_event, to_structured_event])
def test_the_sdk_sends_an_event_and_an_action_gets_it(http, type, write):
    attributes = {
        "id": f"7 of {type}", "source": "/shop", "type": type, "subject": 'Zoë "x" 100% 🌉', "time": WHEN,
        "specversion": "1.0", "datacontenttype": "application/json", "partitionkey": "a b",
    }  # fmt: skip
    message = write(CloudEvent(attributes, {"total": 5}))

    sent = http.post("/events", headers=message.headers, content=message.body, params=EFFECTS)

    assert (sent.status_code, sent.json()["accepted"]) == (202, 1), sent.text
    assert given(http, sent.json()["keys"][0]) == {
        "total": 5,
        "__ow_event": {**attributes, "time": "2026-11-23T08:30:00Z"},
    }


def test_both_modes_are_the_same_event(http, type):
    attributes = {
        "id": f"7 of {type}", "source": "/shop", "type": type, "time": WHEN, "specversion": "1.0",
        "datacontenttype": "application/json",
    }  # fmt: skip
    event = CloudEvent(attributes, {"total": 5})

    counts = []
    for write in (to_binary_event, to_structured_event):
        message = write(event)
        sent = http.post("/events", headers=message.headers, content=message.body)
        counts.append((sent.json()["accepted"], sent.json()["duplicates"]))

    assert counts == [(1, 0), (0, 1)]


def test_an_event_outlives_its_server(tmp_path):
    event = {"type": "t", "source": "/s"}
    key = {"Idempotency-Key": "k"}
    counts = []
    for _ in range(2):
        with (
            running(tmp_path, "--auth", AUTH, "--isolation", "none") as server,
            server.client() as http,
        ):
            sent = http.post("/events", params=event, content=b"1", headers=key)
            counts.append((sent.json()["accepted"], sent.json()["duplicates"]))

    assert counts == [(1, 0), (0, 1)]


@pytest.mark.parametrize(
    ("subject", "status", "text"),
    [
        (b"caf\xc3\xa9", 202, "accepted"),  # not encoded, as some senders have it
        (b'"a \\"b\\""', 202, "accepted"),
        (b"caf\xe9", 400, "The header 'ce-subject' is not UTF-8"),
        (b"a%00b", 400, "'subject'"),
        (b"a\x00b", 400, ""),  # no header may have it: it is refused before it is read
    ],
)
def test_bytes_on_a_socket_are_read_or_refused(server, type, subject, status, text):
    headers = {
        "Host": "x", "Connection": "close", "Content-Length": "0", "Authorization": basic(*AUTH.split(":")),
        "CE-SpecVersion": "1.0", "Ce-Id": secrets.token_hex(4), "ce-source": "/s", "ce-type": type,
    }  # fmt: skip
    lines = [f"{name}: {value}".encode() for name, value in headers.items()]
    lines = [b"POST /api/v1/namespaces/_/events HTTP/1.1", *lines, b"ce-subject: " + subject]

    answer = exchanged(server, b"\r\n".join([*lines, b"", b""]))

    assert answer.startswith(f"HTTP/1.1 {status} ".encode()), answer
    assert text.encode() in answer


def exchanged(server, request):
    """What the server answers to these bytes."""
    url = urlsplit(server.url)
    with socket.create_connection((url.hostname, url.port), timeout=DEADLINE_S) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def test_a_batch_of_8_mib_is_taken_and_a_larger_one_refused(http, type):
    docs = [
        {"specversion": "1.0", "id": str(id), "source": "/s", "type": "t", "data": "a" * 8_200}
        for id in range(1000)
    ]
    headers = {"Content-Type": "application/cloudevents-batch+json"}

    taken = http.post("/events", headers=headers, content=json.dumps(docs))
    refused = http.post("/events", headers=headers, content=b"[" + b" " * (8 << 20) + b"]")

    assert (taken.status_code, taken.json()["accepted"]) == (202, 1000)
    assert refused.status_code == 413


def test_a_sender_asks_first_whether_it_may_deliver(http):
    answer = http.options("/events", headers={"WebHook-Request-Origin": "sender.example.com"})

    assert answer.headers["webhook-allowed-origin"] == "sender.example.com"
