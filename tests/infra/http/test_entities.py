"""Entities over HTTP: types, keys, states, calls, and signals."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.kit.http.worlds import OPERATOR, PAYLOAD_BYTES
from tests.kit.http.worlds import world as opened
from xingqiao import composer
from xingqiao.actions import Quotas
from xingqiao.composer import Success, call, literal
from xingqiao.infra.engine import EngineSettings

START_S = 1_700_000_000  # of the world's clock
YEAR_S = 366 * 24 * 3600
NOT_FOUND = "The requested resource does not exist."
ENTITY = [{"key": "entity", "value": True}]
VERBS = [("GET", "k"), ("POST", "k"), ("DELETE", "k"), ("GET", None)]
ODD_KEYS = [
    "a", "a/b", "a//b", "/", "//a/", "a b", " ", "50%", "%2F", "%", "星桥", "é", "e\u0301", "a?b#c&d=e",
    "..", ".", "a/../b", "a:b", "+", "a+b", "\\", '"', "'", "<k>", "keys", "keys/k", "🚀", "k" * 512,
]  # fmt: skip


@pytest.fixture
async def bank(world):
    await world.put("account", "account", annotations=ENTITY)
    await world.put("echo", "echo")
    return world


def path_of(key, type="account"):
    """The path of an entity, or of all of its type."""
    quoted = "" if key is None else "/" + quote(key, safe="").replace(".", "%2E")
    return f"/entities/{type}/keys{quoted}"


async def asked(world, key, operation, params=None, *, query=None, **fields):
    body = {"operation": operation, "params": params or {}, **fields}
    return await world.client.post(path_of(key), json=body, params=query)


async def did(world, key, operation, params=None, **fields):
    answer = await asked(world, key, operation, params, **fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def keys(world, **query):
    answer = await world.client.get(path_of(None), params=query)
    assert answer.status_code == 200, answer.text
    return [doc["key"] for doc in answer.json()["entities"]]


def refused(answer, status=400):
    assert answer.status_code == status, answer.text
    return answer.json()["error"]


# --- types -------------------------------------------------------------------------------------


async def test_the_types_of_a_namespace_are_its_actions_that_are_entities(bank, client):
    bank.clock.ms += 1000
    await client.put("/packages/shop", json={})
    await bank.put("shop/cart", "account", annotations=[{"key": "entity", "value": {"version": 2}}])
    await bank.put("plain", "echo", annotations=[{"key": "entity", "value": False}])

    types = (await client.get("/entities")).json()
    second = (await client.get("/entities", params={"limit": 1, "skip": 1})).json()

    assert [(doc["namespace"], doc["name"]) for doc in types] == [
        ("guest/shop", "cart"),
        ("guest", "account"),
    ]
    assert [doc["name"] for doc in second] == ["account"]
    assert "entities" in refused(await client.get("/entities", params={"limit": 201}))
    assert "entities" in refused(await client.get("/entities", params={"skip": -1}))


@pytest.mark.parametrize(("method", "key"), VERBS)
async def test_what_is_no_entity_type_has_no_entities(bank, client, method, key):
    for type in ("echo", "never", "pack/never"):
        body = {"operation": "add"} if method == "POST" else None
        answer = await client.request(method, path_of(key, type), json=body)
        assert refused(answer, 404) == NOT_FOUND
    assert "name" in refused(await client.request(method, path_of(key, "$"), json={}))


async def test_a_type_in_a_package_has_entities_of_its_own(bank, client):
    await client.put("/packages/shop", json={})
    await bank.put("shop/account", "account", annotations=ENTITY)

    await did(bank, "a", "add", {"n": 1})
    await client.post(path_of("a", "shop/account"), json={"operation": "add", "params": {"n": 5}})

    found = (await client.get(path_of("a", "shop/account"))).json()
    assert (found["entity"], found["state"]) == ("/guest/shop/account", {"n": 5})
    assert (await client.get(path_of("a"))).json()["state"] == {"n": 1}


# --- calls -------------------------------------------------------------------------------------


async def test_an_operation_is_answered_with_its_result_and_an_id(bank, client):
    answer = await asked(bank, "a", "add", {"n": 2})

    assert (answer.status_code, answer.json()) == (200, {"n": 2})
    record = await bank.record(answer.headers["x-openwhisk-activation-id"])
    assert (record["name"], record["response"]["result"]) == ("account", {"n": 2})
    assert (await client.get(path_of("a"))).json() == {
        "entity": "/guest/account",
        "key": "a",
        "state": {"n": 2},
        "version": 1,
        "schema": 1,
        "updated": START_S * 1000,
    }


async def test_what_only_reads_changes_nothing_and_params_may_be_left_out(bank, client):
    await did(bank, "a", "add")

    assert await did(bank, "a", "look", read=True) == {"n": 1}
    assert (await client.post(path_of("a"), json={"operation": "look"})).json() == {"n": 1}
    assert await did(bank, "a", "$get") == {"state": {"n": 1}, "version": 1, "flag": None}
    liar = await asked(bank, "a", "add", read=True)
    assert (liar.status_code, liar.json()["error"]["code"]) == (502, "BadOperation")
    assert (await client.get(path_of("a"))).json()["version"] == 1


async def test_an_operation_that_fails_changes_nothing_and_its_error_is_the_answer(bank, client):
    answer = await asked(bank, "a", "explode")

    assert (answer.status_code, answer.json()) == (502, {"error": "no explode"})
    assert refused(await client.get(path_of("a")), 404) == NOT_FOUND


async def test_an_operation_for_another_version_fails(bank):
    await did(bank, "a", "add")

    stale = await asked(bank, "a", "add", expected_version=0)

    assert (stale.status_code, stale.json()["error"]["code"]) == (502, "VersionConflict")
    assert await did(bank, "a", "add", expected_version=1) == {"n": 2}


async def test_an_operation_that_is_asked_for_again_by_its_token_is_done_once(bank):
    first = await did(bank, "a", "add", token="t-1")

    assert await did(bank, "a", "add", token="t-1") == first == {"n": 1}
    assert await did(bank, "a", "add", token="t-2") == {"n": 2}
    assert await did(bank, "a", "add", token="t-4", undoes="t-3") == {}, "it was never done"
    never = await asked(bank, "a", "add", token="t-3")
    assert (never.status_code, never.json()["error"]["code"]) == (502, "TransactionEnded")


async def test_a_flag_keeps_others_out_and_reading_in(bank, client):
    await did(bank, "a", "add")
    assert await did(bank, "a", "$lock", by="me") == {"flag": "me"}

    other = await asked(bank, "a", "add", by="you")
    gone = await client.delete(path_of("a"))

    assert (await client.get(path_of("a"))).json()["flag"] == "me"
    for answer in (other, gone):
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "Locked")
    assert await did(bank, "a", "look", read=True) == {"n": 1}
    assert await did(bank, "a", "add", by="me") == {"n": 2}
    await did(bank, "a", "$unlock", by="me")
    assert await did(bank, "a", "add", by="you") == {"n": 3}


async def test_a_call_that_takes_longer_than_it_is_waited_for_goes_on(bank):
    late = await asked(bank, "a", "hold", query={"timeout": 1})

    assert (late.status_code, late.json()["status"]) == (202, "running")
    held = await bank.hands.held.get()
    assert held.params == {"state": None, "operation": "hold", "params": {}, "key": "a"}
    bank.hands.answer(held.activation, Success({"state": {"n": 9}, "result": {"done": True}}))
    assert (await bank.record(late.json()["activationId"]))["response"]["result"] == {"done": True}
    assert await did(bank, "a", "look") == {"n": 9}


@pytest.mark.parametrize("wait", ["0", "60001", "-1", "soon"])
async def test_a_wait_has_bounds(bank, client, wait):
    for method in ("POST", "DELETE"):
        body = {"operation": "add"} if method == "POST" else None
        answer = await client.request(method, path_of("a"), params={"timeout": wait}, json=body)
        assert "timeout" in refused(answer)
    assert await keys(bank) == []


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "'operation' must be the name of an operation, not None"),
        ({"operation": ""}, "'operation' must be the name of an operation, not ''"),
        ({"operation": 1}, "'operation' must be the name of an operation, not 1"),
        ({"operation": "add", "params": [1]}, "'params' must be an object, not [1]"),
        ({"operation": "add", "read": 1}, "'read' must be true or false, not 1"),
        ({"operation": "add", "expected_version": -1}, "'expected_version' must be a whole number"),
        ({"operation": "add", "expected_version": True}, "'expected_version' must be a whole"),
        (
            {"operation": "add", "token": ""},
            "'token' must be a string of 1 to 512 printable characters",
        ),
        ({"operation": "add", "token": "t" * 513}, "'token' must be a string of 1 to 512"),
        ({"operation": "add", "undoes": 5}, "'undoes' must be a string"),
        ({"operation": "add", "by": {}}, "'by' must be a string"),
        ({"operation": "add", "amount": 5}, "A call has no member 'amount'; it takes by, expected"),
        ({"operation": "add", "key": "b"}, "A call has no member 'key'"),
        ({"operation": "add", "transaction": {}}, "A call has no member 'transaction'"),
    ],
)
@pytest.mark.parametrize("query", [{}, {"signal": "true"}, {"signal": "true", "after": 5}])
async def test_a_call_that_is_malformed_is_refused_and_nothing_has_run(
    bank, client, body, text, query
):
    answer = await client.post(path_of("a"), json=body, params=query)

    assert refused(answer).startswith(text)
    assert (await client.get("/activations")).json() == []


@pytest.mark.parametrize("content", ["[]", "1", "{", "null"])
async def test_a_call_that_is_no_object_is_refused(bank, client, content):
    assert refused(await client.post(path_of("a"), content=content))


async def test_fields_that_are_null_are_left_out(bank, client):
    nothing = dict.fromkeys(("params", "read", "expected_version", "token", "undoes", "by"))

    answer = await client.post(path_of("a"), json={"operation": "add", **nothing})

    assert (answer.status_code, answer.json()) == (200, {"n": 1})


async def test_a_call_that_is_too_large_is_refused(bank):
    answer = await asked(bank, "a", "add", {"text": "x" * PAYLOAD_BYTES})

    assert answer.status_code == 413


async def test_query_parameters_that_nobody_knows_are_not_looked_at(bank, client):
    strange = {"colour": "blue", "blocking": "false", "result": "maybe"}

    assert await did(bank, "a", "add", query=strange) == {"n": 1}
    assert await keys(bank, **strange) == ["a"]
    assert (await client.get(path_of("a"), params=strange)).status_code == 200


# --- keys --------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ODD_KEYS)
async def test_a_key_is_any_text_that_can_be_printed(bank, client, key):
    assert await did(bank, key, "add", {"n": 7}) == {"n": 7}

    assert (await client.get(path_of(key))).json()["key"] == key
    assert await keys(bank) == [key]
    assert await keys(bank, prefix=key) == [key]
    assert await keys(bank, after=key) == []
    assert (await client.delete(path_of(key))).json() == {}
    assert await keys(bank) == []


@pytest.mark.parametrize("key", ["", "k" * 513, "\t", "a\u200bb", "\u2028", "\x7f", "\x00"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_what_is_no_key_is_refused(bank, client, method, key):
    body = {"operation": "add"} if method == "POST" else None
    path = "/entities/account/keys/" + quote(key, safe="")

    answer = await client.request(method, path, json=body)

    assert refused(answer).startswith("'key' must be a string of 1 to 512 printable characters")


@pytest.mark.parametrize("key", ["a\n", "a\nb", "\n"])
async def test_a_key_of_several_lines_is_no_other_entity_s(bank, client, key):
    await did(bank, "a", "add")

    for method in ("GET", "POST", "DELETE"):
        body = {"operation": "add"} if method == "POST" else None
        answer = await client.request(method, path_of(key), json=body)
        assert answer.status_code in (400, 404)
    assert (await client.get(path_of("a"))).json()["state"] == {"n": 1}


async def test_keys_are_listed_in_order_by_prefix_and_page_by_page(bank, client):
    names = ["a", "a/1", "a/2", "a0", "b", "é", "星"]
    for number, key in enumerate(reversed(names)):
        await did(bank, key, "add", {"n": number}, token=f"token of {key}")

    assert await keys(bank) == names
    assert await keys(bank, prefix="a/") == ["a/1", "a/2"]
    assert await keys(bank, prefix="a/", after="a/1") == ["a/2"]
    assert await keys(bank, prefix="z") == []
    assert await keys(bank, after="a/15") == ["a/2", "a0", "b", "é", "星"]
    first = (await client.get(path_of(None), params={"limit": 3})).json()
    last = (await client.get(path_of(None), params={"limit": 30, "after": first["next"]})).json()
    assert [doc["key"] for doc in first["entities"] + last["entities"]] == names
    assert "next" not in last
    assert len(await keys(bank, limit=0)) == 7, "as many as there may be"


async def test_a_list_has_states_when_it_is_asked_for_them(bank, client):
    await did(bank, "a", "add")

    (short,) = (await client.get(path_of(None))).json()["entities"]
    (whole,) = (await client.get(path_of(None), params={"docs": "true"})).json()["entities"]

    assert short == {
        "entity": "/guest/account",
        "key": "a",
        "version": 1,
        "schema": 1,
        "updated": START_S * 1000,
    }
    assert whole == {**short, "state": {"n": 1}}


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"limit": "201"}, "The value '201' is not in the range of 0 to 200 for entities."),
        ({"limit": "-1"}, "The value '-1' is not greater than or equal to 0 for entities."),
        ({"limit": "all"}, "The value 'all' is not an integer for entities."),
        ({"docs": "maybe"}, "The query parameter 'docs' was malformed: 'maybe' is not a boolean."),
    ],
)
async def test_a_list_of_keys_has_bounds(bank, client, query, text):
    assert refused(await client.get(path_of(None), params=query)) == text


async def test_an_entity_that_is_deleted_begins_anew(bank, client):
    await did(bank, "a", "add", {"n": 5})

    first = await client.delete(path_of("a"))
    second = await client.delete(path_of("a"))

    assert (first.status_code, first.json()) == (second.status_code, second.json()) == (200, {})
    assert refused(await client.get(path_of("a")), 404) == NOT_FOUND
    assert await did(bank, "a", "add") == {"n": 1}


async def test_entities_outlive_a_restart(bank):
    await did(bank, "a", "add", token="t")

    async with opened(bank.store) as second:
        assert await keys(second) == ["a"]
        assert await did(second, "a", "add", token="t") == {"n": 1}
        assert await did(second, "a", "add") == {"n": 2}


# --- signals -----------------------------------------------------------------------------------


async def signalled(world, key, operation="add", params=None, **query):
    """Sends a signal. Returns its activation's id."""
    answer = await asked(world, key, operation, params, query={"signal": "true", **query})
    assert answer.status_code == 202, answer.text
    assert answer.headers["x-openwhisk-activation-id"] == answer.json()["activationId"]
    return answer.json()["activationId"]


