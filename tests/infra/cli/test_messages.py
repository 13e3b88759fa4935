"""`xingqiao execution tell` and `messages`, against a real server."""

from __future__ import annotations

import pytest

from tests.infra.cli.test_executions import stands
from xingqiao import composer
from xingqiao.composer import any_of, receive

UNKNOWN = "0" * 32


@pytest.fixture
def waiting(xingqiao, composition):
    """An execution that waits for `yes` or `no`."""
    name = composition("msg_wait", receive(any_of("yes", "no")))
    id = xingqiao("invoke", name, "--json").json["activationId"]
    stands(xingqiao, id, "running", "message")
    return id


def test_one_that_waits_is_shown_and_told(xingqiao, waiting):
    shown = xingqiao("execution", "get", waiting).out

    told = xingqiao("execution", "tell", waiting, "yes", "-p", "by", "anna")

    assert "(yes or no)" in shown
    assert f"xingqiao execution tell {waiting} NAME" in shown
    assert told.out == f"✓ {waiting} is told yes\n"
    stands(xingqiao, waiting, "succeeded")
    assert xingqiao("activation", "result", waiting).json == {"yes": {"by": "anna"}}
    timeline = xingqiao("execution", "history", waiting).out
    assert "told yes" in timeline
    assert "received" in timeline


def test_undelivered_messages_are_listed(xingqiao, waiting):
    xingqiao("execution", "tell", waiting, "other", "--payload", "[1, 2]", "--message-id", "m")
    again = xingqiao("execution", "tell", waiting, "other", "--message-id", "m")

    table = xingqiao("execution", "messages", waiting).out.splitlines()
    listed = xingqiao("execution", "messages", waiting, "--json").json

    assert again.out == f"✓ {waiting} was told this message before\n"
    assert table[0].split() == ["entry", "name", "id", "payload"]
    assert table[1].split() == ["2", "other", "m", "[1,", "2]"]
    assert listed == [{"seq": 2, "name": "other", "id": "m", "payload": [1, 2]}]


def test_a_message_starts_an_execution(xingqiao, composition):
    name = composition("msg_start", composer.sequence(receive("go"), receive("more")))

    began = xingqiao("execution", "tell", "msg-7", "go", "--start", name, "--input", "n", "1")
    told = xingqiao("execution", "tell", "msg-7", "more", "-p", "n", "2", "--start", name, "--json")

    assert "msg-7 has started as" in began.out
    assert told.json["started"] is False
    stands(xingqiao, told.json["executionId"], "succeeded")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--payload", "{"), "--payload: this is not JSON"),
        (("--payload", "1", "-p", "n", "1"), "give either --payload or parameters"),
        (("--input", "n", "1"), "give --start, too"),
    ],
)
def test_wrong_use_is_refused(xingqiao, options, text):
    ended = xingqiao("execution", "tell", UNKNOWN, "go", *options)

    assert ended.code == 2
    assert text in ended.err


def test_one_that_never_was_is_refused(xingqiao):
    assert xingqiao("execution", "tell", UNKNOWN, "go").code != 0
    assert xingqiao("execution", "messages", UNKNOWN).code != 0
