"""kill -9 while many functions elsewhere run: none that does not say it may is invoked a second time."""

from __future__ import annotations

import os
import signal
from collections import Counter

import pytest

from tests.kit.infra.servers import AUTH, Server
from tests.rigs.answers import always, answer, held
from tests.rigs.strict_host import strict_host
from xingqiao import composer

AT_ONCE = 10


@pytest.fixture
def host():
    with strict_host() as found:
        yield found


def server(folder):
    return Server(folder, "--auth", AUTH, "--isolation", "process")


def deploy(client, host):
    for name, notes in (("careful", []), ("repeatable", [{"key": "idempotent", "value": True}])):
        exec = {"kind": "http", "function": f"{host.url}/{name}"}
        put(client, name, {"exec": exec, "annotations": notes})
        composition = composer.sequence(name).to_json()
        put(client, f"{name}-all", {"exec": {"kind": "composition", "composition": composition}})


def put(client, name, document):
    client.put(f"/actions/{name}", json=document).raise_for_status()


def begin(client, name, count):
    ids = [client.post(f"/actions/{name}", json={}).json()["activationId"] for _ in range(count)]
    assert len(set(ids)) == count
    return ids


def seen(host, name):
    """How often each key was seen."""
    asked = [one for one in list(host.requests) if one.path == f"/{name}"]
    return Counter(one.headers["idempotency-key"] for one in asked)


def until(condition):
    while not condition():
        os.sched_yield()


@pytest.mark.timeout(300)
def test_nothing_that_may_not_run_twice_does(host, tmp_path, monkeypatch, scale, figures):
    monkeypatch.setenv("XINGQIAO_EGRESS_ALLOW", "127.0.0.1")
    count = AT_ONCE * scale
    careful, repeatable = held({"ok": 1}), held({"ok": 1})
    host.on("POST", "/careful", always(careful))
    host.on("POST", "/repeatable", *[repeatable] * count, always(answer({"ok": 2})))
    first = server(tmp_path)
    with first.client() as client:
        deploy(client, host)
        ids = {name: begin(client, f"{name}-all", count) for name in ("careful", "repeatable")}
        until(lambda: len(seen(host, "careful")) == len(seen(host, "repeatable")) == count)
    first.stop(signal.SIGKILL)
    careful.release()
    repeatable.release()

    second = server(tmp_path)
    try:
        with second.client() as client:
            records = {
                name: [
                    client.get(f"/activations/{id}", params={"wait": 20_000}).json() for id in some
                ]
                for name, some in ids.items()
            }
    finally:
        second.stop()

    lost = [one["response"]["result"]["error"] for one in records["careful"]]
    assert all("may or may not have run" in text for text in lost)
    assert set(seen(host, "careful").values()) == {1}
    assert [one["response"]["result"] for one in records["repeatable"]] == [{"ok": 2}] * count
    assert set(seen(host, "repeatable").values()) == {2}
    figures(killed_under=2 * count, lost=len(lost), run_twice_without_leave=0)