async def test_a_signal_is_accepted_and_nobody_waits_for_it(bank):
    id = await signalled(bank, "a", "hold")

    held = await bank.hands.held.get()
    bank.hands.answer(held.activation, Success({"state": {"n": 3}}))
    assert (await bank.record(id))["response"]["success"] is True
    assert await did(bank, "a", "look") == {"n": 3}


async def test_a_signal_for_later_waits_as_an_execution_that_can_be_cancelled(bank, client):
    after = await signalled(bank, "a", after=3600)
    until = await signalled(bank, "a", until="2023-11-15T00:00:00+01:00")

    assert (await bank.standing(after, waits=["timer"]))["fibers"][0]["until"] == (
        (START_S + 3600) * 1000
    )
    found = await bank.standing(until, waits=["timer"])
    assert found["fibers"][0]["until"] == 1_700_002_800_000
    assert found["action"] == "/guest/account"
    await client.post(f"/executions/{until}/cancel")
    await bank.standing(until, status="cancelled")
    assert await keys(bank) == []


async def test_a_signal_for_later_comes_when_it_is_time(bank):
    id = await signalled(bank, "a/b c", until=f"{START_S}.01", params={"n": 4})
    await bank.standing(id, waits=["timer"])

    bank.clock.ms += 10

    assert (await bank.record(id))["response"]["result"] == {"n": 4}
    assert await did(bank, "a/b c", "look") == {"n": 4}


