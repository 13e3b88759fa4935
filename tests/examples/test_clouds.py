"""One composition over Lambda, Azure, an OpenWhisk host and here, as its users run it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.kit.infra.servers import AUTH, XINGQIAO, running
from tests.rigs.answers import answer, throttled
from tests.rigs.lambda_rig import lambda_rig
from tests.rigs.strict_host import strict_host

PARCEL = Path(__file__).parents[2] / "examples" / "clouds" / "parcel.py"
LAMBDAS = {
    "check-address": "def handler(event, context):\n"
    "    return {**event, 'to': event['to'].strip().title()}\n",
    "print-label": "def handler(event, context):\n"
    "    return {'label': f\"{event['carrier']} to {event['to']}\", 'printed': 'aws'}\n",
}
WHISK = {
    "price": "def main(params):\n    return {'carrier': 'rail', 'price': 7}\n",
    "print-label": "def main(params):\n"
    "    return {'label': f\"{params['carrier']} to {params['to']}\", 'printed': 'openwhisk'}\n",
}
KEY = "azure-key-for-tests"
PARAMS = {"to": "  lisbon ", "kg": 3}


def command(server, *arguments, text=None, **environment):
    """The output of one command."""
    done = subprocess.run(
        [XINGQIAO, *arguments, "--url", server.url, "--auth", AUTH],
        input=text, capture_output=True, text=True, check=False, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def clouds(tmp_path_factory):
    """Lambda, an OpenWhisk host, Azure, and the server where the composition is."""
    data = tmp_path_factory.mktemp("data")
    with (
        lambda_rig(LAMBDAS) as aws,
        strict_host() as azure,
        running(data / "two", "--auth", AUTH) as whisk,
    ):
        for name, code in WHISK.items():
            with whisk.client() as client:
                client.put(f"/actions/{name}", json={"exec": {"kind": "python:3", "code": code}})
        environment = {**os.environ, **aws.environment(), "XINGQIAO_EGRESS_ALLOW": "127.0.0.1"}
        with running(data / "one", "--auth", AUTH, environment=environment) as server:
            command(server, "secret", "set", "whisk", text=AUTH)
            command(
                server,
                "secret",
                "set",
                "azure",
                text=json.dumps({"type": "functions-key", "key": KEY}),
            )
            command(
                server, "deploy", PARCEL,
                AZURE_HOST=azure.url, WHISK_HOST=whisk.url, AWS_REGION=aws.environment()["AWS_REGION"],
            )  # fmt: skip
            yield server, aws, azure


def priced(azure, *before):
    """Azure tells its price, after what it answers before."""
    price = answer({"carrier": "air", "price": 9})
    azure.on("POST", "/api/price", *before, price, needs={"x-functions-key": KEY})


def sent(server):
    """Sends the parcel. Returns the record, and the history's entries."""
    record = json.loads(
        command(server, "invoke", "send_parcel", "-b", "--json", "-p", "to", PARAMS["to"])
    )
    lines = command(server, "execution", "history", record["activationId"], "--json")
    return record, [json.loads(line) for line in lines.splitlines()]


def remotes(entries):
    """The cloud record of each step that ended, by the last part of its action's name."""
    names = {
        (e["fiber"], e["turn"]): e.get("action", "")
        for e in entries
        if e["type"] == "StepScheduled"
    }
    return {
        names[e["fiber"], e["turn"]].rpartition("/")[2]: e.get("remote")
        for e in entries
        if e["type"] in ("StepSucceeded", "StepFailed")
    }


def test_a_composition_runs_over_three_clouds_and_tells_where(clouds):
    server, aws, azure = clouds
    priced(azure, throttled(0), throttled(0))
    seen, label, check = len(azure.requests), aws.calls("print-label"), aws.calls("check-address")

    record, entries = sent(server)

    assert record["response"]["result"] == {"label": "rail to Lisbon", "printed": "aws"}
    ran = remotes(entries)
    assert {name: remote and remote["cloud"] for name, remote in ran.items()} == {
        "check_address": "aws", "price_air": "azure", "price_rail": "openwhisk",
        "cheapest": None, "print_label": "aws",
    }  # fmt: skip
    assert ran["price_air"]["attempts"] == 3
    for name in ("check_address", "print_label", "price_rail"):
        assert ran[name]["request"]
        assert ran[name]["billed"] >= ran[name]["ran"] >= 0
        assert ran[name]["overhead"] >= 0
    assert aws.calls("check-address") - check == aws.calls("print-label") - label == 1
    asked = azure.requests[seen:]
    assert len(asked) == 3
    assert len({request.headers["idempotency-key"] for request in asked}) == 1
    traces = {request.headers["traceparent"].split("-")[1] for request in asked}
    assert traces == {record["activationId"]}


def test_its_cost_is_told_by_cloud_and_nothing_is_billed_for_waiting(clouds):
    server, _, azure = clouds
    priced(azure)
    record, entries = sent(server)

    told = json.loads(command(server, "execution", "cost", record["activationId"], "--json"))

    ran = remotes(entries)
    shares = {share["cloud"]: share for share in told["clouds"]}
    assert {cloud: share["steps"] for cloud, share in shares.items()} == {
        "aws": 2, "azure": 1, "here": 1, "openwhisk": 1,
    }  # fmt: skip
    assert shares["aws"]["billed"] == sum(
        ran[n]["billed"] for n in ("check_address", "print_label")
    )
    assert (shares["azure"]["untold"], shares["aws"]["untold"]) == (1, 0)
    assert told["conductor"] + told["waited"] <= told["elapsed"] + 1
    shown = command(server, "execution", "cost", record["activationId"])
    assert "waiting" in shown
    assert KEY not in shown


def test_another_cloud_takes_over_while_one_throttles_everything(clouds):
    server, aws, azure = clouds
    priced(azure)
    aws.throttle("print-label", on=True)
    try:
        record, entries = sent(server)
    finally:
        aws.throttle("print-label", on=False)

    assert record["response"]["result"] == {"label": "rail to Lisbon", "printed": "openwhisk"}
    ran = remotes(entries)
    assert ran["print_label"]["attempts"] > 1
    assert ran["print_label_too"]["cloud"] == "openwhisk"


def test_all_of_it_can_be_reached(clouds):
    server, _, _ = clouds

    told = command(server, "adapter", "check")

    assert told.count("✓") == 5
