"""Actions that run elsewhere: what they are as actions, and what is told of a run."""

from __future__ import annotations

import pytest

from tests.kit.actions.least_remotes import URL, doc
from tests.kit.actions.things import invocation, named, python
from xingqiao.actions import REMOTES, Action, InvalidError, Remote, Remoted, parsed_remote
from xingqiao.actions.definitions import define_action


@pytest.mark.parametrize("kind", REMOTES)
def test_what_is_shown_can_be_read_again(kind):
    remote = parsed_remote(doc(kind, credentials="mine", retry={"attempts": 2}))

    assert parsed_remote(remote.to_json()) == remote
    assert remote.retrying.attempts == 2


# --- as an action ------------------------------------------------------------------------------


def put(exec, **fields):
    return define_action(named(), {"exec": exec, **fields}, None, 1)


def test_an_action_elsewhere_is_an_action():
    action = put(
        doc("http", credentials="mine"), annotations=[{"key": "idempotent", "value": True}]
    )

    assert action.exec == Remote("http", URL, {"credentials": "mine"})
    assert action.idempotent
    assert not action.answers_later
    assert action.to_json()["exec"] == doc("http", credentials="mine", binary=False)
    assert Action.from_json(action.to_json()) == action


@pytest.mark.parametrize(
    ("exec", "notes", "again", "once"),
    [
        (doc("http"), {}, False, True),
        (doc("http", method="PUT"), {}, False, True),
        (doc("http", method="GET"), {}, True, False),
        (doc("http"), {"idempotent": True}, True, False),
        (doc("http"), {"idempotent": True, "at-most-once": True}, True, True),
        (doc("aws:lambda"), {}, False, True),
        (doc("aws:lambda", mode="event"), {}, False, True),
        (doc("aws:lambda", mode="durable"), {}, True, False),
        (doc("aws:states"), {}, True, False),
        (doc("azure:durable"), {}, True, False),
        (doc("azure:durable", operation="raise"), {}, False, True),
        ({"kind": "python:3", "code": "def main(p): return p"}, {}, False, False),
        ({"kind": "python:3", "code": "def main(p): return p"}, {"at-most-once": True}, False, True),
    ],
)  # fmt: skip
def test_what_a_crash_may_have_sent_again(exec, notes, again, once):
    listed = [{"key": key, "value": value} for key, value in notes.items()]

    action = put(exec, annotations=listed)

    assert (action.repeatable, action.lost_on_crash) == (again, once)


@pytest.mark.parametrize(
    ("function", "options", "region"),
    [
        ("arn:aws:lambda:eu-west-1:123456789012:function:f", {}, "eu-west-1"),
        ("f", {"region": "us-east-2"}, "us-east-2"),
        ("f", {}, ""),
    ],
)
def test_where_a_function_is_on_aws_is_told_by_its_arn_or_its_options(function, options, region):
    found = put({"kind": "aws:lambda", "function": function, **options}).exec

    assert found.region == region


def test_a_lambda_that_is_sent_an_event_answers_later():
    assert put(doc("aws:lambda", mode="event")).answers_later
    assert not put(doc("aws:lambda", mode="request")).answers_later


@pytest.mark.parametrize(
    ("kind", "timeout_ms"), [("http", 366 * 24 * 3_600_000), ("gcp:function", 3_600_000)]
)
def test_an_action_elsewhere_may_take_longer_and_no_longer_than_its_cloud(kind, timeout_ms):
    limits = put(doc(kind), limits={"timeout": timeout_ms}).limits

    assert limits.timeout_ms == timeout_ms
    with pytest.raises(InvalidError):
        put(doc(kind), limits={"timeout": timeout_ms + 1})


def test_code_may_not_take_as_long():
    with pytest.raises(InvalidError):
        python(limits={"timeout": 3_600_001})


def test_a_function_elsewhere_is_no_entity():
    with pytest.raises(InvalidError, match="nor can a function elsewhere"):
        put(doc("http"), annotations=[{"key": "entity", "value": True}])


# --- what is told of a run ---------------------------------------------------------------------


def test_a_run_tells_its_trace_and_its_key():
    asked = invocation(python(), activation="a" * 32, transaction="b" * 32)

    assert asked.traceparent == f"00-{'b' * 32}-{'a' * 16}-01"
    assert asked.idempotency_key == "a" * 32
    assert invocation(python(), key="saga/1").idempotency_key == "saga/1"
    assert invocation(python(), trace="c" * 32).traceparent.startswith(f"00-{'c' * 32}-")


@pytest.mark.parametrize(
    ("remoted", "shown"),
    [
        (Remoted("aws"), {"cloud": "aws", "attempts": 1, "took": 30}),
        (
            Remoted("aws", "r-1", 20.0, 21.0, 3),
            {"cloud": "aws", "attempts": 3, "took": 30, "request": "r-1", "ran": 20.0, "billed": 21.0,
             "overhead": 10.0},
        ),
        (
            Remoted("aws", ran_ms=40.0),  # two clocks
            {"cloud": "aws", "attempts": 1, "took": 30, "ran": 40.0, "overhead": 0.0},
        ),
    ],
)  # fmt: skip
def test_what_is_told_of_where_it_ran(remoted, shown):
    assert remoted.to_json(30) == shown


def test_a_kind_that_may_not_take_so_long_is_refused_until_its_timeout_is_given():
    long = define_action(named(), {"exec": doc("http"), "limits": {"timeout": 900_000}}, None, 1)
    code = {"exec": {"kind": "python:3", "code": "def main(p): return p"}}

    with pytest.raises(
        InvalidError, match=r"timeout 900000 .* 'python:3': give 'limits.timeout', too"
    ):
        define_action(named(), code, long, 2)
    short = define_action(named(), {**code, "limits": {"timeout": 1_000}}, long, 2)

    assert Action.from_json(short.to_json()).limits.timeout_ms == 1_000
    assert Action.from_json(long.to_json()).limits.timeout_ms == 900_000


def test_a_kind_that_only_a_newer_version_knows_is_refused():
    with pytest.raises(InvalidError, match="'mars:function' runs on no known cloud"):
        parsed_remote({"kind": "mars:function", "function": "f"})
