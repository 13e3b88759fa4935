"""Web actions over HTTP: who may call them, in whose namespace they run, and how they answer."""

from __future__ import annotations

import base64

import pytest

from tests.kit.http.worlds import KEY, OPERATOR, PAYLOAD_BYTES, USER
from tests.kit.http.worlds import world as opened
from xingqiao import composer
from xingqiao.actions import Quotas
from xingqiao.infra.engine import EngineSettings

WEB = "/api/v1/web/guest/default"
HOME = "/api/v1/namespaces/_"
EXPORTED = {"key": "web-export", "value": True}
ABSENT = "The requested resource does not exist."
UNAUTHENTICATED = "The resource requires authentication, which was not supplied with the request"
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]  # and HEAD, whose answers say less
GUEST = (USER, KEY)


def exported(**annotations):
    notes = [{"key": key.replace("_", "-"), "value": value} for key, value in annotations.items()]
    return {"annotations": [EXPORTED, *notes]}


def answering(result):
    """A composition that has this result, without any worker."""
    return composer.literal(result)


@pytest.fixture
def browser(world):
    """A client that shows no key."""
    return world.caller()


@pytest.fixture
async def echo(world):
    await world.put("echo", "echo", **exported())


async def parameters(browser, *path, method="GET", **options):
    """What the action `echo` was invoked with."""
    answer = await browser.request(method, WEB + "/echo.json" + "".join(path), **options)
    assert answer.status_code == 200, answer.text
    return answer.json()


# --- who may call what -------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "path",
    [
        "/guest/default/private", "/guest/default/absent", "/guest/default/false.json",
        "/guest/nothing/private", "/nobody/default/private", "/guest/default/", "/guest/default",
        "/guest/default/bad%2Fname", "/guest%2Fdefault/open", "/guest/default/open.xyz",
        "/_/default/open", "/guest/default/-", "/guest/default/%FF",
    ],
)  # fmt: skip
async def test_what_is_not_for_the_web_is_not_there(world, browser, path, method):
    await world.put("private", "echo")
    await world.put("false", "echo", annotations=[{"key": "web-export", "value": "false"}])
    await world.put("open", "echo", **exported())

    answer = await browser.request(method, "/api/v1/web" + path)

    assert answer.status_code == 404
    assert list(answer.json()) == ["error", "code"]
    assert answer.json()["error"] == ABSENT
    assert (await browser.get(WEB + "/open")).status_code == 204


async def test_head_is_answered_as_get_is_without_the_body(world, browser):
    await world.put("a", answering({"statusCode": 203, "headers": {"X-N": 1}}), **exported())

    there, absent = await browser.head(f"{WEB}/a"), await browser.head(f"{WEB}/b")

    assert (there.status_code, there.headers["x-n"], absent.status_code) == (203, "1", 404)


async def test_there_is_no_api_gateway_and_that_is_said(browser):
    answer = await browser.get("/api/v1/web/whisk.system/apimgmt/getApi.http")

    assert (answer.status_code, "API gateway" in answer.json()["error"]) == (404, True)


@pytest.mark.parametrize("annotation", [True, "s3cret", 42])
async def test_a_web_action_may_ask_who_calls(world, browser, annotation):
    await world.put("echo", "echo", **exported(require_whisk_auth=annotation))
    auth = GUEST if annotation is True else None
    shown = {} if annotation is True else {"X-Require-Whisk-Auth": str(annotation)}

    refused = [
        await browser.get(WEB + "/echo.json"),
        await browser.get(WEB + "/echo.json", auth=("nobody", "knows")),
        await browser.get(WEB + "/echo.json", headers={"X-Require-Whisk-Auth": "another"}),
        await browser.get(WEB + "/echo.json", headers={"Authorization": "Bearer x"}),
    ]
    answer = await browser.get(WEB + "/echo.json", headers=shown, auth=auth)

    assert {one.status_code for one in refused} == {401}
    assert {one.json()["error"] for one in refused} == {UNAUTHENTICATED}
    assert answer.status_code == 200
    assert answer.json().get("__ow_user") == ("guest" if annotation is True else None)


@pytest.mark.usefixtures("echo")
async def test_an_action_is_told_whose_a_key_is_but_never_the_key(browser):
    asked = await parameters(browser, auth=GUEST)
    other = await parameters(browser, auth=("visitor", "word"))

    assert asked["__ow_user"] == "guest"
    assert "authorization" not in asked["__ow_headers"]
    assert "__ow_user" not in other
    own = base64.b64encode(b"visitor:word").decode()
    assert other["__ow_headers"]["authorization"] == f"Basic {own}"


