"""Machines redriven: from the task that failed, with events that go on, and results not wrapped twice."""

from __future__ import annotations

import pytest

from tests.kit.asl.machines import ACTIVITY, INVOKE, events, lowered, machine, ran, task, types
from xingqiao.composer import Execution, Failure, RedriveError, redrive
from xingqiao.composer.languages.asl.running.view import machine_frames
from xingqiao.composer.machine.commands import Invoke
from xingqiao.composer.machine.cursor import Limits
from xingqiao.composer.machine.events import Accepted, Completed, Failed, Heartbeat
from xingqiao.composer.testing import Fail, Never

MINE = Fail("X", {"Error": "Mine"})
FIRST = task(INVOKE, Parameters={"FunctionName": "first"}, Next="B")
STATES = {
    "A": FIRST,
    "B": task("second", Parameters={"n.$": "$$.Execution.RedriveCount"}, TimeoutSeconds=9,
              Retry=[{"ErrorEquals": ["Mine"], "MaxAttempts": 1}], End=True),
}  # fmt: skip


def redriven(run, definition):
    entries = [entry.to_json(lambda value: value) for entry in run.history]
    return redrive("e" * 32, lowered(definition), entries, Limits(), 60_000)


def test_it_goes_on_from_the_task_that_failed():
    definition = machine(STATES)
    run = ran(definition, {"x": 1}, actions={"/_/first": {"ok": 1}, "/_/second": MINE})

    execution, changes = redriven(run, definition)

    ((fiber, command),) = changes.commands
    assert isinstance(command, Invoke)
    assert (fiber, command.action, command.params) == ("0", "/_/second", {"n": 0})
    told = [event for entry in changes.entries for event in entry.detail["events"]]
    last = events(run)[-1][0]
    assert [(event[0], event[2]) for event in told] == [
        (last + 1, "ExecutionRedriven"),
        (last + 2, "LambdaFunctionScheduled"),
        (last + 3, "LambdaFunctionStarted"),
    ]
    ended = execution.deliver("0", Completed(command.turn, {"n": 2}), 61_000)
    assert ended.outcome.value == {"n": 2}
    assert execution.generation == 1


def test_the_end_of_the_log_stays_in_a_result_that_is_kept():
    first = task(INVOKE, Parameters={"FunctionName": "first", "LogType": "Tail"}, Next="B")
    definition = machine({"A": first, "B": task("second", End=True)})
    execution = Execution("e" * 32, lowered(definition), Limits())
    begun = execution.begin({}, 0, frames=machine_frames({}))
    answered = execution.deliver("0", Completed(1, {"ok": 1}, log="bG9n"), 1_000)
    failed = execution.deliver("0", Failed(2, Failure("X", {"Error": "Mine"})), 2_000)
    entries = [
        entry.to_json(lambda value: value)
        for changes in (begun, answered, failed)
        for entry in changes.entries
    ]

    _, changes = redrive("e" * 32, lowered(definition), entries, Limits(), 60_000)

    ((_, command),) = changes.commands
    assert (command.action, command.params["Payload"]) == ("/_/second", {"ok": 1})
    assert command.params["LogResult"] == "bG9n"


def test_what_timed_out_and_was_tried_again_is_replayed():
    late = task("slow", TimeoutSeconds=2, Retry=[{"ErrorEquals": ["States.Timeout"]}], Next="C")
    definition = machine({"A": late, "C": task("second", End=True)})
    run = ran(definition, actions={"/_/slow": [Never(), 1], "/_/second": MINE})

    _, changes = redriven(run, definition)

    assert [command.action for _, command in changes.commands] == ["/_/second"]


def test_a_machine_that_fails_by_itself_is_not_redriven():
    definition = machine({"A": {"Type": "Fail", "Error": "E"}})

    with pytest.raises(RedriveError):
        redriven(ran(definition), definition)


def test_the_deadlines_of_an_activity_count_from_when_it_is_taken():
    definition = machine({"A": task(ACTIVITY, HeartbeatSeconds=5, TimeoutSeconds=60, End=True)})
    run = ran(definition, actions={"/whisk.system/states/activity": Never()}, cancel_at=1)
    execution, changes = redriven(run, definition)
    waiting = changes.fibers["0"].due_ms

    taken = execution.deliver("0", Accepted(changes.commands[0][1].turn, {}), 70_000)
    again = restored(execution, taken, definition)

    assert (waiting, taken.fibers["0"].due_ms, again.fibers["0"].due_ms) == (None, 75_000, 75_000)


