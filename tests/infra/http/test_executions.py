"""Executions over HTTP: where they stand, what has happened, and what an operator can do about it."""

from __future__ import annotations

import pytest

from tests.kit.http.worlds import world as opened
from xingqiao import composer
from xingqiao.composer import Failure, Success, path

UNKNOWN = "0" * 32
START = 1_700_000_000_000  # of the world's clock
NOT_FOUND = "The requested resource does not exist."
PATIENT = composer.retry(0, "fail", on_exhausted="pause")


@pytest.fixture
async def deployed(world):
    for word in ("echo", "fail", "hold"):
        await world.put(word, word)
    await world.put("good", composer.sequence("echo", "echo"))
    await world.put("bad", composer.sequence("echo", "fail"))
    await world.put("long", composer.sequence("echo", "hold", "echo"))
    await world.put("patient", PATIENT)
    return world


async def listed(client, **query):
    answer = await client.get("/executions", params=query)
    assert answer.status_code == 200, answer.text
    return [execution["executionId"] for execution in answer.json()]


async def steps(client, id):
    """What has happened, in words."""
    answer = await client.get(f"/executions/{id}/history", params={"limit": 1000})
    return [entry["type"] for entry in answer.json()["entries"]]


# --- looking -----------------------------------------------------------------------------------


async def test_one_that_has_ended_says_how(deployed, client):
    id = await deployed.ended("good", {"n": 1})

    found = (await client.get(f"/executions/{id}")).json()

    assert found == {
        "executionId": id,
        "namespace": "guest",
        "name": "good",
        "action": "/guest/good",
        "version": "0.0.1",
        "kind": "composition",
        "status": "succeeded",
        "start": START + 1000,
        "end": START + 1000,
        "program": found["program"],
        "startedBy": {"how": "invoke"},
        "fibers": [],
    }


async def test_one_under_way_says_what_each_of_its_fibers_waits_for(deployed, client):
    await deployed.put("fork", composer.parallel("hold", composer.wait(60), PATIENT))
    id = await deployed.start("fork")
    await deployed.hands.held.get()

    waits = ["branches", "action", "timer", "operator"]
    fibers = (await deployed.standing(id, status="paused", waits=waits))["fibers"]

    assert fibers[1]["action"] == "/guest/hold"
    assert fibers[2]["until"] == START + 61_000
    assert (fibers[3]["code"], fibers[3]["error"]) == ("ApplicationError", "no luck")


async def test_a_raised_exception_is_shown_by_its_class_and_in_one_line(deployed, client):
    await deployed.put("raise", "raise")
    await deployed.put("pick", composer.retry(1, "raise", errors=KeyError, on_exhausted="pause"))
    id = await deployed.start("pick")

    (fiber,) = (await deployed.standing(id, status="paused", waits=["operator"]))["fibers"]
    entries = (await client.get(f"/executions/{id}/history")).json()["entries"]

    assert (fiber["code"], fiber["message"]) == ("KeyError", "KeyError: 'oder'")
    failed = next(entry for entry in entries if entry["type"] == "StepFailed")
    assert (failed["code"], failed["message"]) == ("KeyError", "KeyError: 'oder'")
    assert failed["value"] == "'oder'"
    retried = next(entry for entry in entries if entry["type"] == "RetryScheduled")
    assert retried["code"] == "KeyError"


async def test_they_are_listed_by_status_name_and_time(deployed, client):
    good, bad = await deployed.ended("good"), await deployed.ended("bad")
    long, paused = await deployed.start("long"), await deployed.start("patient")
    await deployed.standing(paused, status="paused", waits=["operator"])

    assert await listed(client) == [paused, long, bad, good]
    for status, ids in {
        "running": [long], "paused": [paused], "succeeded": [good], "failed": [bad], "cancelled": [],
    }.items():  # fmt: skip
        assert await listed(client, status=status) == ids
    assert await listed(client, name="bad") == [bad]
    assert await listed(client, since=START + 3000) == [paused, long]
    assert await listed(client, upto=START + 2000) == [bad, good]
    assert await listed(client, limit=2, skip=1) == [long, bad]


