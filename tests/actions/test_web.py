"""Web actions: what a request becomes, and what a result becomes; cases from OpenWhisk's rules."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from things import python

from actions import (
    InvalidError,
    NotAcceptableError,
    NotFoundError,
    Target,
    WebRequest,
    check_exported,
    target_of,
    web_parameters,
    web_response,
)

HTTP = Target(action="a", medium="http", path="")


def request(method="GET", path="", query="", body=b"", media=None, user=None, **headers):
    if media is not None:
        headers["content-type"] = media
    return WebRequest(
        method=method, path=path, headers=headers, query=query, body=body, user=user
    )  # fmt: skip


def action(**annotations):
    notes = [{"key": key.replace("_", "-"), "value": value} for key, value in annotations.items()]
    return python(annotations=notes, parameters=[{"key": "fixed", "value": 1}])


# --- what is asked for -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("hello", ("hello", "http", "")),
        ("hello.json", ("hello", "json", "")),
        ("hello.http/a/b", ("hello", "http", "/a/b")),
        ("hello/a.json", ("hello", "http", "/a.json")),
        ("hello.html/", ("hello", "html", "/")),
        ("v1.2.text", ("v1.2", "text", "")),
        ("v1.2", ("v1.2", "http", "")),
        (".json", (".json", "http", "")),
    ],
)
def test_a_path_names_an_action_a_medium_and_a_rest(path, expected):
    target = target_of(path)

    assert (target.action, target.medium, target.path) == expected


def test_what_is_not_exported_is_not_there():
    check_exported(action(web_export=True))
    for private in (action(), action(web_export=False)):
        with pytest.raises(NotFoundError):
            check_exported(private)


def test_query_and_body_are_parameters_and_the_body_counts():
    asked = request("POST", "/p", "a=1&b=2&c=", b'{"b": [3]}', "application/json; charset=utf-8")

    assert web_parameters(asked, action()) == {
        "a": "1", "b": [3], "c": "", "__ow_method": "post", "__ow_path": "/p",
        "__ow_headers": {"content-type": "application/json; charset=utf-8"},
    }  # fmt: skip


def test_a_form_is_parameters_and_the_user_is_told():
    asked = request("POST", body=b"a=1&b=%20", media="application/x-www-form-urlencoded", user="me")

    params = web_parameters(asked, action())

    assert (params["a"], params["b"], params["__ow_user"]) == ("1", " ", "me")


@pytest.mark.parametrize(
    ("body", "media", "expected"),
    [
        (b"[1, 2]", "application/json", [1, 2]),
        (b'"text"', "application/json", "text"),
        (b"hello", "text/plain", "hello"),
        (b"<a/>", "application/xml", "<a/>"),
        (b"\xff", "text/plain", "/w=="),
        (b"hello", "image/png", "aGVsbG8="),
        (b"hello", None, "aGVsbG8="),
    ],
)
def test_a_body_without_fields_is_handed_on_as_a_whole(body, media, expected):
    params = web_parameters(request("POST", body=body, media=media), action())

    assert params["__ow_body"] == expected


@pytest.mark.parametrize(
    ("body", "media", "expected"),
    [
        (b'{"a": 1}', "application/json", base64.b64encode(b'{"a": 1}').decode()),
        (b"a=1", "application/x-www-form-urlencoded", "a=1"),
        (b"", None, ""),
    ],
)
def test_a_raw_action_is_given_everything_as_it_came(body, media, expected):
    params = web_parameters(
        request("PUT", "/x", "a=1&__ow_user=me", body, media), action(raw_http=True)
    )

    assert (params["__ow_query"], params["__ow_body"]) == ("a=1&__ow_user=me", expected)
    assert "a" not in params
    assert "__ow_user" not in params


@given(st.binary(max_size=50), st.sampled_from(["text/plain", "image/png", "application/json"]))
def test_what_goes_in_raw_can_be_had_back(body, media):
    raw = web_parameters(request("POST", body=body, media=media), action(raw_http=True))

    told = raw["__ow_body"]
    try:
        is_text = media == "text/plain" and body.decode() is not None
    except UnicodeDecodeError:
        is_text = False
    assert body == (told.encode() if is_text else base64.b64decode(told))


@pytest.mark.parametrize(
    ("query", "annotations"),
    [
        ("__ow_user=me", {}),
        ("__ow_body=me", {}),
        ("fixed=2", {"final": True}),
    ],
)
def test_reserved_and_final_parameters_cannot_be_set(query, annotations):
    with pytest.raises(InvalidError, match="Request defines parameters that are not allowed"):
        web_parameters(request(query=query), action(**annotations))
    assert web_parameters(request(query="fixed=2"), action())["fixed"] == "2"


@pytest.mark.parametrize("body", [b"{", b"[" * 100_000, b"\xff"])
def test_a_body_that_is_no_json_is_refused(body):
    with pytest.raises(InvalidError, match="The request content was malformed"):
        web_parameters(request("POST", body=body, media="application/json"), action())


# --- what is answered --------------------------------------------------------------------------


def answered(result, medium="http", path="", *, failed=False, accept=""):
    made = web_response(
        Target(action="a", medium=medium, path=path), result, failed=failed, accept=accept
    )
    return made.status, dict(made.headers), made.body


@pytest.mark.parametrize(
    ("result", "status", "media", "body"),
    [
        ({}, 204, None, b""),
        ({"body": ""}, 204, None, b""),
        ({"body": None, "statusCode": 202}, 202, None, b""),
        ({"statusCode": "404"}, 404, None, b""),
        ({"statusCode": 204, "body": "x"}, 204, None, b""),
        ({"body": "<b>"}, 200, "text/html; charset=UTF-8", b"<b>"),
        ({"body": {"a": 1}, "statusCode": 201.0}, 201, "application/json", b'{"a": 1}'),
        ({"body": [1]}, 200, "application/json", b"[1]"),
        ({"body": 5}, 200, "application/json", b"5"),
        ({"body": "x", "headers": {"Content-Type": "text/plain"}}, 200, "text/plain", b"x"),
        ({"body": "eA==", "headers": {"content-type": "image/png"}}, 200, "image/png", b"x"),
        ({"body": "{}", "headers": {"content-type": "application/json"}}, 200,
         "application/json", b"{}"),
        ({"body": {}, "headers": {"Content-Type": "application/json"}}, 200,
         "application/json", b"{}"),
    ],
)  # fmt: skip
def test_a_result_says_its_own_response(result, status, media, body):
    made, headers, content = answered(result)

    told = {name.lower(): value for name, value in headers.items()}
    assert (made, told.get("content-type"), content) == (status, media, body)


@pytest.mark.parametrize(
    "result",
    [
        [],
        {"statusCode": 99},
        {"statusCode": 199},
        {"statusCode": 600},
        {"statusCode": True},
        {"statusCode": "many"},
        {"statusCode": 200.5},
        {"headers": []},
        {"headers": {"a": None}},
        {"headers": {"a": {}}},
        {"headers": {"a b": "x"}},
        {"headers": {"": "x"}},
        {"headers": {"a": "x\r\nb: c"}},
        {"headers": {"a": "x\x00"}},
        {"headers": {"a": "\u4f60"}},
        {"body": "%", "headers": {"content-type": "image/png"}},
    ],
)
def test_a_result_that_is_no_response_is_refused(result):
    with pytest.raises(InvalidError, match="Response is not valid 'message/http'"):
        answered(result)


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ({"body": "x", "headers": {"content-type": "nonsense"}}, "known content-type"),
        ({"body": {}, "headers": {"content-type": "text/html"}}, "did not match generated"),
    ],
)
def test_a_type_that_does_not_fit_is_refused(result, why):
    with pytest.raises(InvalidError, match=why):
        answered(result)


def test_headers_may_have_several_values_of_several_kinds():
    headers = {"Set-Cookie": ["a=1", "b=2"], "X-N": 3, "X-Yes": True, "X-No": False,
               "Content-Length": 5, "Transfer-Encoding": "chunked"}  # fmt: skip
    made = web_response(HTTP, {"headers": headers}, failed=False)

    assert made.headers == [
        ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-N", "3"), ("X-Yes", "true"),
        ("X-No", "false"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("medium", "path", "media", "body"),
    [
        ("json", "", "application/json", None),
        ("json", "/list", "application/json", b"[1]"),
        ("html", "", "text/html; charset=UTF-8", b"<b>"),
        ("html", "/deep/text", "text/html; charset=UTF-8", b"in"),
        ("svg", "", "image/svg+xml", b"<svg/>"),
        ("text", "", "text/plain; charset=UTF-8", b"word"),
        ("text", "/number", "text/plain; charset=UTF-8", b"5"),
        ("text", "/list/", "text/plain; charset=UTF-8", b"[\n  1\n]"),
    ],
)
def test_a_path_picks_from_a_result(medium, path, media, body):
    result = {
        "html": "<b>", "svg": "<svg/>", "text": "word", "number": 5, "list": [1],
        "deep": {"text": "in"},
    }  # fmt: skip

    status, headers, content = answered(result, medium, path)

    assert (status, headers["content-type"]) == (200, media)
    assert content == (json.dumps(result).encode() if body is None else body)


@pytest.mark.parametrize(
    ("medium", "path", "result", "error", "why"),
    [
        ("json", "/a", {}, NotFoundError, "does not include requested property"),
        ("json", "/a/b", {"a": 1}, NotFoundError, "does not include requested property"),
        ("html", "", {}, NotFoundError, "does not include requested property"),
        ("html", "", {"html": 1}, InvalidError, "not valid 'text/html'"),
        ("svg", "", {"svg": {}}, InvalidError, "not valid 'image/svg"),
        ("text", "", {"text": None}, InvalidError, "not valid 'text/plain'"),
        ("json", "/a", {"a": "text"}, InvalidError, "not valid 'application/json'"),
    ],
)
def test_what_is_not_in_a_result_or_not_of_the_kind_is_refused(medium, path, result, error, why):
    with pytest.raises(error, match=why):
        answered(result, medium, path)


def test_the_error_of_an_action_that_failed_is_the_response():
    failure = {"error": {"statusCode": 418, "body": "tea"}}

    assert answered(failure, failed=True)[::2] == (418, b"tea")
    assert answered({"error": "no"}, "text", "/any", failed=True)[::2] == (200, b"no")
    with pytest.raises(InvalidError):
        answered({"error": "no"}, failed=True)


@pytest.mark.parametrize(
    ("accept", "fits"),
    [
        ("", True), ("*/*", True), ("text/html, application/*;q=0.5", True),
        ("APPLICATION/JSON", True), ("text/html", False), ("text/html;q=1,image/*", False),
    ],
)  # fmt: skip
def test_json_is_sent_to_who_takes_it(accept, fits):
    if fits:
        assert answered({"a": 1}, "json", accept=accept)[0] == 200
    else:
        with pytest.raises(NotAcceptableError, match="application/json"):
            answered({"a": 1}, "json", accept=accept)
        assert answered({"html": "x"}, "html", accept=accept)[0] == 200
