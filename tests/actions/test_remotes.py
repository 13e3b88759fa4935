"""What an action that runs elsewhere may be: each option, on both sides of its bounds."""

from __future__ import annotations

import pytest

from tests.kit.actions.things import invocation, named, python
from xingqiao.actions import REMOTES, Action, InvalidError, Remote, Remoted, Retrying, parsed_remote
from xingqiao.actions.definitions import define_action

URL = "https://api.example.com/orders"
LEAST = {
    "aws:lambda": {"function": "charge"},
    "aws:states": {"function": "arn:aws:states:eu-west-1:123456789012:stateMachine:Order"},
    "openwhisk:action": {"function": "shop/charge", "host": "https://whisk.example.com"},
    "azure:function": {"function": "charge", "host": "https://app.azurewebsites.net"},
    "azure:durable": {"function": "Order", "host": "https://app.azurewebsites.net"},
    "gcp:function": {"function": "https://f-1.run.app"},
    "http": {"function": URL},
    "cloudevents": {"function": URL, "type": "shop.order"},
}


def doc(kind, **options):
    return {"kind": kind, **LEAST[kind], **options}


@pytest.mark.parametrize("kind", REMOTES)
def test_the_least_that_a_kind_needs_is_enough(kind):
    remote = parsed_remote(doc(kind))

    assert (remote.kind, remote.function) == (kind, LEAST[kind]["function"])
    assert remote.retrying == Retrying(attempts=4, delay_ms=200, max_delay_ms=20_000)
    assert remote.option("credentials") is None
    assert remote.option("credentials", "none") == "none"


@pytest.mark.parametrize("kind", REMOTES)
def test_what_is_shown_can_be_read_again(kind):
    remote = parsed_remote(doc(kind, credentials="mine", retry={"attempts": 2}))

    assert parsed_remote(remote.to_json()) == remote
    assert remote.retrying.attempts == 2


GOOD = [
    ("aws:lambda", {"region": "eu-west-1"}),
    ("aws:lambda", {"region": "us-gov-west-1"}),
    ("aws:lambda", {"qualifier": "$LATEST"}),
    ("aws:lambda", {"qualifier": "live-2"}),
    ("aws:lambda", {"mode": "durable"}),
    ("aws:lambda", {"function": "arn:aws:lambda:eu-west-1:123456789012:function:charge:live"}),
    ("aws:states", {"region": "eu-west-1"}),
    ("openwhisk:action", {"wait": "poll", "function": "/ns/shop/charge"}),
    ("openwhisk:action", {"host": "http://127.0.0.1:3233"}),
    ("azure:function", {"method": "GET", "function": "orders/{id}/items"}),
    ("azure:durable", {"operation": "raise"}),
    ("gcp:function", {"audience": "https://f-1.run.app", "method": "PUT"}),
    ("http", {"function": "https://api.example.com:8443/a/{id}?q={what}&b=%20"}),
    ("http", {"function": "https://[2001:db8::1]/a"}),
    (
        "http",
        {
            "headers": {"X-Order": "{id}"},
            "body": {"order": {"$path": "$.id"}},
            "result": "response",
        },
    ),
    ("http", {"headers": {}}),
    ("http", {"key_parameter": "order.key"}),
    ("http", {"retry": {"attempts": 20, "delay_ms": 60_000, "max_delay_ms": 600_000}}),
    ("http", {"retry": {"attempts": 1, "delay_ms": 0, "max_delay_ms": 0}}),
    ("cloudevents", {"source": "/shop", "mode": "structured"}),
]


@pytest.mark.parametrize(("kind", "options"), GOOD)
def test_an_option_that_is_right_is_kept(kind, options):
    remote = parsed_remote(doc(kind, **options))

    assert remote.to_json().items() >= options.items()


def url(text):
    return ("http", {"function": text})