async def test_it_runs_in_the_namespace_of_its_owner(world, browser):
    await world.put("hello", answering({"body": "hi"}), **exported())
    operator = world.caller(auth=tuple(OPERATOR.split(":", 1)))

    answer = await browser.get(WEB + "/hello")
    await operator.get(WEB + "/hello", headers={"Authorization": operator.auth._auth_header})

    id = answer.headers["x-openwhisk-activation-id"]
    records = (await world.client.get("/activations", params={"name": "hello"})).json()
    assert id in [record["activationId"] for record in records]
    assert {record["namespace"] for record in records} == {"guest"}
    assert len(records) == 2
    assert (await operator.get(f"{HOME}/activations")).json() == []


async def test_its_owner_pays_for_it():
    settings = EngineSettings(quotas=lambda _: Quotas(per_minute=1))
    async with opened(settings=settings) as world:
        await world.put("hello", answering({"body": "hi"}), **exported())
        browser = world.caller()

        first, second = await browser.get(WEB + "/hello"), await browser.get(WEB + "/hello")

    assert (first.status_code, second.status_code) == (200, 429)
    assert second.json()["error"].startswith("Too many requests in the last minute")


# --- what it is given --------------------------------------------------------------------------


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize("method", METHODS)
async def test_any_method_will_do(world, browser, method):
    await world.put("echo2", "echo", **exported(web_custom_options=True))

    answer = await browser.request(method, f"{WEB}/echo2.json/__ow_none", params={"a": "b"})

    assert answer.status_code == 404  # but of the result, not of the action
    assert answer.json()["error"] == "Response does not include requested property."
    id = answer.headers["x-openwhisk-activation-id"]
    result = (await world.client.get(f"/activations/{id}/result")).json()["result"]
    assert (result["a"], result["__ow_method"]) == ("b", method.lower())
    assert result["__ow_path"] == "/__ow_none"


@pytest.mark.usefixtures("echo")
async def test_what_a_request_says_are_its_parameters(browser):
    asked = await parameters(
        browser, method="POST", params={"a": "q", "c": "\u661f"}, json={"a": 1, "b": None},
        headers={"X-Mixed": "Case"},
    )  # fmt: skip

    headers = asked.pop("__ow_headers")
    assert asked == {
        "a": 1, "b": None, "c": "\u661f", "__ow_method": "post", "__ow_path": "",
    }  # fmt: skip
    assert (headers["x-mixed"], headers["host"]) == ("Case", "test")


async def test_a_path_is_handed_on_as_it_came(world, browser):
    await world.put("say hi", "echo", **exported(raw_http=True))

    answer = await browser.get(f"{WEB}/say%20hi.text/__ow_path//?a=%20b&c")
    query = await browser.get(f"{WEB}/say%20hi.text/__ow_query/?a=%20b&c")

    assert answer.text == "/__ow_path//"
    assert query.text == "a=%20b&c"


@pytest.mark.parametrize("where", ["params", "json", "data"])
@pytest.mark.parametrize("name", ["__ow_user", "__ow_headers", "fixed", "packaged"])
async def test_what_is_final_or_ours_cannot_be_set(world, browser, where, name):
    fixed = [{"key": "packaged", "value": 1}]
    await world.client.put("/packages/p", json={"parameters": fixed})
    fixed = [{"key": "fixed", "value": 1}, {"key": "open", "value": None}]
    await world.put("p/echo", "echo", parameters=fixed, **exported(final=True))
    url = "/api/v1/web/guest/p/echo.json"

    refused = await browser.post(url, **{where: {name: "x"}})
    answer = await browser.post(url, **{where: {"open": "x"}})

    assert (refused.status_code, refused.json()["error"]) == (
        400, "Request defines parameters that are not allowed (e.g., reserved properties).",
    )  # fmt: skip
    result = answer.json()
    assert (result["open"], result["fixed"], result["packaged"]) == ("x", 1, 1)


@pytest.mark.usefixtures("echo")
async def test_a_request_that_is_too_large_or_malformed_is_refused(browser):
    large = await browser.post(WEB + "/echo", content=b"x" * (PAYLOAD_BYTES + 1))
    media = {"Content-Type": "application/json"}
    malformed = await browser.post(WEB + "/echo", content=b"{", headers=media)

    assert large.status_code == 413
    assert large.json()["error"] == (
        f"Request larger than allowed: {PAYLOAD_BYTES + 1} > {PAYLOAD_BYTES} bytes."
    )
    assert malformed.status_code == 400
    assert malformed.json()["error"].startswith("The request content was malformed:\n")