async def test_steps_that_are_compositions_are_executions_that_name_their_parent(deployed, client):
    await deployed.put("outer", composer.sequence("good"))
    outer = await deployed.ended("outer")

    (inner,) = (await client.get("/executions", params={"name": "good"})).json()

    assert inner["parent"]["executionId"] == outer


async def test_history_is_read_page_by_page(deployed, client):
    id = await deployed.ended("good", {"n": 1})
    whole = (await client.get(f"/executions/{id}/history")).json()
    assert "next" not in whole
    assert [entry["seq"] for entry in whole["entries"]] == [*range(1, len(whole["entries"]) + 1)]
    assert whole["entries"][0]["value"] == {"n": 1}

    read, after = [], 0
    while after is not None:
        page = await client.get(f"/executions/{id}/history", params={"after": after, "limit": 2})
        assert len(page.json()["entries"]) <= 2
        read += page.json()["entries"]
        after = page.json().get("next")

    assert read == whole["entries"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"limit": "0"}, "The value '0' is not greater than or equal to 1 for history entries."),
        ({"limit": "1001"}, "The value '1001' is not in the range of 1 to 1000 for history entries."),
        ({"after": "-1"}, "The value '-1' is not greater than or equal to 0 for after."),
        ({"after": "start"}, "The value 'start' is not an integer for after."),
    ],
)  # fmt: skip
async def test_a_page_of_history_has_bounds(deployed, client, query, text):
    id = await deployed.ended("good")

    answer = await client.get(f"/executions/{id}/history", params=query)

    assert (answer.status_code, answer.json()["error"]) == (400, text)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("GET", "/history"),
        ("POST", "/cancel"),
        ("POST", "/resume"),
        ("POST", "/redrive"),
    ],
)
async def test_one_that_never_was_is_not_found(client, method, path):
    for id in (UNKNOWN, "nonsense", "a b"):
        answer = await client.request(method, f"/executions/{id}{path}")
        assert (answer.status_code, answer.json()["error"]) == (404, NOT_FOUND)


# --- cancel ------------------------------------------------------------------------------------


async def test_a_cancelled_one_abandons_its_step_and_runs_its_finalizer(deployed, client):
    await deployed.put("careful", composer.ensure("hold", "echo"))
    id = await deployed.start("careful")
    await deployed.hands.held.get()

    answer = await client.post(f"/executions/{id}/cancel")

    assert answer.status_code == 202
    assert answer.json()["executionId"] == id
    await deployed.standing(id, status="cancelled")
    done = (await client.get("/activations", params={"name": "echo"})).json()
    assert len(done) == 1, "the finalizer has run"
    assert (await deployed.record(id))["response"]["success"] is False


async def test_a_terminated_one_ends_at_once_without_its_finalizer(deployed, client):
    await deployed.put("careful", composer.ensure("hold", "echo"))
    id = await deployed.start("careful")
    await deployed.hands.held.get()

    answer = await client.post(f"/executions/{id}/cancel", params={"terminate": "true"})

    assert (answer.status_code, answer.json()["status"]) == (202, "cancelled")
    assert (await client.get("/activations", params={"name": "echo"})).json() == []


async def test_one_that_has_ended_cannot_be_cancelled(deployed, client):
    id = await deployed.ended("good")

    answer = await client.post(f"/executions/{id}/cancel")

    assert answer.status_code == 409
    assert answer.json()["error"] == f"Execution {id} has ended: it has succeeded."


# --- resume ------------------------------------------------------------------------------------