BAD = [
    ("http", {"region": "eu-west-1"}, "'exec.region' is not an option of 'http', which has 'body',"),
    ("openwhisk:action", {"host": None}, "'exec.host' must be a text of 1 to 2048"),
    ("aws:lambda", {"region": "Frankfurt"}, "'exec.region' must be a region such as eu-west-1"),
    ("aws:lambda", {"qualifier": "a b"}, "'exec.qualifier' must be a version or an alias"),
    ("aws:lambda", {"mode": "async"}, "'exec.mode' must be one of request, event, durable"),
    ("aws:lambda", {"mode": ["event"]}, "'exec.mode' must be one of"),
    ("aws:lambda", {"function": "a/b"}, "'exec.function' must be the name or the ARN"),
    ("aws:states", {"function": "Order"}, "'exec.function' must be the ARN of a state machine"),
    ("openwhisk:action", {"function": "a/b/c/d"}, "'exec.function' must be the name of an action"),
    ("openwhisk:action", {"host": "whisk.example.com"}, "'exec.host' must be a URL that begins"),
    ("openwhisk:action", {"host": "https://h/{id}"}, "'exec.host' must be the URL of a host"),
    ("azure:function", {"host": "https://h?code=k"}, "'exec.host' must be the URL of a host"),
    ("azure:function", {"function": "a b"}, "'exec.function' must be the name or the route"),
    ("azure:function", {"function": "a/{b"}, "'exec.function' must be the name or the route"),
    ("azure:durable", {"operation": "rewind"}, "'exec.operation' must be one of run, start,"),
    ("azure:durable", {"function": "a/b"}, "'exec.function' must be the name of an orchestrator"),
    ("gcp:function", {"audience": "https://{a}/"}, "'exec.audience' must name its host"),
    ("gcp:function", {"audience": "https://h/{a}"}, "'exec.audience' must not contain a '{parameter}'"),
    ("cloudevents", {"function": "https://h/{a}"}, "'exec.function' must not contain a '{parameter}'"),
    ("cloudevents", {"type": ""}, "'exec.type' must be a text of 1 to 2048"),
    ("cloudevents", {"type": "a\r\nb"}, "'exec.type' must be a text of 1 to 2048 printable"),
    ("http", {"method": "TRACE"}, "'exec.method' must be one of GET, HEAD"),
    ("http", {"credentials": "../mine"}, "'exec.credentials' must be a name of letters"),
    ("http", {"key_parameter": ""}, "'exec.key_parameter' must be a text"),
    ("http", {"headers": ["X-A"]}, "'exec.headers' must be an object of texts"),
    ("http", {"headers": {"X A": "1"}}, "'exec.headers.X A' is not a valid name of a header"),
    ("http", {"headers": {"X-A": "1\r\nX-B: 2"}}, "'exec.headers.X-A' must be a text"),
    ("http", {"headers": {"X-A": "1", "x-a": "2"}}, "'exec.headers.x-a' is set twice"),
    ("http", {"headers": {"Authorization": "Bearer x"}}, "'exec.headers.Authorization' is a secret"),
    ("http", {"headers": {"Host": "metadata"}}, "'exec.headers.Host' is set by what sends"),
    ("http", {"headers": {"content-length": "1"}}, "'exec.headers.content-length' is set by"),
    ("http", {"body": {"$var": "a", "b": 1}}, "'exec.body' is not a template"),
    ("http", {"result": "headers"}, "'exec.result' must be one of body, response"),
    ("http", {"result": float("nan")}, "'exec' is not a JSON value"),
    ("http", {"retry": 3}, "'exec.retry' must be an object such as"),
    ("http", {"retry": {"count": 3}}, "'exec.retry.count' is unknown; use one of attempts"),
    ("http", {"retry": {"attempts": 0}}, "'exec.retry.attempts' must be an int from 1 to 20"),
    ("http", {"retry": {"attempts": True}}, "'exec.retry.attempts' must be an int from 1 to 20"),
    ("http", {"retry": {"delay_ms": 60_001}}, "'exec.retry.delay_ms' must be an int from 0 to 60"),
    ("http", {"function": 7}, "'exec.function' must be a text"),
    (*url("https://" + "a" * 2048), "'exec.function' must be a text of 1 to 2048"),
    (*url("ftp://example.com/"), "'exec.function' must be a URL that begins with https:// or"),
    (*url("https:///path"), "'exec.function' must be a URL that begins"),
    (*url("https://example.com:0/"), "'exec.function' must be a URL that begins"),
    (*url("https://example.com:http/"), "'exec.function' must be a URL that begins"),
    (*url("https://[::1/"), "'exec.function' must be a URL that begins"),
    (*url("https://me:secret@example.com/"), "'exec.function' must not hold credentials"),
    (*url("https://{host}/a"), "'exec.function' must name its host and port as they are"),
    (*url("https://example.com{more}/a"), "'exec.function' must name its host and port"),
    (*url("https://example.com:{port}/a"), "'exec.function' must be a URL that begins"),
    (*url("https://bücher.example/"), "'exec.function' must name its host and port"),
    (*url("https://example。com/"), "'exec.function' must name its host and port"),
    (*url("https://example.com\\.evil.com/"), "'exec.function' must name its host and port"),
    (*url("https://example.com/ü"), "'exec.function' must be percent-encoded"),
    (*url("https://example.com/a b"), "'exec.function' must be percent-encoded"),
    (*url("https://example.com/#part"), "'exec.function' must be percent-encoded, without '#'"),
    (*url("https://example.com/{a-b}"), "'exec.function' must be percent-encoded, without '#'"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "options", "text"), BAD)
def test_an_option_that_is_wrong_is_named(kind, options, text):
    with pytest.raises(InvalidError) as refused:
        parsed_remote(doc(kind, **options))

    assert text in str(refused.value)
    assert "secret@" not in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("openwhisk:action", "host"), ("azure:function", "host"), ("cloudevents", "type"), ("http", "function")],
)  # fmt: skip
def test_what_a_kind_needs_is_named_when_it_is_missing(kind, name):
    without = doc(kind)
    del without[name]

    with pytest.raises(InvalidError, match=f"'exec.{name}'"):
        parsed_remote(without)


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
