"""Kinds of functions elsewhere: each option, on both sides of its bounds."""

from __future__ import annotations

import pytest

from tests.kit.actions.least_remotes import LEAST, doc
from xingqiao.actions import REMOTES, InvalidError, Retrying, parsed_remote


@pytest.mark.parametrize("kind", REMOTES)
def test_the_least_that_a_kind_needs_is_enough(kind):
    remote = parsed_remote(doc(kind))

    assert (remote.kind, remote.function) == (kind, LEAST[kind]["function"])
    assert remote.retrying == Retrying(attempts=4, delay_ms=200, max_delay_ms=20_000)
    assert remote.option("credentials") is None
    assert remote.option("credentials", "none") == "none"


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