async def test_a_paused_one_tries_again_when_it_is_resumed(deployed, client):
    id = await deployed.start("patient", {"n": 1})
    await deployed.standing(id, status="paused")
    await deployed.client.put("/actions/fail", params={"overwrite": "true"},
                              json={"exec": {"kind": "python:3", "code": "echo"}})  # fmt: skip

    answer = await client.post(f"/executions/{id}/resume")

    assert answer.status_code == 202
    assert (await deployed.record(id))["response"]["result"] == {"n": 1}


async def test_only_a_paused_one_can_be_resumed(deployed, client):
    running, ended = await deployed.start("long"), await deployed.ended("good")

    for id, text in (
        (running, f"Execution {running} is not paused."),
        (ended, f"Execution {ended} has ended: it has succeeded."),
    ):
        answer = await client.post(f"/executions/{id}/resume")
        assert (answer.status_code, answer.json()["error"]) == (409, text)


# --- redrive -----------------------------------------------------------------------------------


async def test_a_failed_one_goes_on_from_the_step_that_failed(deployed, client):
    await deployed.put("two", composer.sequence("echo", "hold"))
    id = await deployed.start("two", {"n": 1})
    deployed.hands.answer((await deployed.hands.held.get()).activation, Failure("Down", "no"))
    assert (await deployed.record(id))["response"]["success"] is False

    answer = await client.post(f"/executions/{id}/redrive")

    assert (answer.status_code, answer.json()["status"]) == (202, "running")
    again = await deployed.hands.held.get()
    assert again.params == {"n": 1}
    deployed.hands.answer(again.activation, Success({"done": True}))
    found = await deployed.standing(id, status="succeeded")
    assert found["redriven"] == 1
    record = await client.get(f"/activations/{id}")
    assert record.json()["response"]["result"] == {"done": True}
    assert len(await listed(client)) == 1
    echoes = (await client.get("/activations", params={"name": "echo"})).json()
    assert len(echoes) == 1, "what was done stays done"


async def test_a_failed_one_goes_on_with_another_composition(deployed, client):
    await deployed.put("calculated", composer.sequence("echo", composer.raise_error("Wrong")))
    id = await deployed.ended("calculated", {"n": 1})
    fixed = composer.sequence("echo", composer.select({"m": path("$.n")}), "echo")

    refused = await client.post(f"/executions/{id}/redrive")
    answer = await client.post(f"/executions/{id}/redrive", json={"composition": fixed.to_json()})

    assert refused.status_code == 409
    assert "it would fail again" in refused.json()["error"]
    assert answer.status_code == 202
    await deployed.standing(id, status="succeeded")
    record = await client.get(f"/activations/{id}")
    assert record.json()["response"]["result"] == {"m": 1}


async def test_a_composition_that_does_not_agree_with_what_is_done_is_refused(deployed, client):
    id = await deployed.ended("bad")

    answer = await client.post(
        f"/executions/{id}/redrive", json={"composition": composer.sequence("hold").to_json()}
    )

    assert answer.status_code == 409
    assert (await client.get(f"/executions/{id}")).json()["status"] == "failed"


@pytest.mark.parametrize("composition", [{}, {"kind": "nonsense"}, "text", [1]])
async def test_a_composition_that_is_none_is_refused(deployed, client, composition):
    id = await deployed.ended("bad")

    answer = await client.post(f"/executions/{id}/redrive", json={"composition": composition})

    assert answer.status_code == 400
    assert answer.json()["error"].startswith("The request content was malformed:\n")


async def test_only_what_has_failed_can_be_redriven(deployed, client):
    good, running = await deployed.ended("good"), await deployed.start("long")

    for id, why in ((good, "has succeeded"), (running, "is still under way")):
        answer = await client.post(f"/executions/{id}/redrive")
        assert answer.status_code == 409
        assert why in answer.json()["error"]


async def test_a_plain_action_that_has_failed_is_no_execution_to_redrive(deployed, client):
    id = await deployed.ended("fail")

    assert (await client.get(f"/executions/{id}")).status_code == 404
    assert (await client.post(f"/executions/{id}/redrive")).status_code == 404
    assert await listed(client) == []


