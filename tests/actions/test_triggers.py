"""What firing a trigger writes down."""

from __future__ import annotations

import json

from tests.kit.actions.things import named
from xingqiao.actions import Rule, Trigger, about_trigger, closed_trigger, fired, not_fired, record
from xingqiao.actions.ports import ActivationRow

RULE = Rule(named("r"), trigger=named("t"), action=named("/guest/p/a"))


def test_a_line_says_which_rule_invoked_what():
    assert json.loads(fired(RULE, "a" * 32)) == {
        "statusCode": 0, "success": True, "activationId": "a" * 32,
        "rule": "guest/r", "action": "guest/p/a",
    }  # fmt: skip


def test_a_line_says_why_nothing_was_invoked():
    assert json.loads(not_fired(RULE, "it is gone")) == {
        "statusCode": 1, "success": False, "error": "it is gone",
        "rule": "guest/r", "action": "guest/p/a",
    }  # fmt: skip


def test_its_record_has_no_end():
    row = ActivationRow("a" * 32, "guest", "t", 5, 0, None, b"", "trigger")
    trigger = Trigger(named("t"), version="0.0.7")

    made = record(row, about_trigger(trigger), closed_trigger(["line"]))

    assert (made["name"], made["version"], made["start"], made["logs"]) == (
        "t",
        "0.0.7",
        5,
        ["line"],
    )
    assert {"end", "duration", "cause"}.isdisjoint(made)
    assert made["annotations"] == []
