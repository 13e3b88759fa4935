"""Tasks that ask URLs, as `http:invoke` does on AWS."""

from __future__ import annotations

import json

import pytest
from werkzeug.wrappers import Request, Response

from tests.kit.infra.one_task import opened
from tests.rigs.wsgi import served

INVOKE = "arn:aws:states:::http:invoke"
CONNECTION = "arn:aws:events:us-east-2:123456789012:connection/stripe/81210c42"


class Host:
    """Answers with what it is told to, and keeps what it was asked."""

    def __init__(self):
        self.asked, self.answer, self.url = [], Response("{}", mimetype="application/json"), None

    def __call__(self, environ, start_response):
        request = Request(environ)
        request.get_data()
        self.asked.append(request)
        return self.answer(environ, start_response)


@pytest.fixture
def host():
    made = Host()
    with served(made) as made.url:
        yield made


@pytest.fixture
async def world():
    async with opened(egress_allow="127.0.0.1") as made:
        yield made


async def test_what_a_url_answers_is_the_result(world, host):
    host.answer = Response('{"id": 7}', 201, {"X-One": "1"}, mimetype="application/json")

    found = await world.result(INVOKE, {"ApiEndpoint": f"{host.url}/v1/things", "Method": "GET"})

    assert (found["StatusCode"], found["StatusText"]) == (201, "Created")
    assert found["ResponseBody"] == {"id": 7}
    assert found["Headers"]["x-one"] == ["1"]
    assert (host.asked[0].method, host.asked[0].path) == ("GET", "/v1/things")


async def test_headers_query_and_body_are_sent(world, host):
    await world.result(INVOKE, {
        "ApiEndpoint": f"{host.url}/v1?a=1", "Method": "POST", "Headers": {"X-Two": ["a", "b"]},
        "QueryParameters": {"b": "x y", "c": [1, True]}, "RequestBody": {"n": [1, "é"]},
    })  # fmt: skip

    (asked,) = host.asked
    assert asked.headers["X-Two"] == "a,b"
    assert len(asked.headers["Idempotency-Key"]) == 32
    assert asked.query_string == b"a=1&b=x+y&c=1%2Ctrue"
    assert (asked.get_json(), asked.mimetype) == ({"n": [1, "é"]}, "application/json")


async def test_a_text_is_sent_and_answered_as_it_is(world, host):
    host.answer = Response("né", mimetype="text/plain")
    headers = {"content-type": "text/plain"}
    asked = {"ApiEndpoint": host.url, "Method": "PUT", "RequestBody": "é", "Headers": headers}

    assert (await world.result(INVOKE, asked))["ResponseBody"] == "né"
    assert (host.asked[0].data.decode(), host.asked[0].mimetype) == ("é", "text/plain")


@pytest.mark.parametrize(
    ("format", "form"),
    [
        (None, "a%5B0%5D=1&a%5B1%5D=2"), ("INDICES", "a%5B0%5D=1&a%5B1%5D=2"), ("REPEAT", "a=1&a=2"),
        ("BRACKETS", "a%5B%5D=1&a%5B%5D=2"), ("COMMAS", "a=1%2C2"), ("NONE", "a=1&a=2"),
    ],
)  # fmt: skip
async def test_a_body_may_be_a_form(world, host, format, form):
    options = {"RequestEncodingOptions": {"ArrayFormat": format}} if format else {}
    await world.result(INVOKE, {
        "ApiEndpoint": host.url, "Method": "POST",
        "Headers": {"Content-Type": "application/x-www-form-urlencoded"},
        "RequestBody": {"b": {"c": "x"}, "a": [1, 2]},
        "Transform": {"RequestBodyEncoding": "URL_ENCODED", **options},
    })  # fmt: skip

    assert host.asked[0].get_data().decode() == f"b%5Bc%5D=x&{form}"


async def test_who_asks_is_a_secret_called_as_the_connection(world, host):
    secret = {"type": "bearer", "token": "a-token-of-tests"}
    await world.service.secrets.put("guest", "stripe", secret, lambda given: None)
    asked = {"ApiEndpoint": host.url, "Method": "GET"}

    await world.result(INVOKE, {**asked, "Authentication": {"ConnectionArn": CONNECTION}})
    await world.result(INVOKE, {**asked, "InvocationConfig": {"ConnectionArn": CONNECTION}})

    assert [one.headers["Authorization"] for one in host.asked] == ["Bearer a-token-of-tests"] * 2


async def test_a_connection_without_a_secret_is_told(world, host):
    told = await world.error(
        INVOKE,
        {"ApiEndpoint": host.url, "Method": "GET", "Authentication": {"ConnectionArn": CONNECTION}},
    )

    assert told["Error"] == "States.Permissions"
    assert "xingqiao secret set stripe" in told["Cause"]
    assert host.asked == []


