"""Actions over HTTP: create, update, get, list, delete."""

from __future__ import annotations

import asyncio
import base64
import io
import zipfile

import pytest

from xingqiao import composer
from xingqiao.actions import REMOTES
from xingqiao.actions.coded import MAX_CODE_BYTES

KINDS = ", ".join(
    f"'{k}'" for k in sorted((*REMOTES, "composition", "python:3", "queue", "sequence", "states"))
)
MALFORMED = "The request content was malformed:\n"
ECHO = {"exec": {"kind": "python:3", "code": "echo"}}


async def test_what_is_put_is_got(client):
    made = await client.put("/actions/hello", json=ECHO)
    got = await client.get("/actions/hello")

    assert made.status_code == got.status_code == 200
    assert made.json() == got.json()
    assert got.json() == {
        "namespace": "guest",
        "name": "hello",
        "version": "0.0.1",
        "updated": got.json()["updated"],
        "exec": {"kind": "python:3", "code": "echo", "binary": False},
        "parameters": [],
        "annotations": [
            {"key": "provide-api-key", "value": False},
            {"key": "exec", "value": "python:3"},
        ],
        "limits": {"concurrency": 1, "logs": 10, "memory": 256, "timeout": 60000},
        "publish": False,
    }


async def test_the_code_is_left_out_on_request(client):
    await client.put("/actions/hello", json=ECHO)

    for no in ("false", "no", "0", "False"):
        got = await client.get("/actions/hello", params={"code": no})
        assert "code" not in got.json()["exec"]
    assert "code" in (await client.get("/actions/hello", params={"code": "true"})).json()["exec"]


async def test_what_is_there_is_not_overwritten_by_accident(client):
    await client.put("/actions/hello", json=ECHO)

    again = await client.put("/actions/hello", json={"exec": {**ECHO["exec"], "code": "fail"}})

    assert again.status_code == 409
    assert again.json()["error"] == "resource already exists"
    assert (await client.get("/actions/hello")).json()["exec"]["code"] == "echo"


@pytest.mark.parametrize("yes", ["true", "True", "TRUE", "yes", "on", "1"])
async def test_an_update_keeps_what_it_does_not_name(client, yes):
    body = {**ECHO, "parameters": [{"key": "n", "value": 1}], "limits": {"timeout": 500}}
    await client.put("/actions/hello", json=body)

    answer = await client.put(
        "/actions/hello",
        params={"overwrite": yes},
        json={"limits": {"memory": 128}, "annotations": [{"key": "about", "value": "x"}]},
    )

    updated = answer.json()
    assert answer.status_code == 200
    assert updated["version"] == "0.0.2"
    assert updated["exec"]["code"] == "echo"
    assert updated["parameters"] == [{"key": "n", "value": 1}]
    assert updated["limits"] == {"concurrency": 1, "logs": 10, "memory": 128, "timeout": 500}
    assert {"key": "about", "value": "x"} in updated["annotations"]


async def test_of_two_who_create_at_once_one_is_told_that_it_is_there(client):
    answers = await asyncio.gather(*(client.put("/actions/hello", json=ECHO) for _ in range(5)))

    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]
    assert (await client.get("/actions/hello")).json()["version"] == "0.0.1"


async def test_an_overwrite_makes_what_is_not_there(client):
    answer = await client.put("/actions/hello", params={"overwrite": "true"}, json=ECHO)

    assert (answer.status_code, answer.json()["version"]) == (200, "0.0.1")


async def test_the_url_names_it_whatever_the_body_says(client):
    body = {**ECHO, "namespace": "_", "name": "other", "updated": None, "unknown": {"x": 1}}

    assert (await client.put("/actions/hello", json=body)).json()["name"] == "hello"
    assert (await client.get("/actions/other")).status_code == 404


async def test_names_may_have_blanks_and_signs(client):
    for name in ("two words", "a.b-c_d@e&f", "7", "_x"):
        assert (await client.put(f"/actions/{name}", json=ECHO)).json()["name"] == name
        assert (await client.get(f"/actions/{name}")).status_code == 200


@pytest.mark.parametrize("name", ["$", "a$b", "x" * 257, "a/b/c", "%20lead", "星桥", "a%00b"])
async def test_a_name_that_is_none_is_refused(client, name):
    for method in ("PUT", "GET", "DELETE", "POST"):
        answer = await client.request(method, f"/actions/{name}", json=ECHO)
        assert answer.status_code == 400, method
        assert answer.json()["error"]


async def test_a_package_that_does_not_exist_is_not_found(client):
    for method in ("PUT", "GET", "DELETE", "POST"):
        assert (await client.request(method, "/actions/pkg/hello", json=ECHO)).status_code == 404


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, MALFORMED + "exec undefined"),
        ({"exec": None}, MALFORMED + "exec undefined"),
        ([], MALFORMED + "the body must be an object"),
        (None, MALFORMED + "the body must be an object"),
        ({"exec": {}}, MALFORMED + "'exec' must have a 'kind'"),
        ({"exec": "code"}, MALFORMED + "'exec' must have a 'kind'"),
        (
            {"exec": {"kind": "cobol:1", "code": "x"}},
            MALFORMED + "The specified runtime 'cobol:1' is not supported by this platform. "
            f"Valid values are: {KINDS}",
        ),
        ({"exec": {"kind": "python:3"}}, MALFORMED + "'exec.code' must be a string"),
        ({"exec": {"kind": "sequence", "components": []}}, "No component specified for the sequence."),
        ({"exec": {"kind": "sequence", "components": ["a"] * 51}}, "Too many actions in the sequence."),
        ({"exec": {"kind": "composition"}}, MALFORMED + "'exec.composition' is missing"),
        ({**ECHO, "limits": {"memory": 1024}}, "memory 1024 MB exceeds allowed threshold of 512 MB"),
        (
            {**ECHO, "limits": {"timeout": 300001}},
            "timeout 300001 milliseconds exceeds allowed threshold of 300000 milliseconds",
        ),
        ({**ECHO, "limits": {"timeout": "1"}}, MALFORMED + "limit 'timeout' must be an int"),
        ({**ECHO, "publish": "yes"}, MALFORMED + "'publish' must be true or false"),
    ],
)  # fmt: skip
async def test_what_is_malformed_is_refused_with_a_text_that_says_so(client, body, text):
    answer = await client.put("/actions/hello", json=body)

    assert (answer.status_code, answer.json()["error"]) == (400, text)
    assert (await client.get("/actions/hello")).status_code == 404


