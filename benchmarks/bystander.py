"""The cost of one namespace's bombs for another namespace, which makes one call after another."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from xingqiao import composer

from .figures import Figure, percentile
from .http import Connection
from .server import API, server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .server import Server

CODE = {"exec": {"kind": "python:3", "code": "def main(params):\n    return params\n"}}
BOMBS = {
    "parallel of itself": composer.parallel(*["bomb"] * 4),
    "the same after a wait": composer.sequence(
        composer.wait(0.2), composer.parallel(*["bomb"] * 4)
    ),
    "asynchronous parts": composer.parallel(*[composer.asynchronous("bomb")] * 3),
    "loop of pure data": composer.repeat(10_000_000, composer.select({"a": 1})),
    "retry without delay": composer.retry(10_000_000, "nobody"),
}


def bystanders(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Runs each bomb three times at once, on a server of its own."""
    for name, bomb in BOMBS.items():
        yield _beside(floor, name, bomb, max(0.5, 10 * scale))


async def _beside(
    floor: dict[str, float], name: str, bomb: composer.Composition, seconds: float
) -> Figure:
    async with server() as started:
        auth = _namespace(started)
        async with Connection(started.url, ":".join(auth)) as connection:
            quiet = await _durations(connection, seconds / 2)
            with started.client() as client:
                body = {"exec": {"kind": "composition", "composition": bomb.to_json()}}
                client.put_action("bomb", body, overwrite=True)
                for _ in range(3):
                    client.ask("POST", "actions/bomb")
            beside = await _durations(connection, seconds)
        megabytes = round(started.resident())
    quiet_ms, beside_ms = percentile(quiet, 0.5), percentile(beside, 0.5)
    return Figure(
        workload=f"beside: {name}", runtime="python:3", n=len(beside), concurrency=1,
        p50_ms=beside_ms, p99_ms=percentile(beside, 0.99), steps_per_s=len(beside) / seconds,
        executions_per_s=len(beside) / seconds, floor=floor,
        more={
            "quiet_p50_ms": round(quiet_ms, 2), "ratio": round(beside_ms / quiet_ms, 1),
            "max_ms": round(max(beside)), "megabytes": megabytes,
        },
    )  # fmt: skip


def _namespace(started: Server) -> tuple[str, str]:
    """Makes the bystander's namespace, with its action. Returns its credentials."""
    operator = (Path(started.directory) / "operator").read_text("utf-8").strip()
    user, _, key = operator.partition(":")
    url = f"{started.url}/api/v1/operator/namespaces/bystander"
    made = httpx.put(url, auth=(user, key), json={}).raise_for_status().json()
    user, _, key = made["auth"].partition(":")
    url = f"{started.url}{API}/actions/one"
    httpx.put(url, auth=(user, key), json=CODE).raise_for_status()
    return user, key


async def _durations(connection: Connection, seconds: float) -> list[float]:
    """The duration of each call, in ms."""
    took: list[float] = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or not took:
        began = time.perf_counter()
        status, _ = await connection.post(f"{API}/actions/one?blocking=true&result=true")
        assert status == 200, status
        took.append((time.perf_counter() - began) * 1000)
    return took
