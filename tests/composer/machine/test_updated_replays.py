"""Redrives, resets and forks replay updates as they were recorded, and validate nothing again."""

from __future__ import annotations

import pytest

from tests.composer.machine.test_updating import ADD, echo, items, listing
from xingqiao import composer as c
from xingqiao.composer import Limits, RedriveError, ResetError, path, redrive, reset, var
from xingqiao.composer.testing import Fail, Never, Slow, simulate

CLIENT = [(1, "add", {"item": 1}), (2, "add", {"item": 2})]
ID = "0" * 32


def recorded(made, **options):
    actions = {
        "work": Slow(9, {}),
        "check": echo(1),
        "fails": Slow(3, Fail("Down")),
        "never": Never(),
    }
    run = simulate(made, actions=actions, **options)
    return run, [entry.to_json(lambda value: value) for entry in run.history]


def redriven(made, entries, now_ms=100_000):
    return redrive(ID, c.compile(made), entries, Limits(), now_ms)


FAILING = listing("work", "fails", add=ADD)


def test_a_redrive_has_what_the_updates_have_set():
    _, entries = recorded(FAILING, updates=CLIENT)

    execution, changes = redriven(FAILING, entries)

    assert items(execution.seen.variables["items"]) == [1, 2]
    assert execution.accepted == 2
    assert [command.action for _, command in changes.commands] == ["/_/fails"]
    ended = execution.deliver("0", c.Completed(execution.fibers["0"].turn, {}), 100_001)
    assert items(ended.outcome.value) == [1, 2]


def test_a_stronger_validator_does_not_break_a_replay():
    _, entries = recorded(FAILING, updates=CLIENT)
    never = c.on_update(
        validate=path("$.item") > 100, body="check", sets=ADD.sets, answer=ADD.answer
    )

    execution, _ = redriven(listing("work", "fails", add=never), entries)

    assert items(execution.seen.variables["items"]) == [1, 2]


@pytest.mark.parametrize(
    "other",
    [
        listing("work", "fails", add=c.on_update(body="check", answer=1)),
        listing("work", "fails", more=ADD),
        listing("work", "fails", add=c.on_update(body="fails")),
        c.sequence(listing("work", add=ADD), "fails"),
    ],
)
def test_a_program_that_does_not_agree_with_the_updates_is_refused(other):
    made = listing("work", "work", "fails", add=ADD) if other.type == "sequence" else FAILING
    later = [(at + 10, name, payload) for at, name, payload in CLIENT]
    _, entries = recorded(made, updates=later if made is not FAILING else CLIENT)

    with pytest.raises(RedriveError, match="does not agree"):
        redriven(other, entries)


def test_a_program_that_answers_what_had_failed_is_refused():
    _, entries = recorded(listing("work", "fails", add=c.on_update(body="check", answer=path("$.x"))),
                          updates=CLIENT)  # fmt: skip

    with pytest.raises(RedriveError, match="it answers it"):
        redriven(FAILING, entries)


def test_an_update_whose_caller_was_told_that_it_is_closed_stays_closed():
    made = listing("work", "fails", add=c.on_update(body="never", sets={"items": 1}))
    _, entries = recorded(made, updates=CLIENT)

    execution, changes = redriven(made, entries)

    assert (execution.updates, list(execution.fibers)) == ({}, ["0"])
    assert [fiber for fiber, _ in changes.commands] == ["0"]


def test_an_update_that_failed_fails_again():
    made = listing("work", "fails", add=c.on_update(body="fails"))
    _, entries = recorded(made, updates=[(1, "add", {})])

    execution, changes = redriven(made, entries)

    assert (execution.updates, list(execution.fibers)) == ({}, ["0"])
    assert [command.action for _, command in changes.commands] == ["/_/fails"]


def test_updates_in_a_finalizer_that_a_redrive_does_not_run_have_been_answered():
    made = listing(c.ensure("never", "work"), add=ADD)
    run, entries = recorded(
        made, cancel_at=2, updates=[(1, "add", {"item": 1}), (5, "add", {"item": 2})]
    )
    assert [update.answer["first"]["item"] for update in run.updates] == [1, 2]

    execution, changes = redriven(made, entries)

    assert items(execution.seen.variables["items"]) == [1, 2]
    assert [command.action for _, command in changes.commands] == ["/_/never"]


def test_updates_of_a_finalizer_that_a_redrive_does_not_run_are_passed_over():
    made = c.ensure("never", listing("work", add=ADD))
    asked = [(3, "add", {"item": 1}), (10.5, "add", {"item": 2})]
    _, entries = recorded(made, cancel_at=2, updates=asked)
    assert [e["type"] for e in entries if e["type"].startswith("Update")][2:] == [
        "UpdateCompleted", "UpdateAccepted", "UpdateFailed",
    ]  # fmt: skip

    execution, changes = redriven(made, entries)

    assert (execution.accepted, execution.updates) == (0, {})
    assert [command.action for _, command in changes.commands] == ["/_/never"]


def test_a_wait_for_a_condition_is_replayed():
    made = c.let({"n": 0}, c.updates(c.until(var("n") > 1), "fails",
                                     set=c.on_update(sets={"n": path("$.n")})))  # fmt: skip
    _, entries = recorded(made, updates=[(1, "set", {"n": 1}), (2, "set", {"n": 2})])

    execution, changes = redriven(made, entries)

    assert execution.seen.variables == {"n": 2}
    assert [command.action for _, command in changes.commands] == ["/_/fails"]


def test_a_wait_for_a_condition_that_timed_out_begins_again():
    made = c.let({"n": 0}, c.updates(c.timeout(5, c.until(var("n") > 1)),
                                     set=c.on_update(sets={"n": path("$.n")})))  # fmt: skip
    _, entries = recorded(made, updates=[(1, "set", {"n": 1})])

    execution, changes = redriven(made, entries)
    assert (changes.outcome, list(execution.fibers)) == (None, ["0"])
    ended = execution.update(c.Update("x", "set", {"n": 2}), 100_001)
    assert isinstance(ended.outcome, c.Success)


def test_a_reset_to_each_entry_gives_the_same_result():
    made = listing("work", "check", add=ADD)
    run, entries = recorded(made, updates=[*CLIENT, (8.5, "add", {"item": 3})])
    program, count = c.compile(made), 0
    for number in range(1, len(entries) - 1):
        execution, changes = reset(ID, program, entries[:number], Limits(), 50_000,
                                   about={"how": "reset"})  # fmt: skip
        before = [e for e in entries[:number] if e["type"] == "UpdateAccepted"]
        assert execution.accepted == len(before)
        count += bool(execution.updates)
        outcome = finished(execution, changes)
        assert items(outcome.value) == [1, 2, 3][: len(before)]
    assert count > 2
    assert items(run.value) == [1, 2, 3]
    with pytest.raises(ResetError):
        reset(ID, program, entries, Limits(), 50_000, about={})


def finished(execution, changes):
    """Completes the steps of handlers first, so that none is closed."""
    work = list(changes.commands)
    while changes.outcome is None:
        work.sort(key=lambda item: item[0] == "0")
        fiber, command = work.pop(0)
        changes = execution.deliver(fiber, c.Completed(command.turn, command.params), 60_000)
        work += changes.commands
    return changes.outcome
