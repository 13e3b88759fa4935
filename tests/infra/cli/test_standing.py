"""What `execution get` tells an operator, and the line after a failed `invoke`."""

from __future__ import annotations

import pytest

from tests.infra.cli.test_executions import FAIL, stands
from xingqiao import composer
from xingqiao.composer import continue_as_new, path
from xingqiao.infra.cli.standing import error_text, short


@pytest.fixture
def failing(action, composition):
    action("st_fail", FAIL)
    return composition("st_order", composer.sequence("st_fail"))


def test_a_failed_execution_shows_its_input_error_and_next_commands(xingqiao, failing):
    id = xingqiao("invoke", failing, "--json", "-p", "n", "1").json["activationId"]
    stands(xingqiao, id, "failed")

    text = xingqiao("execution", "get", id).out

    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "started by an asynchronous call of the API" in rows
    assert 'input {"n": 1}' in rows
    assert "error Down: no luck" in rows
    assert f"next xingqiao execution history {id}" in rows
    assert f"xingqiao execution redrive {id}" in rows


def test_one_that_retries_shows_its_attempt_and_last_error(xingqiao, action, composition):
    action("st_flaky", FAIL)
    name = composition("st_retry", composer.retry(5, "st_flaky", delay=3600))
    id = xingqiao("invoke", name, "--json").json["activationId"]
    stands(xingqiao, id, "running", "timer")

    text = xingqiao("execution", "get", id).out

    assert "last error  Down: no luck" in text
    assert "attempt 2  until 20" in text
    assert f"xingqiao execution watch {id}" in text
    assert f"xingqiao execution cancel {id}" in text
    xingqiao("execution", "cancel", id)


def test_one_that_a_rule_started_names_the_rule_and_its_trigger(xingqiao, failing):
    xingqiao("trigger", "create", "st_trigger")
    xingqiao("rule", "create", "st_rule", "st_trigger", failing)
    xingqiao("trigger", "fire", "st_trigger")
    [fired] = [
        doc
        for doc in xingqiao("execution", "list", "--name", failing, "--json").json
        if doc["startedBy"]["how"] == "trigger"
    ]

    by_rule = xingqiao("execution", "get", fired["executionId"]).out
    xingqiao("rule", "delete", "st_rule")
    without = xingqiao("execution", "get", fired["executionId"]).out

    assert fired["startedBy"] == {"how": "trigger", "rule": "/guest/st_rule"}
    assert "the trigger st_trigger, by the rule /guest/st_rule" in by_rule
    assert "started by  the rule /guest/st_rule" in without


def test_one_below_another_names_it(xingqiao, failing, composition):
    outer = composition("st_outer", composer.sequence(failing))
    id = xingqiao("invoke", outer, "-b", "--json").json["activationId"]
    [below] = [
        doc
        for doc in xingqiao("execution", "list", "--name", failing, "--json").json
        if doc.get("parent", {}).get("executionId") == id
    ]

    text = xingqiao("execution", "get", below["executionId"]).out

    assert "started by  another execution" in text
    assert f"part of     {id}" in text
    assert "started by  a call of the API" in xingqiao("execution", "get", id).out


def test_a_failed_invoke_says_where_it_failed_and_what_tells_more(xingqiao, failing):
    composed = xingqiao("invoke", failing, "-b", "--json")
    alone = xingqiao("invoke", "st_fail", "-r")

    id = composed.json["activationId"]
    assert composed.code == alone.code == 1
    assert composed.err == (
        "error: st_order failed at the step st_fail: Down: no luck; "
        f"to see more: xingqiao execution get {id}\n"
    )
    assert alone.err.startswith(
        "error: st_fail failed: Down: no luck; to see more: xingqiao activation get "
    )


def test_a_good_invoke_writes_nothing_there(xingqiao, action):
    assert xingqiao("invoke", action("st_good"), "-r").err == ""


def test_a_long_value_is_cut():
    assert short("x" * 200) == "x" * 200
    assert short("x" * 201) == "x" * 200 + "..."
    assert error_text({"message": "m"}) == "m"
    assert error_text({"other": 1}) == '{"other": 1}'


def test_a_run_that_has_continued_names_the_run_after_it(xingqiao, composition):
    name = composition(
        "st_chain", composer.when(path("$.n").exists(), None, continue_as_new({"n": 1}))
    )
    id = xingqiao("invoke", name, "--json").json["activationId"]
    stands(xingqiao, id, "continued")
    newest = xingqiao("execution", "get", id, "--json").json["next"]["executionId"]

    first, then = (xingqiao("execution", "get", each).out for each in (id, newest))

    assert f"continued as {newest}" in " ".join(first.split())
    assert f"continues {id}" in " ".join(then.split())
    [found] = xingqiao("execution", "list", "--name", name, "--status", "continued", "--json").json
    assert found["executionId"] == id
