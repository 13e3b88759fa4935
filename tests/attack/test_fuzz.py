"""Requests that nobody would send, over every route: each is answered, and none is our mistake."""

from __future__ import annotations

import random

import httpx
import pytest

from tests.kit.attack.fuzzing import Requests
from tests.kit.infra.servers import AUTH, DEADLINE_S, running

COUNT = 500  # at scale 1


@pytest.mark.parametrize("seed", [13])
def test_no_request_makes_the_server_stumble_or_hang(tmp_path, scale, figures, seed):
    chance, seen = random.Random(seed), {}
    with running(tmp_path / "data", "--auth", AUTH, "--isolation", "process") as server:
        operator = tuple((tmp_path / "data" / "operator").read_text().strip().split(":"))
        requests = Requests(chance, server.url, operator)
        with httpx.Client(timeout=DEADLINE_S) as client:
            for _ in range(COUNT * scale):
                request = requests.next()
                answer = client.request(**request)
                seen[answer.status_code] = seen.get(answer.status_code, 0) + 1
                ours = answer.status_code >= 500
                assert not ours or "x-openwhisk-activation-id" in answer.headers, (
                    request,
                    answer.text,
                )
            assert client.get(f"{server.url}/health").json() == {"status": "ok"}
        _, errors = server.stop()

    assert "Traceback" not in errors, errors
    figures(requests=COUNT * scale, statuses=dict(sorted(seen.items())))