async def test_the_body_of_one_who_may_not_call_is_not_read(world, browser):
    await world.put("echo", "echo", **exported(require_whisk_auth="s3cret"))

    answer = await browser.post(WEB + "/echo", content=b"x" * (PAYLOAD_BYTES + 1))

    assert answer.status_code == 401


# --- any action is one -------------------------------------------------------------------------


async def test_sequences_compositions_and_conductor_actions_can_be_called(world, browser):
    await world.put("echo", "echo")
    await world.put("composed", composer.sequence("echo", answering({"body": "C"})), **exported())
    await world.put("page", answering({"body": "S"}))
    body = {"exec": {"kind": "sequence", "components": ["/_/echo", "/_/page"]}, **exported()}
    assert (await world.client.put("/actions/sequence", json=body)).status_code == 200
    await world.put("conductor", "echo", **exported(conductor=True))

    asked = {"params": {"body": "D"}}
    conducted = await browser.post(WEB + "/conductor", json={**asked, "action": "page"})

    assert (await browser.get(WEB + "/composed")).text == "C"
    assert (await browser.get(WEB + "/sequence")).text == "S"
    assert (await browser.post(WEB + "/conductor", json=asked)).text == "D"
    assert conducted.text == "S"


async def test_one_in_a_binding_is_its_packages_with_the_bindings_parameters(world, browser):
    a, b, c = ({"key": key, "value": f"package {key}"} for key in "abc")
    bound = [{"key": "b", "value": "binding b"}, {"key": "d", "value": "binding d"}]
    own = [{"key": "c", "value": "action c"}]
    await world.client.put("/packages/p", json={"parameters": [a, b, c]})
    await world.client.put(
        "/packages/bound",
        json={
            "binding": {"namespace": "_", "name": "p"},
            "parameters": bound,
            "annotations": [{"key": "web-export", "value": False}],  # is not its actions'
        },
    )
    await world.put("p/echo", "echo", parameters=own, **exported())

    answer = await browser.get("/api/v1/web/guest/bound/echo.json")

    assert {key: answer.json()[key] for key in "abcd"} == {
        "a": "package a", "b": "binding b", "c": "action c", "d": "binding d",
    }  # fmt: skip
    assert (await browser.get("/api/v1/web/guest/bound/none.json")).status_code == 404
    id = answer.headers["x-openwhisk-activation-id"]
    notes = (await world.client.get(f"/activations/{id}")).json()["annotations"]
    assert {"key": "binding", "value": "guest/bound"} in notes


# --- how it answers ----------------------------------------------------------------------------


async def test_a_result_is_the_response(world, browser):
    png = bytes(range(256))
    headers = {
        "Content-Type": "image/png", "Set-Cookie": ["a=1; Path=/", "b=2"], "X-N": 7,
        "Content-Length": 1, "X-OpenWhisk-Activation-Id": "forged",
    }  # fmt: skip
    body = base64.b64encode(png).decode()
    result = {"statusCode": 201, "headers": headers, "body": body}
    await world.put("picture", answering(result), **exported())

    answer = await browser.get(WEB + "/picture")

    assert (answer.status_code, answer.content) == (201, png)
    assert answer.headers.get_list("set-cookie") == ["a=1; Path=/", "b=2"]
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-length"] == "256"
    assert answer.headers["x-n"] == "7"
    assert answer.headers.get_list("x-openwhisk-activation-id") != ["forged"]
    assert len(answer.headers.get_list("x-openwhisk-activation-id")) == 1


@pytest.mark.parametrize(
    ("result", "path", "status", "text"),
    [
        (
            {"headers": {"x": "a\r\nset-cookie: b"}},
            "",
            400,
            "Response is not valid 'message/http'.",
        ),
        ({"statusCode": 1000}, "", 400, "Response is not valid 'message/http'."),
        ({"a": 1}, ".html", 400, "Response is not valid 'text/html'."),
        ({"a": 1}, ".json/b", 404, "Response does not include requested property."),
        ({"error": "no"}, "", 400, "Response is not valid 'message/http'."),
    ],
)
async def test_what_is_no_response_is_answered_as_an_error(
    world, browser, result, path, status, text
):
    await world.put("a", answering(result), **exported())

    answer = await browser.get(f"{WEB}/a{path}")

    assert (answer.status_code, answer.json()["error"]) == (status, text)
    assert answer.json()["code"] == answer.headers["x-request-id"]
    assert "set-cookie" not in answer.headers
    assert len(answer.headers["x-openwhisk-activation-id"]) == 32