@pytest.mark.parametrize(
    "query",
    [
        {"until": "2001-02-03"},
        {"until": "2001-02-03T04:05:06Z"},
        {"until": "1.5"},
        {"until": "0"},
        {"until": str(START_S)},
        {"until": "0001-01-01T00:00:00+14:00"},
        {"after": 0},
    ],
)
async def test_a_signal_for_an_instant_that_is_past_comes_at_once(bank, query):
    id = await signalled(bank, "a", **query)

    assert (await bank.record(id))["response"]["result"] == {"n": 1}


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "-5", "nan", "inf", "1e9", "2023-13-01", "١٢", "9" * 12, "9" * 5000]
)
async def test_an_instant_that_is_none_is_refused(bank, text):
    answer = await asked(bank, "a", "add", query={"signal": "true", "until": text})

    assert refused(answer).startswith("The query parameter 'until' was malformed: '")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"until": str(START_S + YEAR_S + 1)}, "'until' is more than a year away"),
        ({"until": "9999-12-31T23:59:59Z"}, "'until' is more than a year away"),
        ({"after": YEAR_S + 1}, f"'{YEAR_S + 1}' is not in the range of 0 to {YEAR_S} for seconds"),
        ({"after": -1}, "'-1' is not greater than or equal to 0 for seconds to wait"),
        ({"after": "soon"}, "'soon' is not an integer for seconds to wait"),
        ({"after": 1, "until": "2030-01-01"}, "Give either 'after' or 'until', not both."),
        ({"signal": "maybe"}, "The query parameter 'signal' was malformed"),
    ],
)
async def test_a_signal_is_for_within_a_year(bank, query, text):
    answer = await asked(bank, "a", "add", query={"signal": "true", **query})

    assert text in refused(answer)


