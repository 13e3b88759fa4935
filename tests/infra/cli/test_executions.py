"""`xingqiao execution ...`, against a real server."""

from __future__ import annotations

import json

import pytest

from xingqiao import composer

FAIL = "def main(params):\n    return {'error': {'code': 'Down', 'message': 'no luck'}}\n"
UNKNOWN = "0" * 32
LOOKS = 1000  # each is a request, so that time passes


@pytest.fixture
def started(xingqiao):
    """Starts a composition; waits until it stands so. Returns the execution's id."""

    def start(name, status, *waits):
        id = xingqiao("invoke", name, "--json", "-p", "n", "1").json["activationId"]
        stands(xingqiao, id, status, *waits)
        return id

    return start


def stands(xingqiao, id, status, *waits):
    for _ in range(LOOKS):
        ended = xingqiao("execution", "get", id, "--json")
        found = ended.json if ended.code == 0 else {"status": ended.err, "fibers": []}
        if (found["status"], [f["waits"] for f in found["fibers"]]) == (status, list(waits)):
            return found
    raise AssertionError(f"it has not come to {status}: {found}")


def test_executions_are_listed_for_people_and_for_programs(xingqiao, action, composition, started):
    action("ex_echo")
    action("ex_fail", FAIL)
    good = started(composition("ex_good", composer.sequence("ex_echo")), "succeeded")
    bad = started(composition("ex_bad", composer.sequence("ex_fail")), "failed")

    table = xingqiao("execution", "list", "--limit", "2").out.splitlines()
    failed = xingqiao("execution", "list", "--status", "failed", "--name", "ex_bad", "--json").json
    second = xingqiao("execution", "list", "--limit", "1", "--skip", "1", "--json").json

    assert table[0].split() == ["start", "execution", "action", "status", "duration"]
    assert bad in table[1]
    assert "failed" in table[1]
    assert good in table[2]
    assert "succeeded" in table[2]
    assert [document["executionId"] for document in failed] == [bad]
    assert [document["executionId"] for document in second] == [good]
    assert xingqiao("execution", "list", "--name", "never").out == "no executions\n"


def test_one_under_way_says_what_it_waits_for(xingqiao, composition, started):
    waiting = composer.sequence(composer.wait(3600))
    id = started(composition("ex_wait", waiting), "running", "timer")

    text = xingqiao("execution", "get", id).out

    assert text.splitlines()[0].split() == ["execution", id]
    assert "/guest/ex_wait 0.0.1" in text
    assert "running" in text
    assert "waits for" in text
    assert "timer" in text
    assert "until 20" in text
    xingqiao("execution", "cancel", id)


def test_history_is_a_timeline_for_people_and_entries_for_programs(
    xingqiao, action, composition, started
):
    action("ex_told")
    action("ex_unlucky", FAIL)
    id = started(
        composition("ex_history", composer.sequence("ex_told", composer.retry(1, "ex_unlucky"))),
        "failed",
    )

    timeline = xingqiao("execution", "history", id).out
    entries = [
        json.loads(s) for s in xingqiao("execution", "history", id, "--json").out.splitlines()
    ]

    labels = [line.split()[2:5] for line in timeline.splitlines()]
    assert "✓ ex_told" in timeline
    assert timeline.count("✗ ex_unlucky") == 2
    assert "Down: no luck" in timeline
    assert all(line.startswith(" ") for line in timeline.splitlines())
    assert len(labels) >= 4
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    assert entries[0]["value"] == {"n": 1}


def test_a_long_history_is_shown_whole(xingqiao, composition, started):
    long = composer.sequence(
        composer.literal({"value": [{}] * 520}), composer.map(composer.wait(0))
    )
    id = started(composition("ex_long", long), "succeeded")

    entries = xingqiao("execution", "history", id, "--json").out.splitlines()

    assert len(entries) > 1000
    assert [json.loads(line)["seq"] for line in entries] == list(range(1, len(entries) + 1))


def test_one_is_cancelled_and_what_it_waited_for_is_abandoned(xingqiao, composition, started):
    name = composition("ex_cancelled", composer.sequence(composer.wait(3600)))

    told = xingqiao("execution", "cancel", started(name, "running", "timer"))
    shown = xingqiao("execution", "cancel", started(name, "running", "timer"), "--json").json

    assert told.out.startswith("✓ ")
    stands(xingqiao, told.out.split()[1], "cancelled")
    stands(xingqiao, shown["executionId"], "cancelled")


