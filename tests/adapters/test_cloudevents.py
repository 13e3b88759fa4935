"""Events: how they are sent, and what answers them."""

from __future__ import annotations

import json

import pytest

from tests.kit.adapters.asking import run
from tests.rigs.answers import answer
from xingqiao.composer import Success

pytestmark = pytest.mark.usefixtures("no_secret_is_shown")


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