def test_a_heartbeat_puts_the_deadline_off():
    definition = machine({"A": task(ACTIVITY, HeartbeatSeconds=5, TimeoutSeconds=60, End=True)})
    run = ran(definition, actions={"/whisk.system/states/activity": Never()}, cancel_at=1)
    execution, changes = redriven(run, definition)
    turn = changes.commands[0][1].turn
    early = execution.deliver("0", Heartbeat(turn), 60_500)
    execution.deliver("0", Accepted(turn, {}), 61_000)

    beat = execution.deliver("0", Heartbeat(turn), 62_000)
    stale = execution.deliver("0", Heartbeat(turn + 1), 62_000)

    assert (early.fibers["0"].due_ms, beat.fibers["0"].due_ms) == (None, 67_000)
    assert (beat.entries, stale.stale) == ([], True)
    assert types(run)[2] == "ActivityScheduled"


def restored(execution, changes, definition):
    return Execution.restore(
        execution.id, lowered(definition), changes.fibers.values(), Limits(), execution.generation
    )


def test_numbers_go_on_after_a_crash_behind_a_redrive():
    definition = machine({"A": {"Type": "Wait", "Seconds": 100, "End": True}})
    execution, changes = redriven(ran(definition, cancel_at=1), definition)
    (told,) = [event for entry in changes.entries for event in entry.detail["events"]]

    again = restored(execution, changes, definition)

    assert again.events == told[0]


def test_what_was_drawn_after_a_redrive_is_drawn_again_by_the_next():
    definition = machine({
        "A": task("first", Next="B"),
        "B": {"Type": "Pass", "Parameters": {"id.$": "States.UUID()"}, "Next": "C"},
        "C": task("second", End=True),
    })  # fmt: skip
    run = ran(definition, actions={"/_/first": MINE})
    execution, changes = redriven(run, definition)
    entries = [*run.history, *changes.entries]
    turn = changes.commands[0][1].turn
    more = execution.deliver("0", Completed(turn, {}), 61_000)
    entries += more.entries
    first = more.commands[0][1]
    ended = execution.deliver("0", Failed(first.turn, Failure("Mine", MINE.error)), 62_000)
    entries += ended.entries
    kept = [entry.to_json(lambda value: value) for entry in entries]

    _, again = redrive("e" * 32, lowered(definition), kept, Limits(), 70_000)

    assert again.commands[0][1].params == first.params


def test_a_failure_without_a_name_is_replayed_without_one():
    caught = [{"ErrorEquals": ["States.ALL"], "Next": "B"}]
    definition = machine({
        "A": task(ACTIVITY, Catch=caught, End=True), "B": task("second", End=True),
    })  # fmt: skip
    activity = {"/whisk.system/states/activity": Fail("States.TaskFailed", {})}
    run = ran(definition, actions={**activity, "/_/second": MINE})

    _, changes = redriven(run, definition)

    assert changes.commands[0][1].params == {"Error": "", "Cause": ""}


def mapped(**fields):
    steps = {"I": task("first", Next="J"), "J": task("second", End=True)}
    config = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    return {"Type": "Map", "ItemProcessor": {"ProcessorConfig": config, **machine(steps)}, **fields}


def test_children_that_have_succeeded_are_not_run_again():
    definition = machine({"M": mapped(Next="C"), "C": task("third", End=True)})
    run = ran(
        definition, [1, 2],
        actions={"/_/first": lambda n: n, "/_/second": lambda n: n, "/_/third": MINE},
    )  # fmt: skip

    _, changes = redriven(run, definition)

    assert [(command.action, command.params) for _, command in changes.commands] == [
        ("/_/third", [1, 2])
    ]


def test_of_children_that_have_failed_what_failed_is_run_again():
    definition = machine({"M": mapped(ToleratedFailureCount=1, MaxConcurrency=1, End=True)})
    run = ran(
        definition, [1, 2, 3, 4],
        actions={"/_/first": lambda n: n, "/_/second": lambda n: MINE if n > 2 else n},
    )  # fmt: skip

    execution, changes = redriven(run, definition)

    commands = [(fiber, command) for fiber, command in changes.commands]
    assert [command.params for _, command in commands] == [3, 4]
    for fiber, command in commands:
        ended = execution.deliver(fiber, Completed(command.turn, command.params), 61_000)
    assert ended.outcome.value == [1, 2, 3, 4]
    assert not [entry for entry in run.history if "events" in entry.detail and "/" in entry.fiber]
