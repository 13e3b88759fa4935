"""The service itself: its health, its namespaces and its figures."""

from __future__ import annotations

from tests.kit.http.worlds import OPERATOR


async def test_health_and_what_this_is_are_shown_to_anybody(world):
    anybody = world.caller()

    assert (await anybody.get("/health")).json() == {"status": "ok"}
    host = (await anybody.get("/")).json()
    assert host["description"].startswith("Xingqiao")
    assert (host["api_paths"], host["version"].count(".")) == (["/api/v1"], 2)
    assert [runtime["kind"] for runtime in host["runtimes"]["python"]] == ["python:3"]
    assert host["limits"]["sequence_length"] == 50
    api = (await anybody.get("/api/v1")).json()
    assert (api["api_version"], api["api_version_path"]) == ("1.0.0", "v1")
    assert (await anybody.get("/ping")).text == "pong"


async def test_namespaces_are_shown_to_who_has_a_key(world, client):
    caller = world.caller(auth=client.auth)

    assert (await caller.get("/api/v1/namespaces")).json() == ["guest"]


async def test_figures_are_shown_to_the_operator_and_to_who_scrapes_them(world, client):
    world.api.metrics_key = "a-key-for-scrapers"
    scraper = {"Authorization": "Bearer a-key-for-scrapers"}
    operator = world.caller(auth=tuple(OPERATOR.split(":")))
    for caller in (operator, world.caller(headers=scraper)):
        figures = await caller.get("/metrics")
        assert figures.content == b"# figures\n"
        assert figures.headers["content-type"].startswith("text/plain; version=0.0.4")

    guest = await world.caller(auth=client.auth).get("/metrics")
    assert (guest.status_code, "XINGQIAO_METRICS_KEY" in guest.json()["error"]) == (403, True)
    for wrong in ("Bearer a-key-for-scraper", "Bearer ", "bearer a-key-for-scrapers"):
        other = world.caller(headers={"Authorization": wrong})
        assert (await other.get("/metrics")).status_code == 401


async def test_without_a_key_for_scrapers_an_empty_one_shows_nothing(world):
    caller = world.caller(headers={"Authorization": "Bearer "})

    assert (await caller.get("/metrics")).status_code == 401
