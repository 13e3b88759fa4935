"""Stuck sagas and transactions in doubt over HTTP: what an operator sees and decides."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.kit.http.worlds import OPERATOR, PAYLOAD_BYTES
from tests.kit.http.worlds import world as opened
from xingqiao import composer
from xingqiao.composer import Failure, Success, call, parallel, participant, saga, step, transaction
from xingqiao.infra.service.telemetry import metrics_of

START = 1_700_000_000_000  # of the world's clock
UNKNOWN = "0" * 32
NOT_FOUND = "The requested resource does not exist."
ENTITY = [{"key": "entity", "value": True}]
LUCKLESS = Failure("Down", {"code": "Down", "message": "no luck"})
REFUSES = step("fail", no_undo="it refuses")
TRIP = saga(step("echo", undo="echo"), step("echo", undo="hold", undo_retries=0), REFUSES)
WIDE = saga(parallel(*[step("echo", undo="hold", undo_retries=0)] * 2), REFUSES)
FORWARD = saga(
    step("echo", pivot=True),
    step("hold", retriable=True, retries=1, delay=0),
    step("hold", retriable=True),
)


@pytest.fixture
async def deployed(world):
    for word in ("echo", "fail", "hold"):
        await world.put(word, word)
    await world.put("account", "account", annotations=ENTITY)
    await world.put("trip", TRIP)
    await world.put("wide", WIDE)
    await world.put("forward", FORWARD)
    return world


async def ends(world, outcome):
    """Ends the next step that is held. Returns what it was given."""
    held = await world.hands.held.get()
    world.hands.answer(held.activation, outcome)
    return held.params


async def stuck(world, name, *, failures=1):
    """A saga that has got stuck, by so many failures. Returns its id."""
    id = await world.start(name, {"n": 1})
    for _ in range(failures):
        await ends(world, LUCKLESS)
    await stuck_at(world, id, failures if name == "wide" else 1)
    return id


async def stuck_at(world, id, places=1):
    """How a saga stands, as soon as it is stuck at so many places."""
    waits = ["branches"] * (places > 1) + ["operator"] * places
    return (await world.standing(id, status="stuck", waits=waits))["fibers"][-places:]


async def does(world, id, verb, **fields):
    return await world.client.post(f"/sagas/{id}", json={"do": verb, **fields})


async def entries(world, id, kind):
    answer = await world.client.get(f"/executions/{id}/history", params={"limit": 1000})
    return [entry for entry in answer.json()["entries"] if entry["type"] == kind]


async def listed(client, **query):
    answer = await client.get("/sagas", params=query)
    assert answer.status_code == 200, answer.text
    return [doc["executionId"] for doc in answer.json()]


def refused(answer, status):
    assert answer.status_code == status, answer.text
    return answer.json()["error"]


# --- looking -----------------------------------------------------------------------------------


async def test_a_saga_that_cannot_be_undone_is_helped_to_its_end(deployed, client):
    id = await stuck(deployed, "trip")
    assert await listed(client) == [id]
    found = (await client.get(f"/sagas/{id}")).json()
    assert found["status"] == "stuck"
    assert found["fibers"] == [
        {
            "fiber": "0",
            "turn": 4,
            "waits": "operator",
            "code": "Down",
            "error": {"code": "Down", "message": "no luck"},
            "message": "Down: no luck",
            "undoing": "components[1]",
            "input": {"input": {"n": 1}, "result": {"n": 1}},
            "left": ["components[0]"],
        }
    ]

    retried = await does(deployed, id, "retry")
    assert (retried.status_code, retried.json()["status"]) == (202, "running")
    assert await listed(client) == []
    assert await ends(deployed, LUCKLESS) == {"input": {"n": 1}, "result": {"n": 1}}
    await stuck_at(deployed, id)
    assert await listed(client) == [id]

    skipped = await does(deployed, id, "skip", reason="the hotel was paid back by hand")
    assert skipped.status_code == 202
    record = await deployed.record(id)
    assert record["response"]["result"] == {"error": "no luck"}, "it fails as its step did"
    assert await listed(client) == []
    (resumed,) = await entries(deployed, id, "Resumed")
    assert resumed["by"] == "guest"
    (resolved,) = await entries(deployed, id, "Resolved")
    assert {name: resolved[name] for name in ("how", "by", "reason")} == {
        "how": "skip",
        "by": "guest",
        "reason": "the hotel was paid back by hand",
    }
    undone = [entry["path"] for entry in await entries(deployed, id, "StepUndone")]
    assert undone == ["components[0]"], "what was left is undone"

    again = await does(deployed, id, "skip", reason="again")
    assert refused(again, 409) == f"Execution {id} has ended: it has failed."


async def test_stuck_ones_are_listed_or_those_of_another_status(deployed, client):
    first, second = await stuck(deployed, "trip"), await stuck(deployed, "trip")
    other = await stuck(deployed, "forward", failures=2)

    assert await listed(client) == [other, second, first]
    assert await listed(client, limit=1, skip=1) == [second]
    assert await listed(client, name="forward") == [other]
    assert await listed(client, upto=START + 2000) == [second, first]
    await does(deployed, first, "skip", reason="by hand")
    await deployed.record(first)
    assert await listed(client, status="failed") == [first]
    assert await listed(client, status="unheard of") == []
    assert "sagas" in refused(await client.get("/sagas", params={"limit": 201}), 400)


async def test_one_that_never_was_is_not_found(deployed, client):
    for id in (UNKNOWN, "nonsense"):
        assert refused(await client.get(f"/sagas/{id}"), 404) == NOT_FOUND
        for verb, fields in (
            ("retry", {}),
            ("retry", {"params": {}}),
            ("skip", {"reason": "by hand"}),
            ("resolve", {"reason": "by hand", "result": {}}),
        ):
            assert refused(await does(deployed, id, verb, **fields), 404) == NOT_FOUND


async def test_only_one_that_is_stuck_can_be_helped(deployed):
    await deployed.put("patient", composer.retry(0, "fail", on_exhausted="pause"))
    running, paused = await deployed.start("trip"), await deployed.start("patient")
    await deployed.standing(paused, status="paused")

    for verb, fields in (("retry", {}), ("skip", {"reason": "so"}), ("resolve", {"reason": "so"})):
        on_its_way = await does(deployed, running, verb, **fields)
        waiting = await does(deployed, paused, verb, **fields)
        assert refused(on_its_way, 409) == f"Execution {running} is not paused."
        assert refused(waiting, 409) == f"Execution {paused} is not stuck."


# --- helping -----------------------------------------------------------------------------------


async def test_an_undo_is_tried_again_with_another_input(deployed):
    id = await stuck(deployed, "trip")

    await does(deployed, id, "retry", params={"booking": 7}, reason="the number was wrong")

    assert await ends(deployed, Success({})) == {"booking": 7}
    assert (await deployed.record(id))["response"]["result"] == {"error": "no luck"}
    assert (await entries(deployed, id, "Resumed"))[0]["reason"] == "the number was wrong"
    undone = [entry["path"] for entry in await entries(deployed, id, "StepUndone")]
    assert undone == ["components[1]", "components[0]"]


async def test_an_undo_that_was_tried_again_may_be_tried_again(deployed):
    id = await stuck(deployed, "trip")

    for number in range(3):
        await does(deployed, id, "retry", params={"number": number})
        assert await ends(deployed, LUCKLESS) == {"number": number}
        (fiber,) = await stuck_at(deployed, id)

    assert fiber["undoing"] == "components[1]"
    assert len(await entries(deployed, id, "Stuck")) == 4


@pytest.mark.parametrize(
    ("fields", "given"),
    [
        ({"result": {"shipped": True}}, {"shipped": True}),
        ({"result": 5}, {"value": 5}),
        ({"result": [1]}, {"value": [1]}),
        ({"result": False}, {"value": False}),
        ({"result": None}, {}),
        ({}, {}),
    ],
)
async def test_a_step_after_the_pivot_is_resolved_with_the_result_that_it_would_have_had(
    deployed, fields, given
):
    id = await stuck(deployed, "forward", failures=2)
    (fiber,) = await stuck_at(deployed, id)
    assert (fiber["doing"], fiber["input"]) == ("components[1]", {"n": 1})
    assert (await entries(deployed, id, "Stuck"))[0]["attempts"] == 2

    answer = await does(deployed, id, "resolve", reason="sent by post", **fields)

    assert answer.status_code == 202
    assert await ends(deployed, Success({"done": True})) == given
    assert (await deployed.record(id))["response"]["result"] == {"done": True}
    (resolved,) = await entries(deployed, id, "Resolved")
    assert (resolved["how"], resolved["reason"]) == ("resolve", "sent by post")


async def test_a_step_after_the_pivot_is_tried_again_or_skipped(deployed):
    id = await stuck(deployed, "forward", failures=2)

    await does(deployed, id, "retry", params={"m": 2})
    assert await ends(deployed, LUCKLESS) == {"m": 2}
    assert await ends(deployed, LUCKLESS) == {"m": 2}, "with as many retries as before"
    await stuck_at(deployed, id)
    await does(deployed, id, "skip", reason="nobody needs it")

    assert await ends(deployed, Success({"done": True})) == {}
    assert (await deployed.record(id))["response"]["success"] is True


async def test_one_of_several_places_is_helped_by_itself(deployed):
    id = await stuck(deployed, "wide", failures=2)
    first, second = await stuck_at(deployed, id, 2)
    assert [first["undoing"], second["undoing"]] == [
        "components[0].components[0]",
        "components[0].components[1]",
    ]

    await does(deployed, id, "skip", reason="by hand", fiber=first["fiber"])
    left = await deployed.standing(id, status="stuck", waits=["branches", "operator"])
    assert left["fibers"][1]["fiber"] == second["fiber"]
    gone = await does(deployed, id, "skip", reason="by hand", fiber=first["fiber"])
    text = f"Execution {id} is not stuck in fiber {first['fiber']}."
    assert refused(gone, 409) == text
    await does(deployed, id, "retry", params={"other": 1}, fiber=second["fiber"])

    assert await ends(deployed, Success({})) == {"other": 1}
    assert (await deployed.record(id))["response"]["result"] == {"error": "no luck"}


async def test_what_one_step_is_given_is_not_given_to_several(deployed):
    id = await stuck(deployed, "wide", failures=2)
    names = [fiber["fiber"] for fiber in await stuck_at(deployed, id, 2)]

    for verb, fields in (
        ("retry", {"params": {"n": 2}}),
        ("resolve", {"reason": "so", "result": {}}),
    ):
        answer = await does(deployed, id, verb, **fields)
        assert refused(answer, 409) == (
            f"Execution {id} is stuck in several fibers: say in 'fiber' which of {names[0]}, {names[1]}."
        )

    await does(deployed, id, "retry")
    for _ in names:
        await ends(deployed, LUCKLESS)
    await stuck_at(deployed, id, 2)
    await does(deployed, id, "skip", reason="both by hand")
    assert (await deployed.record(id))["response"]["success"] is False
    assert len(await entries(deployed, id, "Resolved")) == 2


async def test_one_that_is_cancelled_stays_stuck_and_ends_as_cancelled(deployed, client):
    id = await stuck(deployed, "trip")

    cancelled = await client.post(f"/executions/{id}/cancel")

    assert (cancelled.status_code, cancelled.json()["status"]) == (202, "stuck")
    await does(deployed, id, "skip", reason="by hand")
    await deployed.standing(id, status="cancelled")


async def test_one_that_is_stuck_outlives_a_restart(deployed):
    id = await stuck(deployed, "trip")

    async with opened(deployed.store) as second:
        assert await listed(second.client) == [id]
        (fiber,) = await stuck_at(second, id)
        assert fiber["undoing"] == "components[1]"
        await does(second, id, "skip", reason="by hand")
        assert (await second.record(id))["response"]["result"] == {"error": "no luck"}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "'do' must be one of retry, skip, resolve, not None"),
        ({"do": "undo"}, "'do' must be one of retry, skip, resolve, not 'undo'"),
        ({"do": ["retry"]}, "'do' must be one of retry, skip, resolve, not ['retry']"),
        ({"do": "skip"}, "'reason' must say why, in 1 to 1000 characters"),
        ({"do": "resolve"}, "'reason' must say why"),
        ({"do": "skip", "reason": ""}, "'reason' must say why"),
        ({"do": "skip", "reason": "  "}, "'reason' must say why"),
        ({"do": "skip", "reason": "r" * 1001}, "'reason' must say why"),
        ({"do": "skip", "reason": 1}, "'reason' must say why"),
        ({"do": "retry", "reason": None}, "'reason' must say why"),
        ({"do": "retry", "params": [1]}, "'params' must be an object, not [1]"),
        ({"do": "retry", "fiber": 0}, "'fiber' must be a string, not 0"),
        ({"do": "retry", "fibre": "0"}, "A saga's retry has no member 'fibre'; it takes do, fiber,"),
        ({"do": "retry", "result": {}}, "A saga's retry has no member 'result'"),
        ({"do": "skip", "reason": "so", "result": {}}, "A saga's skip has no member 'result'"),
        ({"do": "skip", "reason": "so", "params": {}}, "A saga's skip has no member 'params'"),
        ({"do": "resolve", "reason": "so", "params": {}}, "A saga's resolve has no member 'params'"),
        ({"do": "resolve", "reason": "so", "result": {"error": 1}}, "'result' has a member 'error'"),
    ],
)  # fmt: skip
async def test_help_that_is_malformed_changes_nothing(deployed, client, body, text):
    id = await stuck(deployed, "trip")

    answer = await client.post(f"/sagas/{id}", json=body)

    assert refused(answer, 400).startswith(text)
    assert await listed(client) == [id]


async def test_help_has_a_size(deployed, client):
    id = await stuck(deployed, "trip")
    long = {"do": "skip", "reason": "r" * 1000}

    large = await does(deployed, id, "retry", params={"text": "x" * PAYLOAD_BYTES})
    unknown = await does(deployed, id, "retry", fiber="elsewhere")

    assert large.status_code == 413
    assert refused(unknown, 409) == f"Execution {id} is not stuck in fiber elsewhere."
    assert refused(await client.post(f"/sagas/{id}", content="[]"), 400)
    assert (await client.post(f"/sagas/{id}", json=long)).status_code == 202


# --- the alarm ---------------------------------------------------------------------------------


async def test_a_trigger_fires_each_time_that_a_saga_gets_stuck(deployed, client):
    await deployed.put("pager", "hold")
    await client.put("/triggers/saga-stuck", json={"parameters": [{"key": "to", "value": "ops"}]})
    await client.put("/rules/page", json={"trigger": "/_/saga-stuck", "action": "/_/pager"})
    told = {"to": "ops", "action": "/guest/trip", "error": LUCKLESS.error}

    id = await stuck(deployed, "trip")
    assert await ends(deployed, Success({})) == {**told, "executionId": id}
    await does(deployed, id, "retry")
    await ends(deployed, LUCKLESS)

    assert await ends(deployed, Success({})) == {**told, "executionId": id}
    fires = await client.get("/activations", params={"name": "saga-stuck"})
    assert len(fires.json()) == 2


async def test_a_saga_that_is_stuck_at_several_places_is_one_alarm(deployed, client):
    await deployed.put("pager", "hold")
    await client.put("/triggers/saga-stuck", json={})
    await client.put("/rules/page", json={"trigger": "/_/saga-stuck", "action": "/_/pager"})

    id = await stuck(deployed, "wide", failures=2)

    assert (await ends(deployed, Success({})))["executionId"] == id
    await does(deployed, id, "skip", reason="by hand")
    await deployed.record(id)
    fires = await client.get("/activations", params={"name": "saga-stuck"})
    assert len(fires.json()) == 1


# --- transactions in doubt ---------------------------------------------------------------------


async def message(world, key, kind, id="t-1", **fields):
    """A coordinator's message, as one elsewhere sends it. Returns the answer."""
    now_ms = world.clock.ms
    about = {"id": id, "kind": kind, "deadline": now_ms + 30_000, "started": now_ms}
    answer = await world.client.post(
        "/actions/account",
        params={"blocking": "true", "result": "true"},
        json={"key": key, "transaction": about, **fields},
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


async def prepared(world, key="a", id="t-1", n=5):
    """Leaves an entity in doubt."""
    operations = [{"operation": "add", "params": {"n": n}}]
    vote = await message(world, key, "prepare", id, operations=operations)
    assert vote == {"vote": "yes", "results": [{"n": n}]}


async def votes(world, **query):
    answer = await world.client.get("/transactions", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def decided(world, decision, id="t-1", reason="the other side says so"):
    body = {"decision": decision, "reason": reason}
    return await world.client.post(f"/transactions/{id}", json=body)


async def state(world, key="a"):
    answer = await world.client.get(f"/entities/account/keys/{key}")
    return answer.json().get("state")


def figure(world, name):
    """A figure that the service tells Prometheus."""
    clouds = SimpleNamespace(ended={}, repeats={}, under_way=(0, 0))
    write = metrics_of(world.engine, SimpleNamespace(size=0, waiting=0, resent=0), clouds)
    lines = write().decode().splitlines()
    return float(next(line for line in lines if line.startswith(f"{name} ")).split()[1])


async def test_what_is_in_doubt_is_listed_locked_and_waited_for(deployed, client):
    assert await votes(deployed) == []

    await prepared(deployed)
    late = await client.post(
        "/entities/account/keys/a", json={"operation": "add"}, params={"timeout": 1}
    )

    assert await votes(deployed) == [
        {
            "transaction": "t-1",
            "entity": "/guest/account",
            "key": "a",
            "since": deployed.clock.ms,
            "state": "in doubt",
        }
    ]
    assert figure(deployed, "xingqiao_in_doubt") == 1
    assert await state(deployed) is None
    assert late.status_code == 202
    await message(deployed, "a", "commit")
    assert (await deployed.record(late.json()["activationId"]))["response"]["result"] == {"n": 6}
    assert await votes(deployed) == []
    assert figure(deployed, "xingqiao_in_doubt") == 0


@pytest.mark.parametrize(("decision", "after"), [("commit", {"n": 6}), ("abort", {"n": 1})])
async def test_an_operator_decides_and_the_coordinator_agrees(deployed, client, decision, after):
    await prepared(deployed)
    late = await client.post(
        "/entities/account/keys/a", json={"operation": "add"}, params={"timeout": 1}
    )

    answer = await decided(deployed, decision)

    assert (answer.status_code, answer.json()) == (
        200,
        {"transaction": "t-1", "decision": decision},
    )
    assert (await deployed.record(late.json()["activationId"]))["response"]["result"] == after
    (vote,) = await votes(deployed)
    assert (vote["state"], vote["decision"]) == ("decided", decision)
    assert (vote["by"], vote["reason"]) == ("guest", "the other side says so")
    assert await message(deployed, "a", decision) == {"done": decision}
    assert await votes(deployed) == []
    assert figure(deployed, "xingqiao_transactions_damaged_total") == 0


@pytest.mark.parametrize(("decision", "later"), [("commit", "abort"), ("abort", "commit")])
async def test_another_decision_later_is_damage_that_is_told_until_it_is_forgotten(
    deployed, client, decision, later
):
    await prepared(deployed)
    await decided(deployed, decision)
    before = await state(deployed)

    assert await message(deployed, "a", later) == {"done": later}

    (vote,) = await votes(deployed)
    assert (vote["state"], vote["decision"], vote["by"]) == ("damaged", decision, "guest")
    assert figure(deployed, "xingqiao_transactions_damaged_total") == 1
    assert await state(deployed) == before, "what the operator has decided is done"
    gone = await client.delete("/transactions/t-1")
    assert (gone.status_code, gone.json()) == (200, {"transaction": "t-1"})
    assert await votes(deployed) == []
    assert refused(await client.delete("/transactions/t-1"), 404) == NOT_FOUND


async def test_what_was_decided_can_be_forgotten_before_it_is_heard_of(deployed, client):
    await prepared(deployed)
    await decided(deployed, "commit")

    assert (await client.delete("/transactions/t-1")).status_code == 200

    assert await votes(deployed) == []
    assert await message(deployed, "a", "abort") == {"done": "abort"}
    assert figure(deployed, "xingqiao_transactions_damaged_total") == 0


async def test_a_transaction_is_decided_at_all_its_entities_and_at_no_other_s(deployed):
    for key, id in (("a", "t-1"), ("b", "t-1"), ("c", "t-2")):
        await prepared(deployed, key, id)

    await decided(deployed, "commit")

    assert [(vote["key"], vote["state"]) for vote in await votes(deployed)] == [
        ("a", "decided"),
        ("b", "decided"),
        ("c", "in doubt"),
    ]
    assert [await state(deployed, key) for key in "abc"] == [{"n": 5}, {"n": 5}, None]
    assert [vote["key"] for vote in await votes(deployed, limit=1, skip=1)] == ["b"]
    answer = await deployed.client.get("/transactions", params={"limit": 201})
    assert "transactions" in refused(answer, 400)


async def test_one_is_decided_once_and_forgotten_after_that(deployed, client):
    assert refused(await decided(deployed, "commit"), 404) == NOT_FOUND
    assert refused(await client.delete("/transactions/t-1"), 404) == NOT_FOUND
    await prepared(deployed)

    early = await client.delete("/transactions/t-1")
    assert refused(early, 409) == "Transaction t-1 is in doubt: commit or abort it first."
    await decided(deployed, "commit")

    for decision in ("commit", "abort"):
        again = await decided(deployed, decision)
        assert refused(again, 409) == "Transaction t-1 is decided already: commit."


async def test_what_is_in_doubt_or_decided_outlives_a_restart(deployed):
    await prepared(deployed, "a", "t-1")
    await prepared(deployed, "b", "t-2")
    await decided(deployed, "commit", "t-2")

    async with opened(deployed.store) as second:
        assert [vote["state"] for vote in await votes(second)] == ["in doubt", "decided"]
        await message(second, "b", "abort", "t-2")
        assert figure(second, "xingqiao_transactions_damaged_total") == 1
        await decided(second, "abort")
        assert await state(second, "a") is None
        assert [vote["state"] for vote in await votes(second)] == ["decided", "damaged"]
        for id in ("t-1", "t-2"):
            assert (await second.client.delete(f"/transactions/{id}")).status_code == 200

    async with opened(deployed.store) as third:
        assert await votes(third) == []


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "'decision' must be commit or abort, not None"),
        ({"decision": "prepare", "reason": "so"}, "'decision' must be commit or abort, not 'prepare'"),
        ({"decision": ["commit"], "reason": "so"}, "'decision' must be commit or abort"),
        ({"decision": "commit"}, "'reason' must say why, in 1 to 1000 characters"),
        ({"decision": "commit", "reason": "r" * 1001}, "'reason' must say why"),
        ({"decision": "abort", "reason": "so", "key": "a"}, "A decision has no member 'key'; it takes"),
    ],
)  # fmt: skip
async def test_a_decision_that_is_malformed_changes_nothing(deployed, client, body, text):
    await prepared(deployed)

    answer = await client.post("/transactions/t-1", json=body)

    assert refused(answer, 400).startswith(text)
    assert [vote["state"] for vote in await votes(deployed)] == ["in doubt"]


