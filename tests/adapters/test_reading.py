"""What HTTP answers mean."""

from __future__ import annotations

import pytest

from xingqiao.adapters import Done, Report
from xingqiao.adapters.port import Response
from xingqiao.adapters.reading import done, fault_of, retry_after_ms

NOW_MS = 1_800_000_000_000
NOBODY = Report()


def response(status=200, body=b"", **headers):
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, told, body)


STATUSES = [
    (204, "BadResponse", "unknown", False),
    (304, "BadResponse", "unknown", False),
    (400, "ApplicationError", "yes", False),
    (401, "Permission", "no", False),
    (402, "ApplicationError", "yes", False),
    (403, "Permission", "no", False),
    (404, "NotFound", "no", False),
    (405, "InvalidRequest", "no", False),
    (408, "Timeout", "unknown", True),
    (409, "ApplicationError", "yes", False),
    (410, "NotFound", "no", False),
    (413, "PayloadTooLarge", "no", False),
    (415, "InvalidRequest", "no", False),
    (422, "ApplicationError", "yes", False),
    (429, "Throttled", "no", True),
    (500, "ApplicationError", "yes", False),
    (502, "Lost", "unknown", True),
    (503, "Lost", "unknown", True),
    (504, "Lost", "unknown", True),
    (520, "Lost", "unknown", True),
    (530, "Lost", "unknown", True),
]


@pytest.mark.parametrize(("status", "code", "ran", "transient"), STATUSES)
def test_what_a_status_means(status, code, ran, transient):
    fault = fault_of(response(status), NOW_MS, NOBODY)

    assert (fault.code, fault.may_have_run, fault.transient) == (code, ran, transient)
    assert fault.error == {"code": code, "message": f"it answers {status}"}


JSON = "application/json"


@pytest.mark.parametrize(
    ("body", "kind", "error"),
    [
        (b'{"error": "sold"}', JSON, "sold"),
        (b'{"error": {"code": "Sold"}}', JSON, {"code": "Sold"}),
        (b'{"error": null, "n": 1}', JSON, {"error": None, "n": 1}),
        (b'["sold"]', "application/problem+json; charset=utf-8", ["sold"]),
        (b"sold", "text/plain", "sold"),
        (b'{"err', JSON, {"code": "ApplicationError", "message": 'it answers 400: {"err'}),
        (b"", JSON, {"code": "ApplicationError", "message": "it answers 400"}),
    ],
)
def test_the_error_of_a_function_is_what_it_says(body, kind, error):
    assert fault_of(response(400, body, content_type=kind), NOW_MS, NOBODY).error == error


def test_of_an_answer_that_is_long_only_the_beginning_is_shown():
    fault = fault_of(response(503, b"x" * 5000), NOW_MS, NOBODY)

    assert len(fault.error["message"]) < 1100


@pytest.mark.parametrize(
    ("body", "kind", "value"),
    [
        (b"", JSON, None),
        (b'{"n": 1}', JSON, {"n": 1}),
        (b'{"n": 1}', "application/vnd.x+json;v=1", {"n": 1}),
        (b"[1]", JSON, [1]),
        (b"hello", "text/plain", "hello"),
        ("ü".encode(), "text/html", "ü"),
        (b"\xff\xfe", "application/octet-stream", "//4="),
        (b'{"n": 1}', None, {"n": 1}),
        (b"hello", None, "hello"),
        (b'{"n": 1}', "text/plain", '{"n": 1}'),
    ],
)
def test_the_value_of_a_body(body, kind, value):
    headers = {} if kind is None else {"content_type": kind}

    assert done(response(200, body, **headers), NOBODY) == Done(value, NOBODY)


@pytest.mark.parametrize(
    "body",
    [
        b'{"n": ',
        b"NaN",
        b'{"n": Infinity}',
        b"\xff",
        b"[" * 100_000,
        b"[" * 300 + b"]" * 300,
        b'"\\ud800"',
        b"1" * 30,
    ],
    ids=range(8),
)
def test_what_is_no_json_value_is_a_bad_response(body):
    fault = done(response(200, body, content_type=JSON), NOBODY)

    assert (fault.code, fault.may_have_run) == ("BadResponse", "unknown")


@pytest.mark.parametrize(
    ("text", "waits_ms"),
    [
        ("0", 0),
        ("2", 2000),
        (" 2 ", 2000),
        ("0.5", 500),
        ("-1", 0),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("1e400", None),
        ("Fri, 15 Jan 2027 08:00:05 GMT", 5000),
        ("Fri, 15 Jan 2027 08:00:05 -0000", 5000),
        ("Fri, 15 Jan 2027 07:00:05 GMT", 0),
        ("Fri, 99 Jan 2027 07:00:05 GMT", None),
    ],
)
def test_when_to_ask_again(text, waits_ms):
    assert retry_after_ms(response(429, retry_after=text), NOW_MS) == waits_ms


def test_what_is_packed_is_a_bad_response():
    fault = done(response(200, b"\x1f\x8b", content_encoding="gzip"), NOBODY)

    assert (fault.code, fault.may_have_run) == ("BadResponse", "unknown")
    assert "'gzip'" in fault.error["message"]


def test_where_nothing_is_said_of_asking_again():
    assert retry_after_ms(response(429), NOW_MS) is None
