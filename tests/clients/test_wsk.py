"""Requests as `wsk` and pycompose send them: what is odd in them is taken as it is meant."""

from __future__ import annotations

import pytest

ECHO = {"kind": "nodejs:default", "code": "function main(p) { return p }"}
NOTES = [{"key": "provide-api-key", "value": False}]


@pytest.fixture(autouse=True)
def _echo(client):
    body = {"namespace": "_", "name": "wsk", "exec": ECHO, "annotations": NOTES}
    assert client.put("/actions/wsk", params={"overwrite": "true"}, json=body).status_code == 200


@pytest.mark.parametrize("yes", ["true", "True", "TRUE", "1", "yes", "on"])
def test_booleans_are_written_in_many_ways(client, yes):
    answer = client.post("/actions/wsk", params={"blocking": yes, "result": yes}, json={"n": 1})

    assert (answer.status_code, answer.json()) == (200, {"n": 1})


def test_a_call_without_a_body_has_no_parameters(client):
    answer = client.post("/actions/wsk", params={"blocking": "true", "result": "true"})

    assert answer.json() == {}


def test_a_limit_of_zero_is_as_many_as_there_may_be(client):
    assert len(client.get("/actions", params={"limit": 0, "skip": 0}).json()) >= 1


def test_a_rule_is_made_and_switched_with_fields_that_say_nothing(client):
    client.put("/triggers/wt", json={"namespace": "_", "name": "wt", "publish": None})
    made = client.put(
        "/rules/wr",
        params={"overwrite": "false"},
        json={"name": "wr", "status": "", "trigger": "/_/wt", "action": "/_/wsk"},
    )
    body = {"status": "inactive", "trigger": None, "action": None}
    switched = client.post("/rules/wr", json=body)

    assert (made.status_code, made.json()["status"]) == (200, "active")
    assert switched.status_code == 200
    assert client.get("/rules/wr").json()["status"] == "inactive"
    assert client.post("/rules/wr", json={"status": "sleeping"}).status_code == 400
    for path in ("/rules/wr", "/triggers/wt"):
        assert client.delete(path).status_code == 200


def test_wsk_property_get_asks_for_namespaces(client):
    assert client.get(str(client.base_url).removesuffix("/_/").removesuffix("/_")).json() == [
        "guest"
    ]


def test_polling_asks_for_what_has_come_since(client):
    first = client.post("/actions/wsk", params={"blocking": "true"}, json={}).json()

    last = client.get("/activations", params={"docs": "true", "limit": 1, "skip": 0}).json()
    since = client.get(
        "/activations", params={"docs": "true", "limit": 0, "skip": 0, "since": first["start"]}
    ).json()

    assert [doc["activationId"] for doc in last] == [first["activationId"]]
    assert first["activationId"] in [doc["activationId"] for doc in since]
    counted = client.get("/activations", params={"docs": "true", "count": "true"})
    assert (counted.status_code, counted.json()["error"]) == (
        400, "The parameter 'docs' is not permitted with 'count'.",
    )  # fmt: skip


def test_names_are_encoded_in_urls_and_unicode_is_refused(client):
    body = {"exec": ECHO}
    made = client.put("/actions/a%20name%20@home.v1-2&3", json=body)

    assert (made.status_code, made.json()["name"]) == (200, "a name @home.v1-2&3")
    assert client.delete("/actions/a%20name%20@home.v1-2&3").status_code == 200
    for name, status in (("x" * 256, 200), ("x" * 257, 400), ("n%C3%A4me", 400)):
        answer = client.put(f"/actions/{name}", json=body)
        assert answer.status_code == status, name
    assert "must be 1 to 256 ASCII letters" in answer.json()["error"]
    client.delete("/actions/" + "x" * 256)


def test_a_transaction_keeps_the_id_it_came_with(client):
    answer = client.get("/actions", headers={"x-request-id": "abc"})

    assert answer.headers["x-request-id"] == "abc"
    assert answer.headers["access-control-allow-origin"] == "*"
