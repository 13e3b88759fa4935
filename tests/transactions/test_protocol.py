"""Messages to an entity: which are read, and what is wrong with the others."""

from __future__ import annotations

import pytest

from tests.kit.transactions.entity import LOOK, of
from xingqiao.transactions import (
    MessageError,
    key_of,
    parsed,
    whole,
)
from xingqiao.transactions.protocol import MAX_KEY, MAX_OPERATIONS

FINE = {"key": "k", "operation": "o"}


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({}, "'key' must be a string of 1 to 512"),
        ({"key": ""}, "'key' must be"),
        ({"key": "a\n"}, "'key' must be"),
        ({"key": "x" * (MAX_KEY + 1)}, "'key' must be"),
        ({"key": "k"}, "'operation' must be the name of an operation"),
        ({"key": "k", "operation": "upgrade"}, "the server calls it when it is due"),
        ({**FINE, "params": [1]}, "'params' must be an object"),
        ({**FINE, "expected_version": -1}, "'expected_version' must be a whole number, 0"),
        ({**FINE, "expected_version": True}, "'expected_version' must be"),
        ({**FINE, "by": 7}, "'by' must be a string"),
        ({**FINE, "token": "x" * (MAX_KEY + 1)}, "'token' must be a string"),
        ({**FINE, "transaction": 1}, "'transaction' must be an object"),
        ({**FINE, "transaction": {"deadline": 1}}, "'transaction.id' must be a string"),
        ({**FINE, "transaction": {"id": "t"}}, "'transaction.deadline' must be"),
        ({**FINE, **of("t", "dance")}, "'transaction.kind' must be work, prepare"),
        ({**FINE, **of("t", "work", 0)}, "'transaction.number' must be a whole number, 1"),
        ({**FINE, **of("t", "work", 1, order="first")}, "'transaction.order' must be"),
        ({**FINE, **of("t", "work", 1, epoch=-1)}, "'transaction.epoch' must be"),
        ({**FINE, **of("t", "work", 1, started="x")}, "'transaction.started' must be"),
        ({"key": "k", "operations": [], **of("t", "prepare")}, "a list of 1 to 1000"),
        ({"key": "k", "operations": [1], **of("t", "prepare")}, "'operations' must be objects"),
        ({"key": "k", "operations": [LOOK] * (MAX_OPERATIONS + 1), **of("t", "prepare")}, "1 to 1000"),
    ],
)  # fmt: skip
def test_a_message_that_is_malformed_is_refused(message, why):
    with pytest.raises(MessageError, match=why):
        parsed({**message, "key": key_of(message)})


def test_a_message_at_its_limits_is_not():
    assert key_of({"key": "x" * MAX_KEY}) == "x" * MAX_KEY
    assert parsed({**FINE, "token": "x" * MAX_KEY, "expected_version": 0})
    assert parsed({"operations": [LOOK] * MAX_OPERATIONS, **of("t", "prepare")})
    assert parsed({"key": "星桥", "operation": "o", "params": None}).call.params == {}


SHARE = {"action": "/_/account", "key": "k", "operations": [LOOK]}


def whole_of(*participants):
    return {**of("t", "transact"), "participants": list(participants)}


def test_a_whole_transaction_names_its_participants_and_their_calls():
    transaction, shares = whole(whole_of(SHARE, {"action": "/_/b", "key": "k", "number": 2}))

    assert (transaction.id, transaction.started_ms) == ("t", 5)
    assert [(one.action, one.key, one.number) for one in shares] == [
        ("/_/account", "k", 0), ("/_/b", "k", 2),
    ]  # fmt: skip
    assert shares[0].calls[0].operation == "look"
    assert shares[1].calls is None


@pytest.mark.parametrize("message", [
    {}, {**FINE}, {"transaction": 7}, {**of("t", "work", 1), "participants": [SHARE]},
])  # fmt: skip
def test_other_messages_are_not_whole_transactions(message):
    assert whole(message) is None


@pytest.mark.parametrize(("message", "why"), [
    (of("t", "transact"), "'participants' must be a list of at least one"),
    (whole_of(), "'participants' must be a list of at least one"),
    (whole_of(7), "'participants' must be objects"),
    (whole_of({**SHARE, "action": ""}), "'action' must be a string"),
    (whole_of({**SHARE, "key": 7}), "'key' must be a string"),
    (whole_of({**SHARE, "operations": []}), "'operations' must be a list of 1"),
    (whole_of({"action": "a", "key": "k"}), "'number' must be a whole number, 1"),
    ({**whole_of(SHARE), "transaction": {"kind": "transact"}}, "'transaction.id' must be"),
])  # fmt: skip
def test_a_whole_transaction_that_is_malformed_is_refused(message, why):
    with pytest.raises(MessageError, match=why):
        whole(message)


def test_no_entity_takes_a_whole_transaction_as_a_message():
    with pytest.raises(MessageError, match=r"'transaction\.kind' must be work"):
        parsed({"key": "k", **whole_of(SHARE)})
