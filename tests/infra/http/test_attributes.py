"""Attributes over HTTP: declared, given, and found by."""

from __future__ import annotations

import json

import pytest

from xingqiao import composer
from xingqiao.composer import path


@pytest.fixture
async def deployed(world, client):
    for word in ("echo", "fail", "hold"):
        await world.put(word, word)
    await world.put("good", composer.sequence("echo", "echo"))
    await world.put("bad", composer.sequence("echo", "fail"))
    await world.put("long", composer.sequence("echo", "hold", "echo"))
    await world.put(
        "noting",
        composer.sequence(composer.annotate(customer=path("$.c"), wrong=1), "hold"),
    )
    for name, type in {"customer": "text", "amount": "number", "tags": "keywords"}.items():
        answer = await client.put(f"/attributes/{name}", json={"type": type})
        assert answer.json() == {"name": name, "type": type}
    return world


async def start(world, name, params=None, **attributes):
    world.clock.ms += 1000
    query = {"attributes": json.dumps(attributes)} if attributes else {}
    answer = await world.client.post(f"/actions/{name}", params=query, json=params or {})
    assert answer.status_code == 202, answer.text
    return answer.json()["activationId"]


async def found(client, where, **query):
    answer = await client.get("/executions", params={"where": where, **query})
    assert answer.status_code == 200, answer.text
    return [execution["executionId"] for execution in answer.json()["executions"]]


async def refused(client, where, **query):
    answer = await client.get("/executions", params={"where": where, **query})
    assert answer.status_code == 400, answer.text
    return answer.json()


async def test_an_execution_is_found_by_its_attributes_at_once(deployed, client):
    one = await start(deployed, "long", customer="anna", amount=3)
    two = await start(deployed, "long", customer="bert", amount=4.5, tags=["x", "y"])

    assert await found(client, "customer = 'anna'") == [one]
    assert await found(client, "amount between 3 and 5 order by started asc") == [one, two]
    assert await found(client, "tags = 'y' and status = 'running'") == [two]
    assert await found(client, "customer is null") == []


async def test_attributes_and_memo_are_shown(deployed, client):
    query = {"attributes": '{"customer": "anna"}', "memo": '{"why": ["a", 1]}'}
    answer = await client.post("/actions/good", params=query, json={})
    id = answer.json()["activationId"]
    await deployed.record(id)

    shown = (await client.get(f"/executions/{id}")).json()

    assert (shown["attributes"], shown["memo"]) == ({"customer": "anna"}, {"why": ["a", 1]})
    assert await found(client, "customer = 'anna' and status = 'succeeded'") == [id]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"attributes": '{"custmer": "a"}'}, "no attribute 'custmer'; there are amount, customer, tags"),
        ({"attributes": '{"customer": 3}'}, "The attribute 'customer' must be text, not 3."),
        ({"attributes": '{"amount": true}'}, "The attribute 'amount' must be a number, not True."),
        ({"attributes": "[]"}, "'attributes' must be a JSON object"),
        ({"attributes": "{"}, "The query parameter 'attributes' was malformed"),
        ({"memo": "[" * 1000 + "]" * 1000}, "nests deeper"),
    ],
)  # fmt: skip
async def test_a_start_with_attributes_that_do_not_fit_is_refused(deployed, client, given, text):
    answer = await client.post("/actions/good", params=given, json={})

    assert answer.status_code == 400
    assert text in answer.json()["error"]
    assert await found(client, "") == []


async def test_a_memo_is_bounded(deployed, client):
    id = await start(deployed, "long")

    answer = await client.post(f"/executions/{id}/annotate", json={"memo": "x" * (64 << 10)})

    assert answer.status_code == 413
    assert "The memo takes 65538 bytes" in answer.json()["error"]


async def test_a_composition_annotates_its_execution(deployed, client):
    id = await start(deployed, "noting", {"c": "anna"})
    await deployed.standing(id)

    assert await found(client, "customer = 'anna'") == [id]
    history = (await client.get(f"/executions/{id}/history")).json()["entries"]
    kinds = [entry["type"] for entry in history]
    assert kinds[:2] == ["ExecutionStarted", "Annotated"]
    refusal = history[kinds.index("AnnotationRefused")]
    assert refusal["name"] == "wrong"
    assert "no attribute 'wrong'; there are amount, customer, tags" in refusal["why"]


async def test_an_operator_annotates_what_runs_and_what_has_ended(deployed, client):
    running = await start(deployed, "long", customer="anna")
    ended = await deployed.ended("good")
    for id in (running, ended):
        body = {"attributes": {"customer": None, "amount": 7}, "memo": "looked at"}
        answer = await client.post(f"/executions/{id}/annotate", json=body)
        assert answer.json() == {
            "executionId": id, "attributes": {"amount": 7}, "memo": "looked at",
        }  # fmt: skip

    assert await found(client, "amount = 7") == [ended, running]
    assert await found(client, "customer is not null") == []
    assert (await client.get(f"/executions/{ended}")).json()["memo"] == "looked at"
    unknown = await client.post(f"/executions/{'0' * 32}/annotate", json={})
    assert unknown.status_code == 404
    wrong = await client.post(f"/executions/{ended}/annotate", json={"attributes": {"amount": "7"}})
    assert "The attribute 'amount' must be a number" in wrong.json()["error"]
    odd = await client.post(f"/executions/{ended}/annotate", json={"attribute": {}})
    assert "'attribute' is not known: give attributes or memo." in odd.json()["error"]