async def test_parameters_over_their_limit_are_refused(client):
    body = {**ECHO, "parameters": [{"key": "big", "value": "x" * (1 << 20)}]}

    answer = await client.put("/actions/hello", json=body)

    assert answer.status_code == 413
    assert answer.json()["error"].startswith("Parameters larger than allowed: ")


async def test_code_over_its_limit_is_refused(client):
    body = {"exec": {"kind": "python:3", "code": "x" * (MAX_CODE_BYTES + 1)}}

    answer = await client.put("/actions/hello", json=body)

    assert answer.status_code == 413
    assert answer.json()["error"] == (
        f"Code larger than allowed: {MAX_CODE_BYTES + 1} > {MAX_CODE_BYTES} bytes."
    )


async def test_a_zip_file_is_binary_whatever_the_client_says(client):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr("__main__.py", "def main(params): return params")
    code = base64.b64encode(archive.getvalue()).decode()

    made = await client.put("/actions/zipped", json={"exec": {"kind": "python:3", "code": code}})

    assert made.json()["exec"]["binary"] is True


async def test_compositions_and_sequences_are_got_as_they_were_put(client):
    for name in "ab":
        await client.put(f"/actions/{name}", json=ECHO)
    document = composer.sequence("a", composer.retry(2, "b")).to_json()
    await client.put(
        "/actions/composed", json={"exec": {"kind": "composition", "composition": document}}
    )
    await client.put(
        "/actions/sequence", json={"exec": {"kind": "sequence", "components": ["/_/a", "b"]}}
    )
    sequence = (await client.get("/actions/sequence")).json()

    assert (await client.get("/actions/composed")).json()["exec"]["composition"] == document
    assert sequence["exec"]["components"] == ["/guest/a", "/guest/b"]
    assert sequence["parameters"] == [{"key": "_actions", "value": ["/guest/a", "/guest/b"]}]


async def test_what_is_deleted_is_gone_and_shown_once_more(client):
    made = (await client.put("/actions/hello", json=ECHO)).json()

    gone = await client.delete("/actions/hello")

    assert (gone.status_code, gone.json()) == (200, made)
    for method in ("GET", "DELETE", "POST"):
        answer = await client.request(method, "/actions/hello")
        assert answer.status_code == 404
        assert answer.json()["error"] == "The requested resource does not exist."


async def test_actions_are_listed_the_last_changed_first_without_their_code(world, client):
    for name in ("one", "two", "three"):
        world.clock.ms += 1
        await client.put(f"/actions/{name}", json=ECHO)
    world.clock.ms += 1
    await client.put("/actions/one", params={"overwrite": "true"}, json=ECHO)

    listed = (await client.get("/actions")).json()

    assert [action["name"] for action in listed] == ["one", "three", "two"]
    assert listed[0]["exec"] == {"binary": False}
    assert "parameters" not in listed[0]


async def test_a_list_is_read_in_pages_and_counted(world, client):
    for number in range(35):
        world.clock.ms += 1
        await client.put(f"/actions/a{number}", json=ECHO)

    async def listed(**query):
        return [action["name"] for action in (await client.get("/actions", params=query)).json()]

    newest_first = [f"a{number}" for number in reversed(range(35))]
    assert await listed() == newest_first[:30]
    assert await listed(limit=0) == newest_first
    assert await listed(limit=5, skip=10) == newest_first[10:15]
    assert await listed(skip=100) == []
    assert (await client.get("/actions", params={"count": "true"})).json() == {"actions": 35}


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"limit": "201"}, "The value '201' is not in the range of 0 to 200 for actions."),
        ({"limit": "ten"}, "The value 'ten' is not an integer for actions."),
        ({"limit": ""}, "The value '' is not an integer for actions."),
        ({"limit": "-1"}, "The value '-1' is not greater than or equal to 0 for actions."),
        ({"skip": "-1"}, "The value '-1' is not greater than or equal to 0 for actions."),
        ({"count": "perhaps"}, "The query parameter 'count' was malformed: 'perhaps' is not a boolean."),
    ],
)  # fmt: skip
async def test_a_page_that_is_none_is_refused(client, query, text):
    answer = await client.get("/actions", params=query)

    assert (answer.status_code, answer.json()["error"]) == (400, text)


async def test_an_action_outlives_a_restart(world):
    from tests.kit.http.worlds import world as opened

    made = await world.put("hello", "echo")
    await world.put("gone", "echo")
    await world.client.delete("/actions/gone")

    async with opened(world.store) as second:
        assert (await second.client.get("/actions/hello")).json() == made
        assert (await second.client.get("/actions/gone")).status_code == 404