def test_one_is_ended_at_once_without_its_finalizer(xingqiao, action, composition, started):
    action("ex_finalizer")
    name = composition("ex_careful", composer.ensure(composer.wait(3600), "ex_finalizer"))

    ended = xingqiao("execution", "cancel", started(name, "running", "timer"), "--terminate")
    orderly = started(name, "running", "timer")
    xingqiao("execution", "cancel", orderly)

    assert ended.out.endswith(" is cancelled\n")
    stands(xingqiao, orderly, "cancelled")
    assert len(xingqiao("activation", "list", "ex_finalizer", "--json").json) == 1


def test_a_paused_one_is_shown_with_its_error_and_resumed(xingqiao, action, composition, started):
    action("ex_flaky", FAIL)
    patient = composer.retry(0, "ex_flaky", on_exhausted="pause")
    id = started(composition("ex_patient", patient), "paused", "operator")

    text = xingqiao("execution", "get", id).out
    assert "operator" in text
    assert 'ApplicationError: {"code": "Down", "message": "no luck"}' in text
    action("ex_flaky")
    resumed = xingqiao("execution", "resume", id)

    assert resumed.out.startswith(f"✓ {id} is ")
    stands(xingqiao, id, "succeeded")


def test_a_running_one_is_paused_and_resumed(xingqiao, composition, started):
    id = started(
        composition("ex_paused", composer.sequence(composer.wait(3600))), "running", "timer"
    )

    paused = xingqiao("execution", "pause", id)
    resumed = xingqiao("execution", "resume", id)

    assert paused.out == f"✓ {id} is paused\n"
    assert resumed.out == f"✓ {id} is running\n"
    xingqiao("execution", "cancel", id)


def test_a_failed_one_is_redriven_once_what_it_needs_is_there(
    xingqiao, action, composition, started
):
    action("ex_before")
    action("ex_mended", FAIL)
    id = started(composition("ex_redriven", composer.sequence("ex_before", "ex_mended")), "failed")
    action("ex_mended")

    redriven = xingqiao("execution", "redrive", id)

    assert redriven.out == f"✓ {id} is succeeded\n"
    stands(xingqiao, id, "succeeded")
    assert len(xingqiao("activation", "list", "ex_before", "--json").json) == 1


def test_a_failed_one_is_redriven_with_another_composition(
    xingqiao, action, composition, started, tmp_path
):
    action("ex_kept")
    id = started(
        composition("ex_wrong", composer.sequence("ex_kept", composer.raise_error("Wrong"))),
        "failed",
    )
    file = tmp_path / "fixed.py"
    file.write_text(
        "from xingqiao import composer\n"
        "fixed = composer.sequence('ex_kept', composer.literal({'fixed': True}), 'ex_kept')\n"
        "other = composer.sequence('ex_other')\n"
    )

    redriven = xingqiao("execution", "redrive", id, "--file", file, "--name", "fixed", "--json")

    assert redriven.json["redriven"] == 1
    stands(xingqiao, id, "succeeded")
    assert xingqiao("activation", "result", id).json == {"fixed": True}


def test_a_redrive_with_a_file_takes_its_repaired_actions_too(
    xingqiao, action, composition, started, tmp_path
):
    action("ex_pay", FAIL)
    id = started(composition("ex_order", composer.sequence("ex_pay")), "failed")
    file = tmp_path / "order.py"
    file.write_text(
        "from xingqiao import composer\n"
        "@composer.action\n"
        "def ex_pay(params):\n"
        "    return {'paid': True}\n"
        "ex_order = composer.sequence(ex_pay)\n"
    )

    redriven = xingqiao("execution", "redrive", id, "--file", file)

    assert redriven.out.splitlines()[0].startswith("✓ ex_pay 0.0.2")
    stands(xingqiao, id, "succeeded")
    assert xingqiao("activation", "result", id).json == {"paid": True}


def test_a_redrive_that_fails_again_at_once_says_so(xingqiao, action, composition, started):
    action("ex_broken", FAIL)
    id = started(composition("ex_again", composer.sequence("ex_broken")), "failed")

    again = xingqiao("execution", "redrive", id)
    shown = xingqiao("execution", "redrive", id, "--json")

    assert (again.code, shown.code) == (1, 1)
    assert again.out.splitlines()[0] == f"✗ {id} has failed again"
    assert f"execution history {id}" in again.out
    assert shown.json["status"] == "failed"