async def test_the_latest_instant_is_accepted(bank, client):
    for query in ({"after": YEAR_S}, {"until": str(START_S + YEAR_S)}):
        id = await signalled(bank, "a", **query)
        await bank.standing(id, waits=["timer"])
        await client.post(f"/executions/{id}/cancel")


@pytest.mark.parametrize("query", [{"after": 0}, {"until": "2024-01-01"}])
async def test_only_a_signal_is_for_later(bank, query):
    answer = await asked(bank, "a", "add", query=query)

    text = "'after' and 'until' are for signals: give signal=true as well."
    assert refused(answer) == text


async def test_a_signal_for_later_keeps_what_it_expects_and_takes_no_token(bank):
    await did(bank, "a", "add")
    await did(bank, "a", "$lock", by="me")
    later = {"signal": "true", "after": 0}

    stale = await asked(bank, "a", "add", query=later, by="me", expected_version=0)
    fresh = await asked(bank, "a", "add", query=later, by="me", expected_version=1)
    others = await asked(bank, "a", "add", query=later)

    results = [
        (await bank.record(answer.json()["activationId"]))["response"]["result"]
        for answer in (stale, fresh, others)
    ]
    assert results[0]["error"]["code"] == "VersionConflict"
    assert results[1] == {"n": 2}
    assert results[2]["error"]["code"] == "Locked"
    for field in ("token", "undoes"):
        answer = await asked(bank, "a", "add", query=later, **{field: "t"})
        assert refused(answer) == f"A signal for later is delivered once: leave out '{field}'."


