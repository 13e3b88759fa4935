"""Requests and answers of the HTTP API as data."""

from __future__ import annotations

import json

import pytest

from xingqiao.infra.client.wire import (
    Request,
    answer,
    basic,
    entity,
    execution,
    named,
    segment,
    shown,
    target,
)

HOME = "/api/v1/namespaces/_"


@pytest.mark.parametrize(
    ("made", "path"),
    [
        (named("actions", "hello"), f"{HOME}/actions/hello"),
        (named("actions", "box/hello"), f"{HOME}/actions/box/hello"),
        (named("actions", "/ns/box/hello"), "/api/v1/namespaces/ns/actions/box/hello"),
        (entity("box/account", "anna/1"), f"{HOME}/entities/box/account/keys/anna%2F1"),
        (entity("account", ".."), f"{HOME}/entities/account/keys/%2E%2E"),
        (execution("order/7 %"), f"{HOME}/executions/order%2F7%20%25"),
        (execution("1", "queries", "a b"), f"{HOME}/executions/1/queries/a%20b"),
    ],
)
def test_names_become_paths(made, path):
    assert made == path
    assert target(made, {}) == path  # and are not encoded twice


def test_a_query_leaves_out_what_is_not_given():
    query = {"a": None, "b": True, "c": 1, "d": "x y&z"}

    assert Request(method="GET", path="/p", query=query).target == "/p?b=true&c=1&d=x%20y%26z"


def test_a_body_is_json_and_says_so():
    request = Request(method="PUT", path="/p", body={"ä": 1}, headers={"A": "b"})

    assert request.content() == '{"ä": 1}'.encode()
    assert request.all_headers() == {"A": "b", "Content-Type": "application/json"}
    empty = Request(method="GET", path="/p")
    assert (empty.content(), empty.all_headers()) == (None, {})


def test_a_request_and_an_answer_show_no_values():
    made = Request(method="PUT", path="/p", body={"key": "secret"}, headers={"A": "secret"})
    told = answer(200, {"A": "secret"}, b'{"key": "secret"}')

    assert "secret" not in repr(made) + repr(told)


@pytest.mark.parametrize(
    ("status", "headers", "document", "text", "code"),
    [
        (409, {"X-Request-Id": "r"}, {"error": "no", "code": "r"}, "no", ""),
        (409, {"X-Request-Id": "r"}, {"error": "no", "code": "Closed"}, "no", "Closed"),
        (404, {}, {"error": "no"}, "actions/a: no", ""),
        (500, {}, ["odd"], "['odd']", ""),
    ],
)
def test_a_refusal_has_a_text_and_perhaps_a_code(status, headers, document, text, code):
    request = Request(method="GET", path=named("actions", "a"))
    told = answer(status, headers, json.dumps(document).encode())

    assert told.is_refusal
    assert (told.why(request), told.code) == (text, code)


def test_the_answer_of_a_failed_action_is_no_refusal():
    told = answer(502, {"X-OpenWhisk-Activation-Id": "a"}, b'{"error": "no"}')

    assert (told.is_refusal, told.activation) == (False, "a")


def test_an_empty_answer_has_no_document():
    assert answer(204, {}, b"").document is None


def test_what_is_not_json_is_not_an_answer():
    with pytest.raises(ValueError, match="Expecting value"):
        answer(200, {}, b"<html>")


def test_the_small_parts():
    assert (segment("."), segment("a.b"), segment("é")) == ("%2E", "a.b", "%C3%A9")
    assert shown(f"{HOME}/actions/a%20b") == "actions/a b"
    assert basic("u", "k") == "Basic dTpr"