async def test_the_error_of_a_failure_is_the_response(world, browser):
    teapot = {"error": {"statusCode": 418, "body": "tea"}}
    await world.put("fail", "fail", **exported())
    await world.put("teapot", answering(teapot), **exported())

    plain, text = await browser.get(WEB + "/fail"), await browser.get(WEB + "/fail.text")
    teapot = await browser.get(WEB + "/teapot/ignored")

    assert (plain.status_code, text.status_code, text.text) == (400, 200, "no luck")
    assert (teapot.status_code, teapot.text) == (418, "tea")


@pytest.mark.parametrize("what", ["crash", "lose"])
@pytest.mark.parametrize("medium", [".http", ".json", ".text"])
async def test_nothing_is_told_of_an_error_inside(world, browser, what, medium):
    await world.put("a", what, **exported())

    answer = await browser.get(f"{WEB}/a{medium}")

    assert answer.status_code == 400
    assert answer.json()["error"] == "There was an error processing your request."
    assert len(answer.headers["x-openwhisk-activation-id"]) == 32


async def test_one_that_takes_too_long_goes_on(world, browser, monkeypatch):
    monkeypatch.setattr("xingqiao.infra.http.web.WAIT_S", 0)
    await world.put("a", "hold", **exported())

    answer = await browser.get(f"{WEB}/a.json")

    assert answer.status_code == 202
    assert answer.json() == {
        "error": "Response not yet ready.", "code": answer.headers["x-request-id"],
    }  # fmt: skip
    held = await world.hands.held.get()
    assert held.activation == answer.headers["x-openwhisk-activation-id"]


async def test_what_the_caller_does_not_take_is_not_sent(world, browser):
    await world.put("a", answering({"body": "text"}), **exported())

    answer = await browser.get(f"{WEB}/a", headers={"Accept": "application/json"})

    assert (answer.status_code, answer.json()["error"]) == (
        406,
        "Resource representation is only available with these types:\ntext/html; charset=UTF-8",
    )
    assert (await browser.get(f"{WEB}/a", headers={"Accept": "text/*"})).text == "text"


# --- what browsers are told --------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
async def test_other_sites_may_call(world, browser, method):
    await world.put("a", answering({"body": "x"}), **exported(require_whisk_auth="s3cret"))
    headers = {"Access-Control-Request-Headers": "x-mine"}

    answer = await browser.request(method, f"{WEB}/a", headers=headers)
    plain = await browser.request(method, f"{WEB}/a")

    assert answer.status_code == plain.status_code == (200 if method == "OPTIONS" else 401)
    for one in (answer, plain):
        assert one.headers.get_list("access-control-allow-origin") == ["*"]
        assert one.headers.get_list("access-control-allow-methods") == [
            "OPTIONS, GET, DELETE, POST, PUT, HEAD, PATCH"
        ]
    assert answer.headers["access-control-allow-headers"] == "x-mine"
    assert plain.headers["access-control-allow-headers"] == (
        "Authorization, Origin, X-Requested-With, Content-Type, Accept, User-Agent"
    )
    ran = (await world.client.get("/activations", params={"count": "true"})).json()
    assert ran == {"activations": 0}


async def test_an_action_may_answer_for_other_sites_itself(world, browser):
    result = {"headers": {"Access-Control-Allow-Methods": "OPTIONS, GET"}, "statusCode": 200}
    annotations = exported(web_custom_options=True, require_whisk_auth=True)
    await world.put("a", answering(result), **annotations)

    answer = await browser.options(f"{WEB}/a")
    refused = await browser.get(f"{WEB}/a")

    assert (answer.status_code, refused.status_code) == (200, 401)
    assert answer.headers.get_list("access-control-allow-methods") == ["OPTIONS, GET"]
    assert "access-control-allow-origin" not in answer.headers
    assert "access-control-allow-headers" not in answer.headers


async def test_what_an_action_says_to_other_sites_counts(world, browser):
    result = {"headers": {"Access-Control-Allow-Origin": "https://mine"}, "body": "x"}
    await world.put("a", answering(result), **exported())

    answer = await browser.get(f"{WEB}/a")

    assert answer.headers.get_list("access-control-allow-origin") == ["https://mine"]
