"""What Google's framework does with a function, as the adapters see it."""

from __future__ import annotations

import httpx
import pytest

from tests.rigs.functions_framework import functions_framework

HTTP = """
import json
def main(request):
    if request.get_json(silent=True) == "raise":
        raise ValueError("no good")
    trace = request.headers.get("traceparent")
    return {"method": request.method, "body": request.get_json(silent=True), "trace": trace}
"""
EVENT = """
import pathlib
def main(event):
    print(event["type"], flush=True)
    if event["type"] == "raise":
        raise ValueError("no good")
    pathlib.Path(event.data["mark"]).write_text(event["id"])
"""


@pytest.fixture(scope="module")
def function():
    with functions_framework(HTTP) as url:
        yield url


@pytest.fixture(scope="module")
def listener():
    with functions_framework(EVENT, signature="cloudevent") as url:
        yield url


def test_a_function_answers_http(function):
    trace = f"00-{'1' * 32}-{'1' * 16}-01"

    found = httpx.post(function, json={"n": 1}, headers={"traceparent": trace})

    assert found.status_code == 200
    assert found.json() == {"method": "POST", "body": {"n": 1}, "trace": trace}


def test_a_function_that_raises_is_500(function):
    assert httpx.post(function, json="raise").status_code == 500


@pytest.mark.parametrize("structured", [True, False])
def test_a_function_takes_a_cloudevent(listener, structured, tmp_path):
    mark = tmp_path / "mark"
    event = {"specversion": "1.0", "id": "e1", "source": "/tests", "type": "made"}
    if structured:
        body = {**event, "data": {"mark": str(mark)}}
        found = httpx.post(
            listener, json=body, headers={"Content-Type": "application/cloudevents+json"}
        )
    else:
        headers = {f"ce-{name}": value for name, value in event.items()}
        found = httpx.post(listener, json={"mark": str(mark)}, headers=headers)

    assert (found.status_code, mark.read_text()) == (200, "e1")


def test_what_is_no_cloudevent_is_400(listener):
    assert httpx.post(listener, json={"n": 1}).status_code == 400