async def test_one_that_a_composition_coordinates_names_it_and_ends_with_it(deployed):
    await deployed.put(
        "transfer",
        transaction(call("account", "a", "add", {"n": 5}), participant("hold", "echo", "echo")),
    )
    good = await deployed.start("transfer")
    held = await deployed.hands.held.get()
    (vote,) = await votes(deployed)
    assert (vote["executionId"], vote["state"]) == (good, "in doubt")
    deployed.hands.answer(held.activation, Success({}))
    assert (await deployed.record(good))["response"]["success"] is True
    assert (await state(deployed), await votes(deployed)) == ({"n": 5}, [])

    bad = await deployed.start("transfer")
    held = await deployed.hands.held.get()
    (vote,) = await votes(deployed)
    await decided(deployed, "abort", vote["transaction"])
    deployed.hands.answer(held.activation, Success({}))

    assert (await deployed.record(bad))["response"]["success"] is True
    (vote,) = await votes(deployed)
    assert (vote["executionId"], vote["state"], vote["decision"]) == (bad, "damaged", "abort")
    assert await state(deployed) == {"n": 5}
    assert figure(deployed, "xingqiao_transactions_damaged_total") == 1


# --- who may -----------------------------------------------------------------------------------

REQUESTS = [
    ("GET", "/sagas", None),
    ("GET", "/sagas/{id}", None),
    ("POST", "/sagas/{id}", {"do": "skip", "reason": "so"}),
    ("GET", "/transactions", None),
    ("POST", "/transactions/t-1", {"decision": "commit", "reason": "so"}),
    ("DELETE", "/transactions/t-1", None),
]


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
async def test_another_s_sagas_and_transactions_are_neither_seen_nor_decided(
    deployed, client, method, path, body
):
    id = await stuck(deployed, "trip")
    await prepared(deployed)
    stranger = deployed.caller(tuple(OPERATOR.split(":")))
    path = path.format(id=id)

    anybody = await deployed.caller().request(method, f"/api/v1/namespaces/_{path}", content="{")
    theirs = await stranger.request(method, f"/api/v1/namespaces/guest{path}", json=body)
    own = await stranger.request(method, f"/api/v1/namespaces/_{path}", json=body)

    assert anybody.status_code == 401
    assert theirs.status_code == 403
    assert own.json() == [] if own.status_code == 200 else own.status_code == 404
    assert await listed(client) == [id]
    assert [vote["state"] for vote in await votes(deployed)] == ["in doubt"]
