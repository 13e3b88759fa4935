"""`xingqiao dead-letter ...`, against a real server."""

from __future__ import annotations

import pytest

from tests.kit.infra.servers import DEADLINE_S

UNKNOWN = "0" * 32
DIES = "import os\ndef main(params):\n    os._exit(1)\n"
ECHO = "def main(params):\n    return params\n"


def put(server, code):
    with server.client() as client:
        body = {"exec": {"kind": "python:3", "code": code}}
        answer = client.put("/actions/le_dies", params={"overwrite": True}, json=body)
        assert answer.status_code == 200


@pytest.fixture
def letter(server, xingqiao):
    """A dead letter. Returns its id."""
    put(server, DIES)
    id = xingqiao("invoke", "le_dies", "-p", "n", "1", "--json").json["activationId"]
    with server.client() as client:
        client.get(f"/activations/{id}", params={"wait": DEADLINE_S * 1000})
    (found,) = xingqiao("dead-letter", "list", "--json").json
    yield found["id"]
    xingqiao("dead-letter", "delete", found["id"])


def test_they_are_listed_and_shown(xingqiao, letter):
    listed = xingqiao("dead-letter", "list")
    shown = xingqiao("dead-letter", "get", letter)

    assert listed.out.splitlines()[0].split() == [
        "at", "dead", "letter", "kind", "target", "error", "attempts",
    ]  # fmt: skip
    assert letter in listed.out
    assert "/guest/le_dies" in listed.out
    assert shown.json["params"] == {"n": 1}


def test_one_is_sent_again(server, xingqiao, letter):
    put(server, ECHO)

    ended = xingqiao("dead-letter", "retry", letter)

    assert ended.out.startswith(f"✓ dead letter {letter} is retried: activation ")
    id = ended.out.split()[-1]
    with server.client() as client:
        record = client.get(f"/activations/{id}", params={"wait": DEADLINE_S * 1000}).json()
    assert record["response"]["result"] == {"n": 1}
    assert xingqiao("dead-letter", "list").out == "there are no dead letters\n"


def test_one_is_deleted(xingqiao, letter):
    assert xingqiao("dead-letter", "delete", letter).out == f"✓ dead letter {letter} is deleted\n"
    assert xingqiao("dead-letter", "list", "--json").json == []


@pytest.mark.parametrize("verb", ["get", "retry", "delete"])
def test_one_that_is_not_there_is_an_error(xingqiao, verb):
    ended = xingqiao("dead-letter", verb, UNKNOWN)

    assert ended.code == 5
    assert "The requested resource does not exist. (404)" in ended.err