@pytest.mark.parametrize("status", [400, 404, 503])
async def test_a_status_is_an_error_by_its_number(world, host, status):
    host.answer = Response("why", status)

    told = await world.error(INVOKE, {"ApiEndpoint": host.url, "Method": "GET"})

    assert told == {"Error": f"States.Http.StatusCode.{status}", "Cause": "why"}


async def test_what_cannot_be_reached_is_an_error_of_its_own(world):
    told = await world.error(INVOKE, {"ApiEndpoint": "http://127.0.0.1:1/", "Method": "GET"})

    assert told["Error"] == "States.Http.Socket"


async def test_an_address_inside_the_network_is_not_asked(host):
    async with opened() as world:
        told = await world.error(INVOKE, {"ApiEndpoint": host.url, "Method": "GET"})

    assert told["Error"] == "States.Permissions"
    assert host.asked == []


WRONG = [
    ({"ApiEndpoint": "/v1"}, "'ApiEndpoint' must be a URL"),
    ({"ApiEndpoint": "http://["}, "'ApiEndpoint' must be a URL"),
    ({"Headers": {"Transfer-Encoding": "chunked"}}, "'Headers' must be without 'Transfer-Encoding'"),
    ({"Headers": {"content-length": "3"}}, "'Headers' must be without 'content-length'"),
    ({"Headers": {"X-Amz-Date": "now"}}, "'Headers' must be without 'X-Amz-Date'"),
    ({"Headers": {"transfer-encoding: chunked, x;y": "1"}}, "'Headers' must be without 'transfer-enc"),
    ({"Headers": {"a\r\nb": "1"}}, "'Headers' must be without 'a"),
    ({"Headers": {"": "1"}}, "'Headers' must be without ''"),
    ({"Authentication": {}}, "'ConnectionArn' must be the ARN of a connection"),
    ({"Authentication": {"ConnectionArn": "arn:aws:events:::connection/ambient/1"}}, "'ConnectionArn' must"),
    ({"Method": "TRACE"}, "'Method' must be one of DELETE, GET"),
    ({"Headers": []}, "'Headers' must be an object"),
    ({"QueryParameters": {"a": {}}}, "'QueryParameters' must be of texts and numbers"),
    ({"Authentication": {"ConnectionArn": "stripe"}}, "'ConnectionArn' must be the ARN of a connection"),
    ({"RequestBody": {}, "Transform": {"RequestBodyEncoding": "URL_ENCODED"}}, "'Headers' must be such"),
    ({"RequestBody": {}, "Headers": {"Content-Type": "application/x-www-form-urlencoded"},
      "Transform": {"RequestBodyEncoding": "URL_ENCODED",
                    "RequestEncodingOptions": {"ArrayFormat": "X"}}}, "'ArrayFormat' must be COMMAS"),
]  # fmt: skip


async def test_a_field_that_is_wrong_is_named(world, host):
    for changes, why in WRONG:
        told = await world.error(INVOKE, {"ApiEndpoint": host.url, "Method": "POST", **changes})

        assert told["Error"] == "States.Runtime"
        assert f"http:invoke: The field {why}" in told["Cause"]
    assert host.asked == []


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Response("{", mimetype="application/problem+json"), "is not JSON"),
        (Response(b"\xff", mimetype="image/png"), "must be JSON or text"),
    ],
)  # fmt: skip
async def test_an_answer_that_is_no_text_is_refused(world, host, answer, why):
    host.answer = answer

    told = await world.error(INVOKE, {"ApiEndpoint": host.url, "Method": "GET"})

    assert told["Error"] == "States.Runtime"
    assert why in told["Cause"]


async def test_an_answer_that_is_empty_is_an_empty_text(world, host):
    host.answer = Response("", 204, mimetype="application/json")

    found = await world.result(INVOKE, {"ApiEndpoint": host.url, "Method": "DELETE"})

    assert (found["ResponseBody"], found["StatusText"]) == ("", "No Content")


async def test_a_status_that_has_no_name_has_none(world, host):
    host.answer = Response(json.dumps([1]), "299 Odd", mimetype="application/json")

    found = await world.result(INVOKE, {"ApiEndpoint": host.url, "Method": "GET"})

    assert (found["StatusCode"], found["StatusText"], found["ResponseBody"]) == (299, "", [1])


async def test_a_form_may_not_be_far_longer_than_what_it_is_made_of(world, host):
    asked = {
        "ApiEndpoint": host.url, "Method": "POST", "RequestBody": {"k" * 5000: [1] * 5000},
        "Headers": {"Content-Type": "application/x-www-form-urlencoded"},
        "Transform": {"RequestBodyEncoding": "URL_ENCODED"},
    }  # fmt: skip

    told = await world.error(INVOKE, asked)

    assert told["Cause"].endswith("must be a form of at most 1048576 bytes.")
    assert host.asked == []
