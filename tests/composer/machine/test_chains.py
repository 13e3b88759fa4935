"""The state that a run hands on to the next run of its chain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao import composer as c
from xingqiao.composer import path
from xingqiao.composer.machine.chains import handover, take_over
from xingqiao.composer.machine.commands import Invoke, Tell
from xingqiao.composer.machine.cursor import Limits
from xingqiao.composer.machine.execution import Execution
from xingqiao.composer.machine.inbox import Message
from xingqiao.composer.machine.reset import ResetError, reset
from xingqiao.composer.machine.timeouts import deadlines

LOOP = c.compile(c.sequence("a", c.continue_as_new({"n": path("$.n")})))
LIMITS = Limits()


def a_run(messages=(), frames=()):
    run = Execution("r1", LOOP, LIMITS)
    run.begin({"n": 0}, 0, frames=frames)
    for number, (name, id) in enumerate(messages, 3):
        run.tell(Message(number, name, id, {"of": number}), 1)
    return run


def entry_kinds(changes):
    return [entry.kind for entry in changes.entries]


def test_a_run_ends_as_continued_and_names_the_next_one():
    run = a_run([("m", "")])

    changes = run.hand_over("r2", 5)

    (last,) = changes.entries
    assert (last.kind, last.detail) == ("ExecutionContinued", {"next": "r2", "messages": [3]})
    assert changes.messages.gone == (3,)
    assert not run.fibers


def test_the_next_run_begins_with_the_messages_and_the_deadline_of_the_chain():
    run = a_run([("m", "x"), ("n", "")], deadlines(0, run_ms=50, chain_ms=100))

    given = handover(run)
    begun = Execution("r2", LOOP, LIMITS)
    changes = take_over(begun, given, {"n": 1}, 10, deadlines(10, run_ms=50))

    assert entry_kinds(changes) == [
        "ExecutionStarted", "MessageReceived", "MessageReceived", "StepScheduled",
    ]  # fmt: skip
    assert changes.entries[0].detail["continues"] == "r1"
    until = {told["bound"]: told["until"] for told in changes.entries[0].detail["timeouts"]}
    assert until == {"execution_timeout": 100, "run_timeout": 60}
    assert [message.number for message in begun.inbox] == [2, 3]
    assert begun.inbox.ids == {"x"}


def test_the_ids_of_messages_that_were_told_lately_are_handed_on():
    run = a_run()
    run.tell(Message(3, "m", "x", {}), 1)
    run.inbox.take([run.inbox.first("m")])

    given = handover(run)
    begun = Execution("r2", LOOP, LIMITS)
    take_over(begun, given, {}, 10)

    assert given.messages == ()
    assert begun.tell(Message(4, "m", "x", {}), 11).stale


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["", "x", "y", "z"])), max_size=8))
def test_no_message_is_lost_or_doubled_from_run_to_run(messages):
    run = a_run(messages)
    before = [(m.name, m.id, m.payload) for m in run.inbox or ()]

    given = handover(run)
    run.hand_over("r2", 5)
    begun = Execution("r2", LOOP, LIMITS)
    take_over(begun, given, {}, 10)

    assert [(m.name, m.id, m.payload) for m in begun.inbox or ()] == before
    assert not list(run.inbox or ())


def test_a_template_that_fails_fails_the_run():
    program = c.compile(c.continue_as_new({"n": path("$.nothing")}))

    changes = Execution("r1", program, LIMITS).begin({}, 0)

    assert changes.outcome.code == "ExpressionError"


def test_only_a_program_that_continues_says_so():
    assert LOOP.restarts
    assert not c.compile(c.sequence("a")).restarts


def test_a_command_that_ends_the_run_or_tells_runs_no_action():
    assert Invoke(1, "a", {}).runs_action
    assert not Invoke(1, "a", {}, restart=True).runs_action
    assert not Invoke(1, "a", {}, tell=Tell("x", "m", "i")).runs_action


def test_no_run_begins_at_the_entry_that_ends_a_run():
    entries = [
        {"at": 0, "fiber": "0", "turn": 0, "type": "ExecutionStarted", "value": {}},
        {"at": 0, "fiber": "0", "turn": 1, "type": "ExecutionContinued", "next": "r2"},
    ]

    with pytest.raises(ResetError, match="ends with this entry"):
        reset("r3", LOOP, entries, LIMITS, 0, about={})
