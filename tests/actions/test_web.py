"""Web actions: what a request becomes, and what a result becomes; cases from OpenWhisk's rules."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.actions.things import python
from xingqiao.actions import (
    InvalidError,
    NotAcceptableError,
    NotFoundError,
    Target,
    UnauthorizedError,
    WebRequest,
    check_admitted,
    check_exported,
    cors_headers,
    target_of,
    web_parameters,
    web_response,
)

HTTP = Target(action="a", medium="http", path="")
REFUSED = "Request defines parameters that are not allowed"
UNKNOWN = "Response did not specify a known content-type."
MISMATCHED = "Response type in header did not match generated content type."

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


def request(method="GET", path="", query="", body=b"", media=None, user=None, **headers):
    if media is not None:
        headers["content-type"] = media
    return WebRequest(
        method=method, path=path, headers=headers, query=query, body=body, user=user
    )  # fmt: skip


def action(**annotations):
    notes = [{"key": key.replace("_", "-"), "value": value} for key, value in annotations.items()]
    parameters = [{"key": "fixed", "value": 1}, {"key": "open", "value": None}]
    return python(annotations=notes, parameters=parameters)


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
        ("hello.xyz", ("hello.xyz", "http", "")),
        (".json", (".json", "http", "")),
        ("hello%20you%2Ejson/a%20b", ("hello you", "json", "/a%20b")),
        ("a%2Fb", ("a/b", "http", "")),
    ],
)
def test_a_path_names_an_action_a_medium_and_a_rest(path, expected):
    target = target_of(path)

    assert (target.action, target.medium, target.path) == expected


def test_what_is_not_exported_is_not_there():
    check_exported(action(web_export=True))
    for private in (action(), action(web_export=False), action(web_export="false")):
        with pytest.raises(NotFoundError, match=r"The requested resource does not exist\."):
            check_exported(private)


def test_other_sites_may_do_anything_unless_the_action_says_what():
    asked = {"access-control-request-headers": "x-mine"}
    plain, named = cors_headers(action(), {}), cors_headers(action(), asked)

    assert plain == [
        ("access-control-allow-origin", "*"),
        ("access-control-allow-methods", "OPTIONS, GET, DELETE, POST, PUT, HEAD, PATCH"),
        (
            "access-control-allow-headers",
            "Authorization, Origin, X-Requested-With, Content-Type, Accept, User-Agent",
        ),
    ]
    assert named == [*plain[:2], ("access-control-allow-headers", "x-mine")]
    assert cors_headers(action(web_custom_options=True), asked) == []
    assert cors_headers(action(web_custom_options="no"), {}) == plain


@pytest.mark.parametrize(
    ("wanted", "shown", "user", "admitted"),
    [
        (False, None, None, True),
        (True, None, "ann", True),
        (True, "true", None, False),
        ("s3cret", "s3cret", None, True),
        ("s3cret", "S3cret", None, False),
        ("s3cret", None, "ann", False),
        ("", None, None, False),
        ("", "", None, True),
        ("\u4f60", "\u4f60".encode().decode("latin-1"), None, True),
        ("\xff", "\xff", None, False),
        (42, "42", None, True),
        (42, "43", None, False),
        (1.5, "1.5", None, True),
        (None, "", "ann", False),
        (["a"], "a", "ann", False),
        ({}, "{}", "ann", False),
    ],
)
def test_an_action_may_ask_for_a_key_or_a_secret(wanted, shown, user, admitted):
    headers = {} if shown is None else {"x-require-whisk-auth": shown}
    secured = action(require_whisk_auth=wanted)

    if admitted:
        check_admitted(secured, request(user=user, **headers))
    else:
        with pytest.raises(UnauthorizedError, match="The resource requires authentication, which"):
            check_admitted(secured, request(user=user, **headers))
    check_admitted(secured, request("OPTIONS"))
    check_admitted(action(), request())


def test_query_and_body_are_parameters_and_the_body_counts():
    asked = request(
        "POST", "/p", "a=1&a=2&b=2&c=&d", b'{"b": [3]}', "application/json; charset=utf-8"
    )

    assert web_parameters(asked, action()) == {
        "a": "2", "b": [3], "c": "", "d": "", "__ow_method": "post", "__ow_path": "/p",
        "__ow_headers": {"content-type": "application/json; charset=utf-8"},
    }  # fmt: skip


def test_a_form_is_parameters_and_the_user_is_told():
    asked = request("POST", body=b"a=1&b=%20", media="application/x-www-form-urlencoded", user="me")

    params = web_parameters(asked, action())

    assert (params["a"], params["b"], params["__ow_user"]) == ("1", " ", "me")


@given(
    st.dictionaries(st.text(max_size=8).filter(lambda name: name != "fixed"), st.text(max_size=8))
)
def test_a_query_and_a_form_say_the_same(fields):
    text = urlencode(fields)

    asked = web_parameters(request(query=text), action())
    form = request("GET", body=text.encode(), media="application/x-www-form-urlencoded")
    posted = web_parameters(form, action())

    del asked["__ow_headers"], posted["__ow_headers"]
    assert asked == posted == {**fields, "__ow_method": "get", "__ow_path": ""}


@pytest.mark.parametrize(
    ("body", "media", "expected"),
    [
        (b"[1, 2]", "application/json", [1, 2]),
        (b'"text"', "application/json", "text"),
        (b"null", "application/json", None),
        (b"[1]", "application/cloudevents+json", [1]),
        (b"hello", "text/plain", "hello"),
        (b"<a/>", "application/xml", "<a/>"),
        (b"\xff", "text/plain", "/w=="),
        (b"hello", "image/png", "aGVsbG8="),
        (b"hello", "multipart/form-data; boundary=b", "aGVsbG8="),
        (b"hello", "nonsense", "aGVsbG8="),
        (b"hello", None, "aGVsbG8="),
    ],
)
def test_a_body_without_fields_is_handed_on_as_a_whole(body, media, expected):
    params = web_parameters(request("POST", body=body, media=media), action())

    assert params["__ow_body"] == expected


def test_an_event_in_json_is_parameters():
    asked = request("POST", body=b'{"a": 1}', media="application/cloudevents+json")

    params = web_parameters(asked, action())

    assert params["a"] == 1
    assert "__ow_body" not in params


@pytest.mark.parametrize(
    ("body", "media", "expected"),
    [
        (b'{"a": 1}', "application/json", base64.b64encode(b'{"a": 1}').decode()),
        (b"{}", "application/hal+json", base64.b64encode(b"{}").decode()),
        (b"a=1", "application/x-www-form-urlencoded", "a=1"),
        (b"", None, ""),
    ],
)
def test_a_raw_action_is_given_everything_as_it_came(body, media, expected):
    params = web_parameters(
        request("PUT", "/x", "a=1&__ow_user=me&fixed=%20", body, media),
        action(raw_http=True, final=True),
    )

    assert (params["__ow_query"], params["__ow_body"]) == ("a=1&__ow_user=me&fixed=%20", expected)
    assert set(params) == {"__ow_method", "__ow_headers", "__ow_path", "__ow_query", "__ow_body"}


@given(st.binary(max_size=50), st.sampled_from(["text/plain", "image/png", "application/json"]))
def test_what_goes_in_raw_can_be_had_back(body, media):
    raw = web_parameters(request("POST", body=body, media=media), action(raw_http=True))

    told = raw["__ow_body"]
    try:
        is_text = media == "text/plain" and body.decode() is not None
    except UnicodeDecodeError:
        is_text = False
    assert body == (told.encode() if is_text else base64.b64decode(told))


@given(st.binary(min_size=1, max_size=50))
def test_what_goes_in_raw_comes_out_raw(body):
    given = web_parameters(request("POST", body=body, media="image/png"), action(raw_http=True))
    made = {"body": given["__ow_body"], "headers": {"content-type": "image/png"}}

    assert web_response(HTTP, made, failed=False).body == body


@pytest.mark.parametrize(
    ("query", "body", "annotations"),
    [
        ("__ow_user=me", b"", {}),
        ("__ow_body=me", b"", {}),
        ("", b'{"__ow_method": "get"}', {}),
        ("fixed=2", b"", {"final": True}),
        ("", b'{"fixed": 2}', {"final": True}),
    ],
)
def test_reserved_and_final_parameters_cannot_be_set(query, body, annotations):
    asked = request("POST", query=query, body=body, media="application/json")

    with pytest.raises(InvalidError, match=REFUSED):
        web_parameters(asked, action(**annotations))
    assert web_parameters(request(query="fixed=2"), action())["fixed"] == "2"
    assert web_parameters(request(query="open=2"), action(final=True))["open"] == "2"


@pytest.mark.parametrize(
    "body", [b"{", b"[" * 100_000, b"\xff", b'"\\ud800"', b"[NaN]", b"[1e999]", b"9" * 30]
)
def test_a_body_that_is_no_json_is_refused(body):
    with pytest.raises(InvalidError, match=r"The request content was malformed:\n."):
        web_parameters(request("POST", body=body, media="application/json"), action())


# --- what is answered --------------------------------------------------------------------------


def answered(result, medium="http", path="", *, failed=False, accept=""):
    made = web_response(
        Target(action="a", medium=medium, path=path), result, failed=failed, accept=accept
    )
    return made.status, dict(made.headers), made.body


def typed(body, media):
    return {"body": body, "headers": {"Content-Type": media}}


@pytest.mark.parametrize(
    ("result", "status", "media", "body"),
    [
        ({}, 204, None, b""),
        ({"body": ""}, 204, None, b""),
        ({"body": None, "statusCode": 202}, 202, None, b""),
        ({"statusCode": "404"}, 404, None, b""),
        ({"statusCode": 204, "body": "x"}, 204, None, b""),
        ({**typed(None, "text/plain"), "statusCode": 201}, 201, None, b""),
        ({"body": "<b>"}, 200, "text/html; charset=UTF-8", b"<b>"),
        ({"body": {"a": 1}, "statusCode": 201.0}, 201, "application/json", b'{\n  "a": 1\n}'),
        ({"body": []}, 200, "application/json", b"[]"),
        ({"body": 5}, 200, "application/json", b"5"),
        ({"body": False}, 200, "application/json", b"false"),
        (typed("x", "text/plain"), 200, "text/plain; charset=UTF-8", b"x"),
        (typed("\xe9", "text/plain; charset=latin-1"), 200, "text/plain; charset=latin-1", b"\xe9"),
        (typed("{}", "application/json"), 200, "application/json", b"{}"),
        (typed({}, "application/json; charset=utf-8"), 200, "application/json", b"{}"),
        (typed({}, "application/hal+json"), 200, "application/hal+json", b"{}"),
        (typed("null", "application/json"), 200, "application/json", b"null"),
        (typed("1234", "application/json"), 200, "application/json", b"1234"),
        (typed("hello world", "application/json"), 200, "application/json", b"hello world"),
        (typed("e30=", "application/json"), 200, "application/json", b"{}"),
        (typed("e30=", "application/json-patch+json"), 200, "application/json-patch+json", b"{}"),
        (typed("eA==", "image/png"), 200, "image/png", b"x"),
        (typed("eA", "image/png"), 200, "image/png", b"x"),
        (typed("PHN2Zy8+", "image/svg+xml"), 200, "image/svg+xml", b"<svg/>"),
        (typed("<svg/>", "image/svg+xml"), 200, "image/svg+xml", b"<svg/>"),
        (typed("eA==", "application/xml"), 200, "application/xml; charset=UTF-8", b"eA=="),
    ],
)
def test_a_result_says_its_own_response(result, status, media, body):
    made, headers, content = answered(result)

    assert (made, headers.get("content-type"), content) == (status, media, body)
    assert [name.lower() for name in headers].count("content-type") == (media is not None)


@pytest.mark.parametrize(
    "result",
    [
        [],
        {"statusCode": 99},
        {"statusCode": 199},
        {"statusCode": 600},
        {"statusCode": True},
        {"statusCode": "many"},
        {"statusCode": "9" * 5000},
        {"statusCode": 200.5},
        {"statusCode": float("inf")},
        {"statusCode": {}},
        {"headers": []},
        {"headers": {"a": None}},
        {"headers": {"a": {}}},
        {"headers": {"a b": "x"}},
        {"headers": {"a\r\nb": "x"}},
        {"headers": {"": "x"}},
        {"headers": {"a": "x\r\nb: c"}},
        {"headers": {"a": "x\nb: c"}},
        {"headers": {"a": ["x", "y\r\n\r\n<script>"]}},
        {"headers": {"a": "x\x00"}},
        {"headers": {"a": "\u4f60"}},
        {"headers": {"content-length\r": "x"}},
    ],
)
def test_a_result_that_is_no_response_is_refused(result):
    with pytest.raises(InvalidError, match=r"Response is not valid 'message/http'\."):
        answered(result)


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (typed("x", "nonsense"), UNKNOWN),
        (typed("x", "text/plain; charset=none-such"), UNKNOWN),
        (typed("x", "text/plain; charset=undefined"), UNKNOWN),
        (typed({}, "nonsense"), MISMATCHED),
        (typed({}, "text/html"), MISMATCHED),
        (typed("%", "image/png"), MISMATCHED),
        (typed("eAeAe", "image/png"), MISMATCHED),
        (typed("\u4f60", "image/png"), MISMATCHED),
    ],
)
def test_a_type_that_does_not_fit_is_refused(result, why):
    with pytest.raises(InvalidError) as refused:
        answered(result)
    assert str(refused.value) == why


def test_headers_may_have_several_values_of_several_kinds():
    headers = {"Set-Cookie": ["a=1", ["b=2"]], "X-N": 3, "X-F": 1.5, "X-Yes": True, "X-No": False,
               "X-Space": "\t a\tb ", "Content-Length": 5, "Transfer-Encoding": "chunked",
               "X-OpenWhisk-Activation-Id": "forged", "X-None": []}  # fmt: skip
    made = web_response(HTTP, {"headers": headers}, failed=False)

    assert made.headers == [
        ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-N", "3"), ("X-F", "1.5"),
        ("X-Yes", "true"), ("X-No", "false"), ("X-Space", "a\tb"),
    ]  # fmt: skip


def test_of_several_types_the_first_counts():
    headers = {"Content-Type": ["text/plain", "text/css"], "content-type": "text/csv"}

    assert web_response(HTTP, {"headers": headers, "body": "x"}, failed=False).headers == [
        ("content-type", "text/plain; charset=UTF-8")
    ]


@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("statusCode", "headers", "body"), anything))
)
def test_whatever_a_result_is_it_is_refused_or_can_be_sent(result):
    for medium in ("http", "json", "html", "svg", "text"):
        try:
            made = web_response(Target(action="a", medium=medium, path=""), result, failed=False)
        except (InvalidError, NotFoundError):
            continue
        assert 200 <= made.status <= 599
        for name, value in made.headers:
            assert name.isascii()
            assert not set(name + value) & set("\r\n\0")
            assert value.encode("latin-1") == value.strip(" \t").encode("latin-1")


@pytest.mark.parametrize(
    ("medium", "path", "media", "body"),
    [
        ("json", "", "application/json", None),
        ("json", "/", "application/json", None),
        ("json", "/list", "application/json", b"[\n  1\n]"),
        ("html", "", "text/html; charset=UTF-8", b"<b>"),
        ("html", "/deep/a%20text", "text/html; charset=UTF-8", b"in"),
        ("svg", "", "image/svg+xml", b"<svg/>"),
        ("text", "", "text/plain; charset=UTF-8", b"word"),
        ("text", "/number", "text/plain; charset=UTF-8", b"5"),
        ("text", "/yes", "text/plain; charset=UTF-8", b"true"),
        ("text", "/none", "text/plain; charset=UTF-8", b"null"),
        ("text", "/list//", "text/plain; charset=UTF-8", b"[\n  1\n]"),
    ],
)
def test_a_path_picks_from_a_result(medium, path, media, body):
    result = {
        "html": "<b>", "svg": "<svg/>", "text": "word", "number": 5, "list": [1],
        "deep": {"a text": "in"}, "yes": True, "none": None,
    }  # fmt: skip

    status, headers, content = answered(result, medium, path)

    assert (status, headers["content-type"]) == (200, media)
    assert content == (json.dumps(result, indent=2).encode() if body is None else body)


@given(st.lists(st.text(min_size=1, max_size=5), max_size=4), st.text(max_size=20))
def test_a_path_leads_to_what_lies_at_its_end(names, text):
    result = text
    for name in reversed(["text", *names]):
        result = {name: result}
    path = "".join("/" + quote(name, safe="") for name in ["text", *names])

    assert answered(result, "text", path)[2] == text.encode()


@pytest.mark.parametrize("medium", ["html", "svg", "text"])
def test_a_body_is_shown_before_what_is_called_as_the_medium(medium):
    assert answered({"body": "B", medium: "M"}, medium)[2] == b"B"
    assert answered({medium: "M"}, medium)[2] == b"M"
    assert answered({"body": "B", medium: "M"}, medium, f"/{medium}")[2] == b"M"


@pytest.mark.parametrize(
    ("medium", "path", "result", "error", "why"),
    [
        ("json", "/a", {}, NotFoundError, "does not include requested property"),
        ("json", "/a/b", {"a": 1}, NotFoundError, "does not include requested property"),
        ("html", "/html", {}, NotFoundError, "does not include requested property"),
        ("html", "", {}, InvalidError, "not valid 'text/html'"),
        ("html", "", {"html": 1}, InvalidError, "not valid 'text/html'"),
        ("svg", "", {"svg": {}}, InvalidError, "not valid 'image/svg"),
        ("text", "", {}, NotFoundError, "does not include requested property"),
        ("json", "/a", {"a": "text"}, InvalidError, "not valid 'application/json'"),
        ("json", "", None, InvalidError, "not valid 'application/json'"),
    ],
)
def test_what_is_not_in_a_result_or_not_of_the_kind_is_refused(medium, path, result, error, why):
    with pytest.raises(error, match=why):
        answered(result, medium, path)


def test_the_error_of_an_action_that_failed_is_the_response():
    failure = {"error": {"statusCode": 418, "body": "tea"}}

    assert answered(failure, path="/ignored", failed=True)[::2] == (418, b"tea")
    assert answered(failure, "json", "/ignored", failed=True)[0] == 200
    assert answered(failure, "text", failed=True)[::2] == (200, b"tea")
    assert answered({"error": "no"}, "text", "/any", failed=True)[::2] == (200, b"no")
    assert answered({"error": {}}, "json", failed=True)[::2] == (200, b"{}")


@pytest.mark.parametrize(
    ("error", "medium", "why"),
    [
        ("no", "http", "message/http"),
        ({"code": "Down", "message": "it is"}, "http", "message/http"),
        ("no", "json", "application/json"),
        ({"code": "Down"}, "html", "text/html"),
    ],
)
def test_an_error_that_is_no_response_is_refused(error, medium, why):
    with pytest.raises(InvalidError, match=f"Response is not valid '{why}'"):
        answered({"error": error}, medium, failed=True)


@pytest.mark.parametrize(
    ("medium", "accept", "shown"),
    [
        ("http", "application/json", "text/html; charset=UTF-8"),
        ("html", "text/xml", "text/html; charset=UTF-8"),
        ("text", "text/html", "text/plain; charset=UTF-8"),
        ("json", "text/html;q=1,image/*", "application/json"),
    ],
)
def test_what_the_caller_does_not_take_is_not_sent(medium, accept, shown):
    result = {"body": "x", "text": "x", "html": "x"}

    with pytest.raises(NotAcceptableError) as refused:
        answered(result, medium, accept=accept)
    assert str(refused.value).partition("\n") == (
        "Resource representation is only available with these types:", "\n", shown,
    )  # fmt: skip
    assert answered(result, medium, accept=f"{accept}, */*;q=0.1")[0] == 200


def test_where_nothing_is_sent_nothing_need_be_taken():
    assert answered({"statusCode": 302}, accept="application/json")[0] == 302


def test_half_a_character_does_not_break_an_answer():
    assert answered({"body": "\ud800"}, "text")[2] == b"?"
    assert answered({"body": ["\ud800"]})[0] == 200
