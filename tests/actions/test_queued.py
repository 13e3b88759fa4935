"""The `exec` of actions that workers outside poll for."""

from __future__ import annotations

import pytest

from xingqiao.actions import InvalidError, define_action, definition_from_json
from xingqiao.actions.queued import Asked, check_queue, checked_bound
from xingqiao.composer import UNBOUND, Bound, Failure, Name

NAME = Name("guest", None, "render")
TENANT = {"$path": "$.tenant"}


def made(**options):
    document = {"exec": {"kind": "queue", "queue": "gpu", **options}}
    return define_action(NAME, document, None, 0)


def test_it_is_stored_as_it_was_given():
    action = made(heartbeat=30, attempts=3, key=TENANT, concurrent=5)

    assert action.kind == "queue"
    assert action.to_json()["exec"] == {
        "kind": "queue", "queue": "gpu", "heartbeat": 30, "attempts": 3, "key": TENANT,
        "concurrent": 5, "binary": False,
    }  # fmt: skip
    assert definition_from_json(action.to_json()) == action


def test_the_defaults_hand_a_task_to_one_worker():
    queued = made().queued

    assert (queued.attempts, queued.heartbeat_ms, queued.to_start_ms) == (1, None, None)
    assert (queued.bound, queued.keyed) == (UNBOUND, False)
    assert queued.asked({}) == Asked(3, "", "")


def test_times_are_in_seconds():
    queued = made(heartbeat=0.5, to_start=60).queued

    assert (queued.heartbeat_ms, queued.to_start_ms) == (500, 60_000)


def test_a_limit_is_one_of_the_action_or_of_each_key():
    assert made(per_minute=60).queued.bound == Bound(None, 60)
    assert made(concurrent=2, key=TENANT).queued.keyed


def test_a_task_asks_for_what_its_parameters_say():
    queued = made(key=TENANT, priority={"$path": "$.p", "$default": 5}, version="v2").queued

    assert queued.asked({"tenant": "acme", "p": 1}) == Asked(1, "acme", "v2")
    assert queued.asked({"tenant": 7}) == Asked(5, "7", "v2")


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({}, "the option 'key' of the queue cannot be filled in"),
        (
            {"tenant": None},
            "the option 'key' of the queue must be a text of at most 255 characters",
        ),
        ({"tenant": "x" * 256}, "must be a text of at most 255"),
        ({"tenant": "a", "p": 0}, "the option 'priority' of the queue must be an int from 1 to 5"),
        ({"tenant": "a", "p": True}, "the option 'priority' of the queue must be an int"),
    ],
)
def test_a_task_that_asks_for_something_else_fails(params, why):
    queued = made(key=TENANT, priority={"$path": "$.p", "$default": 5}).queued

    failed = queued.asked(params)
    assert isinstance(failed, Failure)
    assert failed.code == "InvalidRequest"
    assert why in failed.message


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"queue": "a b"}, "'exec.queue' must be the name of a queue"),
        ({"queue": 5}, "'exec.queue' must be the name of a queue"),
        ({"heartbeats": 5}, "'exec.heartbeats' is not an option of 'queue', which has 'attempts'"),
        ({"heartbeat": 0}, "'exec.heartbeat' must be a number of seconds > 0"),
        ({"to_start": "5"}, "'exec.to_start' must be a number of seconds > 0"),
        ({"attempts": 101}, "'exec.attempts' must be an int from 1 to 100"),
        ({"concurrent": 0}, "'exec.concurrent' must be an int from 1 to 1000000"),
        ({"per_minute": 1.5}, "'exec.per_minute' must be an int"),
        ({"priority": 6}, "'exec.priority' must be an int from 1 to 5"),
        ({"key": ["a"]}, "'exec.key' must be a text"),
        ({"key": {"$path": "x"}}, "'exec.key' is not a template"),
        ({"version": {1: 2}}, "'exec' is not a JSON value"),
    ],
)
def test_a_malformed_option_is_refused_and_named(options, why):
    with pytest.raises(InvalidError, match="malformed") as raised:
        made(**options)
    assert why in str(raised.value)


def test_its_timeout_may_be_a_year():
    document = {"exec": {"kind": "queue", "queue": "gpu"}, "limits": {"timeout": 86_400_000}}

    assert define_action(NAME, document, None, 0).limits.timeout_ms == 86_400_000


def test_a_crash_loses_no_task_and_an_entity_is_none():
    document = {
        "exec": {"kind": "queue", "queue": "gpu"},
        "annotations": [{"key": "at-most-once", "value": True}],
    }
    assert not define_action(NAME, document, None, 0).lost_on_crash

    document["annotations"] = [{"key": "entity", "value": True}]
    with pytest.raises(InvalidError, match="an entity is code"):
        define_action(NAME, document, None, 0)


def test_limits_of_a_document_are_checked_with_their_place():
    assert checked_bound("each_key.", {"concurrent": 2}) == Bound(2, None)
    with pytest.raises(InvalidError, match=r"'each_key\.per_minute' must be an int"):
        checked_bound("each_key.", {"per_minute": "many"})


def test_the_name_of_a_queue_is_checked():
    assert check_queue("queue", "gpu-2.large@eu") == "gpu-2.large@eu"
    with pytest.raises(InvalidError, match="'queue' must be the name of a queue"):
        check_queue("queue", "")
