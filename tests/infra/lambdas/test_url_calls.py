"""URLs of functions as an HTTP client calls them."""

from __future__ import annotations

import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.kit.infra.servers import KEY, USER
from tests.kit.lambdas.clients import archive, create
from tests.kit.lambdas.urls import PUBLIC, public

ECHO = "def handler(event, context):\n    return event\n"
RESPONSE = """
def handler(event, context):
    return {
        "statusCode": 201, "headers": {"X-Own": "1", "Content-Type": "text/plain", "Access-Control-Allow-Origin": "own"},
        "cookies": ["a=1", "b=2"], "body": "aGk=", "isBase64Encoded": True,
    }
"""


def signed(method, url, body=b"", user=USER, key=KEY):
    """Sends a signed request."""
    request = AWSRequest(method, url, data=body)
    SigV4Auth(Credentials(user, key), "lambda", "us-east-1").add_auth(request)
    return httpx.request(method, url, content=body, headers=dict(request.headers.items()))


def test_a_url_passes_requests_to_its_function(aws, fresh):
    url = public(aws, fresh(), ECHO)

    got = httpx.post(
        f"{url}a%20b/c?q=1&q=2", content=b'{"n": 1}', cookies={"a": "1"},
        headers={"content-type": "application/json", "x-own": "yes"},
    )  # fmt: skip

    event = got.json()
    assert (got.status_code, got.headers["content-type"]) == (200, "application/json")
    assert (event["rawPath"], event["rawQueryString"]) == ("/a%20b/c", "q=1&q=2")
    assert (event["body"], event["cookies"], event["headers"]["x-own"]) == (
        '{"n": 1}',
        ["a=1"],
        "yes",
    )
    context = event["requestContext"]
    assert (context["http"]["method"], context["accountId"]) == ("POST", "anonymous")
    assert context["requestId"] == got.headers["x-amzn-requestid"]
    assert httpx.get(url.rstrip("/")).json()["rawPath"] == "/"
    assert httpx.request("OPTIONS", url).json()["requestContext"]["http"]["method"] == "OPTIONS"


def test_the_result_is_the_response(aws, fresh):
    got = httpx.get(public(aws, fresh(), RESPONSE))

    assert (got.status_code, got.content) == (201, b"hi")
    assert (got.headers["x-own"], got.headers["content-type"]) == ("1", "text/plain")
    assert got.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert got.headers["access-control-allow-origin"] == "own"


@pytest.mark.parametrize(
    "text",
    [
        "def handler(event, context):\n    raise KeyError('one')\n",
        "def handler(event, context):\n    return {'statusCode': 1}\n",
    ],
)
def test_a_failure_is_a_bad_gateway(aws, fresh, text):
    got = httpx.get(public(aws, fresh(), text))

    assert (got.status_code, got.json()) == (502, {"Message": "Internal Server Error"})


def test_cors_is_the_urls_own(aws, fresh):
    rules = {"AllowOrigins": ["https://a.example"], "AllowMethods": ["GET"], "MaxAge": 9}
    url = public(aws, fresh(), RESPONSE, Cors=rules)
    asked = {"origin": "https://a.example", "access-control-request-method": "GET"}

    before = httpx.request("OPTIONS", url, headers=asked)
    assert (before.status_code, before.content) == (200, b"")
    assert before.headers["access-control-allow-methods"] == "GET"
    assert before.headers["access-control-max-age"] == "9"
    got = httpx.get(url, headers={"origin": "https://a.example"})
    assert got.headers.get_list("access-control-allow-origin") == ["https://a.example"]
    other = httpx.request("OPTIONS", url, headers={**asked, "origin": "https://b.example"})
    assert not [header for header in other.headers if header.startswith("access-control")]


def test_a_url_without_a_permission_is_closed(aws, name):
    url = aws.create_function_url_config(FunctionName=name, AuthType="NONE")["FunctionUrl"]

    closed = httpx.get(url)
    assert (closed.status_code, closed.json()["Message"][:9]) == (403, "Forbidden")
    aws.add_permission(FunctionName=name, **PUBLIC)
    assert httpx.get(url).text == "first"
    aws.remove_permission(FunctionName=name, StatementId="url")
    assert httpx.get(url).status_code == 403


def test_a_url_for_signed_requests_knows_its_callers(aws, server, fresh):
    name = fresh()
    create(aws, name, archive(ECHO))
    url = aws.create_function_url_config(FunctionName=name, AuthType="AWS_IAM")["FunctionUrl"]

    got = signed("POST", f"{url}a?b=1", b"x")
    assert got.status_code == 200
    assert got.json()["requestContext"]["authorizer"]["iam"]["accessKey"] == USER
    assert httpx.get(url).status_code == 403
    assert signed("GET", url, key="another").status_code == 403
    with server.operator() as operator:
        made = operator.put(f"{server.url}/api/v1/operator/namespaces/other", json={})
    user, key = made.json()["auth"].split(":")
    assert signed("GET", url, user=user, key=key).status_code == 403
    aws.add_permission(
        FunctionName=name, StatementId="other", Action="lambda:InvokeFunctionUrl", Principal="other",
        FunctionUrlAuthType="AWS_IAM",
    )  # fmt: skip
    let_in = signed("GET", url, user=user, key=key)
    assert let_in.json()["requestContext"]["authorizer"]["iam"]["userId"] == "other"


def test_a_body_has_at_most_the_size_of_an_event(aws, fresh):
    url = public(aws, fresh())

    assert httpx.post(url, content=b"x" * 261_000).text == "first"
    assert httpx.post(url, content=b"x" * 262_144).status_code == 413
    assert httpx.post(url, content=b"x" * ((1 << 20) + 1)).status_code == 413
