"""Executions are described, found and counted from the command line, against a real server."""

from __future__ import annotations

import pytest

from xingqiao import composer


@pytest.fixture
def declared(xingqiao):
    for name, type in {"customer": "text", "amount": "number"}.items():
        assert xingqiao("attribute", "declare", name, type).code == 0


def test_executions_are_described_found_and_counted(xingqiao, composition, declared):
    composition("fi_wait", composer.sequence(composer.wait(3600)))
    start = ("invoke", "fi_wait", "--json", "-A", "customer=anna")
    one = xingqiao(*start, "-A", "amount=3", "--memo", '{"why": 1}').json["activationId"]
    two = xingqiao(*start, "--attribute", "amount=4.5").json["activationId"]

    listed = xingqiao("execution", "list", "--where", "customer = 'anna' and amount < 4", "--json")
    table = xingqiao("execution", "list", "--where", "customer = 'anna'", "--limit", "1").out
    counted = xingqiao("execution", "count", "--where", "customer = 'anna'", "--group", "status")

    assert [doc["executionId"] for doc in listed.json] == [one]
    assert listed.json[0]["memo"] == {"why": 1}
    assert two in table
    cursor = table.splitlines()[-1].removeprefix("more with --after ")
    after = xingqiao("execution", "list", "--where", "customer = 'anna'", "--after", cursor).out
    assert one in after
    assert two not in after
    assert counted.out.split() == ["status", "executions", "running", "2", "total", "2"]
    assert xingqiao("execution", "count", "--where", "amount = 9").out == "0\n"


def test_an_execution_is_annotated(xingqiao, composition, declared):
    composition("fi_note", composer.sequence(composer.wait(3600)))
    id = xingqiao("invoke", "fi_note", "--json").json["activationId"]

    told = xingqiao("execution", "annotate", id, "-A", "customer=zoe")

    assert f"{id} is annotated" in told.out
    found = xingqiao("execution", "list", "--where", "customer = 'zoe'", "--json").json
    assert [doc["executionId"] for doc in found] == [id]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("execution", "list", "--where", "custmer = 'a'"), "at 0: no attribute 'custmer'"),
        (("execution", "list", "--where", "", "--skip", "1"), "--skip does not go with --where"),
        (("execution", "list", "--after", "x"), "--after goes with --where"),
        (("execution", "annotate", "0" * 32), "nothing to set: give --attribute or --memo"),
        (("execution", "annotate", "0" * 32, "-A", "x"), "'x' has no '=': write NAME=VALUE"),
    ],
)
def test_what_is_wrong_is_told(xingqiao, declared, arguments, text):
    ended = xingqiao(*arguments)

    assert ended.code != 0
    assert text in ended.err
