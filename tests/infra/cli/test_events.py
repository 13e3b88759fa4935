"""`xingqiao event ...`, against a real server."""

from __future__ import annotations

import io
import json
import sys

import pytest

from tests.kit.infra.commands import ok

LEAST = {"specversion": "1.0", "id": "1", "source": "/cli", "type": "ev.told"}


@pytest.fixture
def heard(server, action, xingqiao):
    """A type of CloudEvents that a trigger with a rule hears, each test its own."""

    def make(type, *, rule=True):
        name = action(f"{type}_work")
        with server.client() as http:
            filter = {"filter": {"exact": {"type": type}}}
            assert http.put(f"/triggers/{type}", json=filter).status_code == 200
        if rule:
            ok(xingqiao("rule", "create", f"{type}_rule", type, name))
        return type

    return make


def test_a_described_event_fires_its_trigger(xingqiao, heard):
    type = heard("ev_described")

    sent = ok(xingqiao("event", "send", "--type", type, "--source", "/cli", "--data", '{"n": 1}', "--id", "7",
                       "--subject", "a b", "--ext", "partitionkey", "007", "--wait", "--json")).json  # fmt: skip
    shown = ok(xingqiao("event", "get", *sent["keys"])).out
    told = ok(xingqiao("event", "get", *sent["keys"], "--json")).json

    assert (sent["accepted"], sent["duplicates"]) == (1, 0)
    [fired] = told["fired"]
    record = ok(xingqiao("activation", "get", fired["activationId"], "--json")).json
    assert record["response"]["result"] == {
        "n": 1,
        "__ow_event": {
            "specversion": "1.0", "id": "7", "source": "/cli", "type": type, "subject": "a b", "partitionkey": "007",
        },
    }  # fmt: skip
    assert shown.startswith(f"{sent['keys'][0]}: fired, accepted ")
    assert fired["activationId"] in shown


def test_the_second_delivery_is_told_and_another_content_is_a_failure(xingqiao):
    described = ("--type", "ev.twice", "--source", "/cli", "--id", "twice", "--data", "hello")
    first = ok(xingqiao("event", "send", *described)).out
    again = ok(xingqiao("event", "send", *described)).out
    other = xingqiao("event", "send", *described, "--subject", "x")
    as_json = xingqiao("event", "send", *described, "--subject", "x", "--json")

    assert first.startswith("✓ the CloudEvent ")
    assert first.endswith(" was accepted\n")
    assert again == first.replace("accepted\n", "accepted before\n")
    assert other.code == as_json.code == 1
    assert (
        "✗ CloudEvents: 0 accepted, 1 refused: CloudEvents with the same source and id" in other.out
    )
    assert as_json.json["conflicts"] == 1


def test_an_event_that_nobody_hears_is_unclaimed(xingqiao):
    key = ok(
        xingqiao("event", "send", "--type", "ev.nobody", "--source", "/cli", "--wait", "--json")
    ).json["keys"][0]

    assert ": unclaimed, accepted " in ok(xingqiao("event", "get", key)).out


def test_events_of_a_file_and_of_standard_input_are_sent(xingqiao, tmp_path, monkeypatch):
    file = tmp_path / "events.json"
    file.write_text(json.dumps([{**LEAST, "id": "a"}, {**LEAST, "id": "b"}, {**LEAST, "id": "a"}]))

    assert ok(xingqiao("event", "send", file)).out == "✓ CloudEvents: 2 accepted, 1 sent before\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps({**LEAST, "id": "c"})))
    assert ok(xingqiao("event", "send", "-", "--json")).json["accepted"] == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "--type: it is needed unless a FILE is given"),
        (("--type", "a"), "--source: it is needed"),
        (("none.json",), "none.json cannot be read"),
        (("bad.json",), "bad.json is not valid JSON"),
        (("nan.json",), "nan.json is not valid JSON: NaN is not a JSON value"),
        (("half.json",), "half.json is not valid JSON: the string at $.x is not Unicode text"),
        (("deep.json",), "is nested too deeply"),
        (
            ("--type", "a", "--source", "b", "--ext", "type", "c"),
            "--ext: 'type' is no extension attribute",
        ),
        (("bad.json", "--ext", "a", "b"), "--ext: give either FILE or the parts"),
        (("bad.json", "--type", "a"), "--type: give either FILE or the parts"),
    ],
)
def test_wrong_use_is_told(xingqiao, tmp_path, arguments, text):
    for name, content in (
        ("bad", "{"), ("nan", "[NaN]"), ("half", r'{"x": "\ud800"}'), ("deep", "[" * 100_000),
    ):  # fmt: skip
        (tmp_path / f"{name}.json").write_text(content)

    ended = xingqiao("event", "send", *arguments)

    assert ended.code == 2
    assert text in ended.err


def test_what_the_server_refuses_is_told(xingqiao, tmp_path):
    (tmp_path / "one.json").write_text(json.dumps([LEAST, {**LEAST, "time": "x"}]))

    refused = xingqiao("event", "send", tmp_path / "one.json")

    assert refused.code == 1
    assert "at index 1 of the batch: The attribute 'time'" in refused.err
    assert xingqiao("event", "get", "0" * 32).code == 5
