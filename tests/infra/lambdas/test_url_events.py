"""Requests as events, and results as responses, in the payload format 2.0."""

from __future__ import annotations

from base64 import b64encode

import pytest

from xingqiao.infra.lambdas.url_events import ResultError, UrlRequest, event_of, response_of

URL = "0123456789abcdef0123456789abcdef"
NOW_MS = 1_800_000_000_123


def request(**fields):
    given = {
        "id": "an id", "url": URL, "host": "a.example:1", "method": "GET", "path": "/", "query": "",
        "headers": [], "body": b"", "source": "192.0.2.1", "now_ms": NOW_MS, **fields,
    }  # fmt: skip
    return UrlRequest(**given)


def test_an_event_has_all_of_the_request():
    headers = [
        ("host", "a.example:1"), ("user-agent", "tests"), ("x-many", "1"), ("x-many", "2"),
        ("cookie", "a=1; b=2"), ("content-type", "application/json; charset=utf-8"),
    ]  # fmt: skip
    event = event_of(
        request(
            method="POST",
            path="/a%20b",
            query="q=1&q=2&e=&s=%C3%A9",
            headers=headers,
            body=b'{"n": 1}',
        )
    )

    assert event == {
        "version": "2.0", "routeKey": "$default", "rawPath": "/a%20b", "rawQueryString": "q=1&q=2&e=&s=%C3%A9",
        "cookies": ["a=1", "b=2"],
        "headers": {
            "host": "a.example:1", "user-agent": "tests", "x-many": "1,2",
            "content-type": "application/json; charset=utf-8",
        },
        "queryStringParameters": {"q": "1,2", "e": "", "s": "é"},
        "requestContext": {
            "accountId": "anonymous", "apiId": URL, "domainName": "a.example:1", "domainPrefix": URL,
            "http": {
                "method": "POST", "path": "/a%20b", "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1",
                "userAgent": "tests",
            },
            "requestId": "an id", "routeKey": "$default", "stage": "$default",
            "time": "15/Jan/2027:08:00:00 +0000", "timeEpoch": NOW_MS,
        },
        "body": '{"n": 1}', "isBase64Encoded": False,
    }  # fmt: skip


def test_what_a_request_does_not_have_is_not_in_the_event():
    assert not {"cookies", "queryStringParameters", "body"} & event_of(request()).keys()


def test_a_signed_request_tells_who_has_signed_it():
    context = event_of(request(account="111111111111", caller=("guest", "a key")))["requestContext"]

    assert context["accountId"] == "111111111111"
    iam = context["authorizer"]["iam"]
    assert (iam["accessKey"], iam["userId"]) == ("a key", "guest")
    assert iam["userArn"] == "arn:aws:iam::111111111111:user/guest"


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain", b"caf\xc3\xa9", True), ("application/json", b"{}", True), ("application/xml", b"<a/>", True),
        ("application/vnd.api+json", b"{}", True), ("image/svg+xml", b"<a/>", False), (None, b"a", True),
        ("application/x-www-form-urlencoded", b"a=1", False), ("image/png", b"a", False),
        ("text/plain", b"\xff", False), (None, b"\xff", False),
    ],
)  # fmt: skip
def test_a_body_that_is_no_text_is_base64(kind, body, text):
    event = event_of(request(headers=[("content-type", kind)] if kind else [], body=body))

    assert event["isBase64Encoded"] is not text
    assert event["body"] == (body.decode() if text else b64encode(body).decode())


@pytest.mark.parametrize(
    ("result", "body"),
    [
        ("Hello", b"Hello"), ({"n": [1]}, b'{"n":[1]}'), ([1], b"[1]"), (None, b"null"), (7, b"7"),
        ({"body": "x"}, b'{"body":"x"}'),
    ],
)  # fmt: skip
def test_a_result_without_a_status_is_the_body(result, body):
    made = response_of(result)

    assert (made.status, made.body) == (200, body)
    assert made.headers == [("content-type", "application/json")]


def test_a_result_describes_the_whole_response():
    made = response_of({
        "statusCode": "201", "headers": {"Content-Type": "text/html", "X-N": 1, "X-B": True, "Content-Length": "9"},
        "cookies": ["a=1; Secure", "b=2"], "body": b64encode(b"\xff").decode(), "isBase64Encoded": True,
    })  # fmt: skip

    assert (made.status, made.body) == (201, b"\xff")
    assert made.headers == [
        ("content-type", "text/html"), ("x-n", "1"), ("x-b", "true"), ("set-cookie", "a=1; Secure"),
        ("set-cookie", "b=2"),
    ]  # fmt: skip


def test_a_body_that_is_no_text_is_sent_as_json():
    assert response_of({"statusCode": 200, "body": {"n": 1}}).body == b'{"n":1}'
    assert response_of({"statusCode": 204}).body == b""


@pytest.mark.parametrize("status", [200, 599, "404"])
def test_a_status_is_one_of_http(status):
    assert response_of({"statusCode": status}).status == int(status)


@pytest.mark.parametrize(
    "result",
    [
        {"statusCode": 199}, {"statusCode": 600}, {"statusCode": "x"}, {"statusCode": True}, {"statusCode": None},
        {"statusCode": 200, "headers": []}, {"statusCode": 200, "headers": {"a b": "c"}},
        {"statusCode": 200, "headers": {"a": "b\r\nc: d"}}, {"statusCode": 200, "headers": {"a": ["b"]}},
        {"statusCode": 200, "cookies": "a=1"}, {"statusCode": 200, "cookies": [1]},
        {"statusCode": 200, "cookies": ["a\nb"]}, {"statusCode": 200, "body": "%", "isBase64Encoded": True},
    ],
)  # fmt: skip
def test_a_result_that_cannot_be_sent_is_an_error(result):
    with pytest.raises(ResultError):
        response_of(result)
