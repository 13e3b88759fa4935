"""Messages to an entity: which are read, and what is wrong with the others."""

from __future__ import annotations

import pytest

from tests.kit.transactions.entity import LOOK, of
from xingqiao.transactions import (
    MessageError,
    key_of,
    parsed,
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