def test_a_step_that_waits_for_its_callback_is_listed_and_answered(
    xingqiao, action, composition, started, tmp_path
):
    action("ex_ask")
    file = tmp_path / "ex_ask.py"
    xingqiao("action", "update", "ex_ask", file, "--annotation", "completion", "callback")
    name = composition("ex_asking", composer.sequence("ex_ask"))
    id, other = started(name, "running", "answer"), started(name, "running", "answer")

    for _ in range(LOOKS):  # a fiber waits a moment before the record of its step is durable
        listed = xingqiao("execution", "waiting", "--name", "ex_ask")
        if other in listed.out:
            break
    shown = xingqiao("execution", "waiting", "--name", "ex_ask", "--json").json
    record = xingqiao("activation", "get", shown[0]["activationId"], "--json").json
    completed = xingqiao("execution", "complete", id, "ex_ask", "-p", "ok", "true")
    failed = xingqiao("execution", "fail", other, "--error", "rejected")

    assert id in listed.out
    assert other in listed.out
    assert record["state"] == "waiting"
    assert completed.out == f"✓ the step of {id} is answered\n"
    stands(xingqiao, id, "succeeded")
    assert xingqiao("activation", "result", id).json == {"ok": True}
    assert failed.out == f"✓ the step of {other} is answered\n"
    stands(xingqiao, other, "failed")
    assert xingqiao("execution", "waiting", "--name", "ex_ask", "--json").json == []


@pytest.mark.parametrize("verb", ["get", "history", "cancel", "resume", "redrive"])
def test_one_that_never_was_is_told(xingqiao, refused, verb):
    line = refused("execution", verb, UNKNOWN)

    assert line == (
        f"the execution '{UNKNOWN}' does not exist in the namespace 'guest': `xingqiao execution list` "
        "shows the executions (404)"
    )


def test_what_cannot_be_done_to_one_that_has_succeeded_is_told(
    xingqiao, refused, composition, started
):
    id = started(composition("ex_done", composer.sequence(composer.literal({}))), "succeeded")

    for verb in ("cancel", "resume"):
        line = refused("execution", verb, id)
        assert line == f"Execution {id} has ended: it has succeeded. (409)"
    assert "has succeeded" in refused("execution", "redrive", id)


def test_a_status_that_is_none_is_misuse(xingqiao, refused):
    assert "'lost' is not one of" in refused("execution", "list", "--status", "lost", code=2)


def test_an_id_of_ones_own_stands_for_the_execution(xingqiao, action, composition):
    """Any characters; `--` is not needed, and the runs of the id are listed."""
    id = "订单/7 %2F?"
    action("ids_echo")
    name = composition("ids_wait", composer.sequence("ids_echo", composer.wait(3600)))
    run = xingqiao("invoke", name, "--id", id, "--json").json["activationId"]
    stands(xingqiao, id, "running", "timer")

    again = xingqiao("invoke", name, "--id", id)
    used = xingqiao("invoke", name, "--id", id, "--on-open", "use", "--json").json
    shown = xingqiao("execution", "get", id).out
    table = xingqiao("execution", "list", "--id", id).out.splitlines()
    history = xingqiao("execution", "history", id).out
    ended = xingqiao("execution", "terminate", id)
    watched = xingqiao("execution", "watch", id)
    other = xingqiao("invoke", "ids_echo", "--id", id, "-r", "-p", "n", "1", "--json")
    record = xingqiao("activation", "get", id, "--json").json
    closed = xingqiao("invoke", "ids_echo", "--id", id, "--on-closed", "reject")

    assert again.code != 0
    assert f"as run {run}" in again.err
    assert used == {"activationId": run, "id": id}
    assert id in shown
    assert table[0].split() == ["start", "execution", "id", "action", "status", "duration"]
    assert len(table) == 2
    assert run in table[1]
    assert "ids_echo" in history
    assert ended.code == 0, ended.err
    assert (watched.code, "cancelled" in watched.out + watched.err) == (1, True)
    assert other.json == {"n": 1}
    assert record["name"] == "ids_echo"
    assert "has succeeded already" in closed.err