async def test_an_express_one_that_has_failed_is_redriven_as_any_other(deployed, client):
    await deployed.put("fast", composer.sequence("echo", "hold"),
                       annotations=[{"key": "durability", "value": "express"}])  # fmt: skip
    id = await deployed.start("fast", {"n": 1})
    deployed.hands.answer((await deployed.hands.held.get()).activation, Failure("Down", "no"))
    await deployed.record(id)

    answer = await client.post(f"/executions/{id}/redrive")

    assert answer.status_code == 202
    again = await deployed.hands.held.get()
    deployed.hands.answer(again.activation, Success({"done": True}))
    await deployed.standing(id, status="succeeded")


async def test_one_is_paused_and_resumed(deployed, client):
    id = await deployed.start("long")
    held = await deployed.hands.held.get()

    paused = await client.post(f"/executions/{id}/pause")
    deployed.hands.answer(held.activation, Success({"n": 2}))
    await deployed.standing(id, status="paused")
    resumed = await client.post(f"/executions/{id}/resume")

    assert (paused.status_code, paused.json()["status"]) == (202, "paused")
    assert resumed.status_code == 202
    assert (await deployed.record(id))["response"]["result"] == {"n": 2}


# --- answers by token --------------------------------------------------------------------------


@pytest.fixture
async def asked(deployed):
    """An execution that waits for an answer, and the token to give it with."""
    await deployed.put("ask", "hold", annotations=[{"key": "completion", "value": "callback"}])
    await deployed.put("approval", composer.sequence("ask", "echo"))
    id = await deployed.start("approval")
    invocation = await deployed.hands.held.get()
    deployed.hands.answer(invocation.activation, Success({"asked": True}))
    await deployed.standing(id, waits=["answer"])
    return id, invocation.token


async def test_the_first_answer_by_a_token_counts_and_needs_no_key(deployed, asked):
    id, token = asked
    anybody = deployed.caller()

    first = await anybody.post(f"/api/v1/completions/{token}", json={"approved": True})
    second = await anybody.post(f"/api/v1/completions/{token}", json={"approved": False})

    assert (first.status_code, first.json()) == (202, {"accepted": True})
    assert second.status_code == 409
    assert (await deployed.record(id))["response"]["result"] == {"approved": True}


async def test_an_answer_with_an_error_is_a_failure(deployed, asked):
    id, token = asked

    await deployed.caller().post(f"/api/v1/completions/{token}", json={"error": "refused"})

    assert (await deployed.record(id))["response"]["result"] == {"error": "refused"}


async def test_a_token_outlives_a_restart(deployed, asked):
    id, token = asked

    async with opened(deployed.store) as second:
        answer = await second.caller().post(f"/api/v1/completions/{token}", json={"late": True})
        assert answer.status_code == 202
        assert (await second.record(id))["response"]["result"] == {"late": True}


async def test_a_token_that_was_not_made_here_is_not_found(deployed, asked):
    _, token = asked
    forged = ("A" if token[0] != "A" else "B") + token[1:]

    for other in (forged, token[:-4], "x", "é", "%00", "A" * 5000):
        answer = await deployed.caller().post(f"/api/v1/completions/{other}", json={})
        assert (answer.status_code, answer.json()["error"]) == (404, NOT_FOUND)


@pytest.mark.parametrize("body", ["[]", "1", "{", "nul"])
async def test_an_answer_that_is_no_object_is_refused_and_leaves_the_step_open(
    deployed, asked, body
):
    id, token = asked
    answer = await deployed.caller().post(f"/api/v1/completions/{token}", content=body)
    assert answer.status_code == 400

    assert (
        await deployed.caller().post(f"/api/v1/completions/{token}", json={"ok": True})
    ).status_code == 202
    assert (await deployed.record(id))["response"]["result"] == {"ok": True}