async def test_an_operation_of_any_name_can_be_signalled_for_later(bank):
    for operation in ("error", "{}", "星"):
        id = await signalled(bank, "a", operation, after=0)
        assert (await bank.record(id))["response"]["result"] == {"error": f"no {operation}"}


async def test_a_composition_calls_the_same_entities(bank):
    await bank.put("pay", composer.sequence(literal({"n": 5}), call("account", "a", "add")))

    await bank.ended("pay")

    assert await did(bank, "a", "look") == {"n": 5}


# --- who may ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "key"), VERBS)
async def test_who_shows_no_key_is_asked_for_one_before_anything_else(bank, method, key):
    path = f"/api/v1/namespaces/_{path_of(key)}"

    answer = await bank.caller().request(method, path, content="{")

    assert answer.status_code == 401


@pytest.mark.parametrize(("method", "key"), VERBS)
async def test_another_s_entities_are_not_to_be_had(bank, client, method, key):
    """Neither by their own path, nor by a package of theirs that is public and bound."""
    await did(bank, "k", "add")
    await client.put("/packages/open", json={"publish": True})
    await bank.put("open/account", "account", annotations=ENTITY)
    await client.post(path_of("k", "open/account"), json={"operation": "add"})
    stranger = bank.caller(tuple(OPERATOR.split(":")))
    home = "/api/v1/namespaces"
    bound = await stranger.put(
        f"{home}/_/packages/mine", json={"binding": {"namespace": "guest", "name": "open"}}
    )
    assert bound.status_code == 200

    body = {"operation": "add"} if method == "POST" else None
    for path in (
        f"{home}/guest{path_of(key)}",
        f"{home}/guest{path_of(key, 'open/account')}",
        f"{home}/_{path_of(key, 'mine/account')}",
    ):
        answer = await stranger.request(method, path, json=body)
        assert "is not authorized to access" in refused(answer, 403)
    for type in ("account", "open/account"):
        assert (await client.get(path_of("k", type))).json()["state"] == {"n": 1}
    assert (await stranger.get(f"{home}/_/entities")).json() == []


async def test_a_call_counts_as_any_other_invocation():
    settings = EngineSettings(quotas=lambda _: Quotas(per_minute=1))
    async with opened(settings=settings) as world:
        await world.put("account", "account", annotations=ENTITY)
        await did(world, "a", "add")

        for query in ({}, {"signal": "true"}, {"signal": "true", "after": 5}):
            assert (await asked(world, "a", "add", query=query)).status_code == 429
        assert (await world.client.delete(path_of("a"))).status_code == 429
        assert (await world.client.get(path_of("a"))).status_code == 200