async def test_pages_go_on_after_a_cursor_while_executions_begin(deployed, client):
    ids = [await start(deployed, "good", amount=n) for n in range(5)]
    for id in ids:
        await deployed.record(id)
    seen, after = [], {}
    while True:
        answer = await client.get(
            "/executions", params={"where": "amount >= 0", "limit": 2, **after}
        )
        page = answer.json()
        seen += [execution["executionId"] for execution in page["executions"]]
        if "next" not in page:
            break
        after = {"after": page["next"]}
        await start(deployed, "good", amount=9)

    assert seen == ids[::-1]


async def test_executions_are_counted_by_status(deployed, client):
    for name in ("good", "good", "bad"):
        await deployed.record(await start(deployed, name, amount=1))
    await start(deployed, "long", amount=1)

    answer = await client.get(
        "/executions/count", params={"where": "amount = 1", "group": "status"}
    )

    assert answer.json() == {"count": 4, "groups": {"running": 1, "succeeded": 2, "failed": 1}}
    answer = await client.get("/executions/count", params={"where": "action = 'good'"})
    assert answer.json() == {"count": 2}
    answer = await client.get("/executions/count", params={"group": "color"})
    assert "'group' must be status, not 'color'." in answer.json()["error"]


async def test_a_filter_that_is_wrong_says_where_and_what_would_do(deployed, client):
    body = await refused(client, "status = 'ok' and custmer = 'a'")

    assert body["code"] == "InvalidFilter"
    assert body["error"].startswith(
        "InvalidFilter: at 18: no attribute 'custmer'; there are amount, customer, tags"
    )


@pytest.mark.parametrize("after", ["x", "e30", "WyJzdGFydGVkIixmYWxzZSwiMSIsMl0", "!"])
async def test_a_cursor_must_be_one(deployed, client, after):
    assert "'after' is not a cursor" in (await refused(client, "", after=after))["error"]


async def test_a_cursor_is_of_one_order(deployed, client):
    for n in range(2):
        await start(deployed, "good", amount=n)
    page = (await client.get("/executions", params={"where": "", "limit": 1})).json()

    body = await refused(client, "order by ended", after=page["next"])

    assert "'after' is of a list in another order" in body["error"]
    assert "'skip' does not go with 'where'" in (await refused(client, "", skip=3))["error"]


async def test_attributes_are_declared_listed_and_deleted(deployed, client):
    listed = (await client.get("/attributes")).json()
    assert listed == [
        {"name": "amount", "type": "number"}, {"name": "customer", "type": "text"},
        {"name": "tags", "type": "keywords"},
    ]  # fmt: skip
    assert (await client.get("/attributes/amount")).json() == listed[0]
    again = await client.put("/attributes/amount", json={"type": "number"})
    assert again.status_code == 200
    other = await client.put("/attributes/amount", json={"type": "text"})
    assert other.status_code == 409
    assert "is declared as number. Delete it first" in other.json()["error"]
    id = await start(deployed, "long", amount=1)

    assert (await client.delete("/attributes/amount")).status_code == 200
    assert (await client.get("/attributes/amount")).status_code == 404
    assert "no attribute 'amount'" in (await refused(client, "amount = 1"))["error"]
    await client.put("/attributes/amount", json={"type": "boolean"})
    assert await found(client, "amount = true") == []  # the value 1 was a number
    await client.post(f"/executions/{id}/annotate", json={"attributes": {"amount": True}})
    assert await found(client, "amount = true") == [id]


@pytest.mark.parametrize(
    ("name", "body", "text"),
    [
        ("status", {"type": "text"}, "The name 'status' has a meaning in filters"),
        ("a-b", {"type": "text"}, "The attribute's name 'a-b' is not valid"),
        ("a", {"type": "date"}, "'type' must be one of text, number, boolean, instant, keywords"),
        ("a", {}, "'type' must be one of"),
        ("a", {"type": "text", "size": 1}, "'size' is not known: give the type."),
        ("a", {"type": "text", "name": "b"}, "'name' differs from the name in the path"),
    ],
)
async def test_a_declaration_that_is_wrong_is_refused(world, client, name, body, text):
    answer = await client.put(f"/attributes/{name}", json=body)

    assert answer.status_code == 400
    assert text in answer.json()["error"]


async def test_a_namespace_declares_forty(world, client):
    for n in range(40):
        assert (await client.put(f"/attributes/a{n}", json={"type": "text"})).status_code == 200

    answer = await client.put("/attributes/more", json={"type": "text"})

    assert "at most 40 attributes" in answer.json()["error"]
