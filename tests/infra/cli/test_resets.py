"""`xingqiao execution reset` and `fork`, against a real server."""

from __future__ import annotations

from tests.infra.cli.test_executions import stands
from xingqiao import composer

COUNT = "def main(params):\n    return {'n': params.get('n', 0) + 1}\n"


def test_a_run_is_reset_and_forked(xingqiao, action, composition):
    action("rs_count", COUNT)
    name = composition("rs_main", composer.sequence("rs_count", "rs_count"))
    id = xingqiao("invoke", name, "--json", "-p", "n", "1").json["activationId"]
    stands(xingqiao, id, "succeeded")

    told = xingqiao("execution", "reset", id, "--step", "rs_count", "--reason", "try").out
    run = told.split()[-1]
    stands(xingqiao, run, "succeeded")
    forked = xingqiao(
        "execution", "fork", id, "--to", "last", "--input", '{"n": 40}', "--id", "rs 1", "--json"
    ).json
    stands(xingqiao, forked["executionId"], "succeeded")

    assert f"{id} begins again as {run}" in told
    assert forked["id"] == "rs 1"
    result = xingqiao("activation", "result", forked["executionId"], "--json").json
    assert result == {"n": 41}
    history = xingqiao("execution", "history", run).out
    assert f"reset of {id} at entry" in history


def test_mistakes_are_told_before_anything_is_sent(xingqiao):
    both = xingqiao("execution", "reset", "0" * 32, "--step", "a", "--to", "1")
    entry = xingqiao("execution", "reset", "0" * 32, "--to", "middle")
    given = xingqiao("execution", "fork", "0" * 32, "--input", "{")

    assert (both.code, entry.code, given.code) == (2, 2, 2)
    assert "Give either --to or --step" in both.err
    assert "'middle' is not the number of an entry" in entry.err
    assert "not valid JSON" in given.err


def test_your_own_id_may_have_any_characters(xingqiao, action, composition):
    action("rs_count", COUNT)
    name = composition("rs_named", composer.sequence("rs_count"))
    xingqiao("invoke", name, "--id", "team/rs 1%", "--result")

    forked = xingqiao("execution", "fork", "team/rs 1%", "--to", "last", "--json")
    again = xingqiao("execution", "reset", "team/rs 1%", "--to", "last", "--json")

    assert (forked.code, again.code) == (0, 0)
    assert forked.json["executionId"] != again.json["executionId"]
