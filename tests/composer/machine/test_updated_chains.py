"""A run that continues as new answers its open updates first; updates that come meanwhile wait for the next run."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.composer.machine.test_updating import ADD, after, echo, items, stored
from xingqiao import composer as c
from xingqiao.composer import Limits, Update, path, var
from xingqiao.composer.machine.commands import Abandon
from xingqiao.composer.machine.execution import Execution
from xingqiao.composer.testing import Fail, Never, Slow, simulate

SETS = {"at": path("$.at")}
NEXT = {"round": path("$.round"), "items": var("items")}
START = {"round": 0, "items": None}


def chain(rounds=3, **handlers):
    """A chain of runs with a list that goes from run to run; its result is the list."""
    return c.let(
        {"items": None},
        c.assign(items=path("$.items")),
        c.updates(
            c.sequence("work", c.when(path("$.round") < rounds, c.continue_as_new(NEXT))),
            **{"add": ADD, **handlers},
        ),
        c.select(var("items")),
    )


def work(params):
    return Slow(10, {**params, "round": params["round"] + 1})


@pytest.mark.parametrize("crash", [(), "every"])
def test_a_run_answers_its_updates_before_the_next_one_begins(crash):
    run = simulate(chain(), START, actions={"work": work, "check": echo(5)}, crash=crash,
                   updates=[(8, "add", {"item": 1})])  # fmt: skip

    assert items(run.value) == [1]
    assert run.updates[0].answer["first"]["item"] == 1
    assert len(run.continued) == 2
    if not crash:
        assert items(run.continued[0]["items"]) == [1], "the next run has what the update has set"
        assert run.elapsed == 33, "the second run began when the handler had ended, not before"


def test_an_update_that_comes_while_a_run_ends_waits_for_the_next_run():
    run = simulate(chain(), START, actions={"work": work, "check": echo(5)},
                   updates=[(8, "add", {"item": 1}), (11, "add", {"item": 2})])  # fmt: skip

    assert [items(given["items"]) for given in run.continued] == [[1], [1, 2]]
    assert [update.outcome.value["first"]["item"] for update in run.updates] == [1, 2]


@pytest.mark.parametrize(
    ("handlers", "error"), [({}, "NoSuchUpdate"), ({"later": c.on_update()}, None)]
)
def test_the_next_run_may_be_of_another_composition(handlers, error):
    """So also an update that the run which ends does not know waits for it."""
    made = c.let(
        {"items": None}, c.updates("work", c.continue_as_new({}, action="second"), add=ADD)
    )
    second = c.updates(c.wait(9), **{"other": c.on_update(), **handlers})
    run = simulate(made, START, actions={"work": work, "check": echo(5), "second": second},
                   updates=[(8, "add", {"item": 1}), (11, "later", {"item": 2})])  # fmt: skip

    assert run.updates[0].answer["first"]["item"] == 1
    assert getattr(run.updates[1].outcome, "code", None) == error


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 45), st.integers(0, 20)), max_size=9),
    st.integers(1, 4),
    st.booleans(),
)
def test_no_update_is_lost_or_doubled_over_a_chain(asked, rounds, crash):
    """Against a reference: the list has the items of the updates that were answered, each once."""
    updates = [
        (at + n / 100, "add", {"item": n, "after": seconds})
        for n, (at, seconds) in enumerate(asked)
    ]
    run = simulate(chain(rounds), START, actions={"work": work, "check": after}, updates=updates,
                   crash="every" if crash else ())  # fmt: skip

    answered = [each for each in run.updates if isinstance(each.outcome, c.Success)]
    assert sorted(items(run.value)) == sorted(each.payload["item"] for each in answered)
    assert len(run.continued) == rounds - 1
    refused = {each.error for each in run.updates if isinstance(each.outcome, c.Failure)}
    assert refused <= {"Closed", "TooManyUpdates"}


# --- what may come between -------------------------------------------------------------------------


@pytest.mark.parametrize("crash", [(), "every"])
@pytest.mark.parametrize("options", [{"cancel_at": 12}, {"run_timeout": 12}])
def test_a_run_that_is_stopped_while_it_waits_for_its_updates_does_not_continue(options, crash):
    actions = {"work": Slow(10, {"round": 1}), "check": Never()}
    run = simulate(chain(), START, actions=actions, crash=crash, **options,
                   updates=[(1, "add", {"item": 1})])  # fmt: skip

    assert isinstance(run.outcome, c.Failure)
    assert run.updates[0].error == "Closed"
    assert run.continued == []


def test_a_chain_whose_update_is_never_answered_stands():
    run = simulate(chain(), START, actions={"work": work, "check": Never()},
                   updates=[(1, "add", {"item": 1})])  # fmt: skip

    assert (run.outcome, run.continued) == (None, [])


@pytest.mark.parametrize("crash", [(), "every"])
def test_an_input_that_cannot_be_made_any_more_fails_the_part(crash):
    """The update has changed what the input of the next run is made of."""
    part = c.on_update(body="check", sets=SETS)
    made = c.let({"at": {"n": 1}}, c.updates(
        c.do(c.sequence("work", c.continue_as_new({"n": var("at", "$.n")})), "rescue"), move=part,
    ))  # fmt: skip
    run = simulate(made, START, crash=crash, updates=[(8, "move", {"at": {}})],
                   actions={"work": work, "check": echo(5), "rescue": {"rescued": True}})  # fmt: skip

    assert run.value == {"rescued": True}
    assert run.continued == []
    assert run.updates[0].answer == {"at": {}}


def test_a_handler_that_fails_holds_the_next_run_back_no_longer():
    run = simulate(chain(), START, actions={"work": work, "check": Slow(5, Fail("Down"))},
                   updates=[(8, "add", {"item": 1})])  # fmt: skip

    assert run.updates[0].error == "Down"
    assert items(run.value) == []
    assert run.elapsed == 33


# --- the machine -----------------------------------------------------------------------------------


def a_run():
    """A run that has asked for the next one while its update is under way."""
    program = c.compile(chain())
    run = Execution("0" * 32, program, Limits())
    run.begin(START, 0)
    assert not run.restarting
    run.update(Update("1", "add", {"item": 1}), 1)
    asked = run.deliver("0", c.Completed(1, {"round": 1}), 2)
    return run, [command for _, command in asked.commands if getattr(command, "restart", False)]


def test_a_run_that_restarts_serves_no_update():
    run, _ = a_run()

    assert run.restarting
    assert not run.serves("add")
    assert [asked.update for asked in run.updates.values()] == ["1"]


def test_the_input_of_the_next_run_is_made_when_the_updates_are_answered():
    run, (asked,) = a_run()
    assert items(asked.params["items"]) == []
    (handler,) = run.updates
    run.deliver(handler, c.Completed(1, {"item": 1}), 3)

    made = run.next_run(4)

    assert items(made.params["items"]) == [1]
    assert (made.activation, made.turn, made.restart) == (asked.activation, asked.turn, True)


def test_after_a_crash_the_run_restarts_as_before():
    run, (asked,) = a_run()
    again = Execution.restore(run.id, run.program, stored(run.fibers.values()), Limits())

    assert again.restarting
    assert ("0", asked) in again.pending(3)
    assert again.next_run(3) == run.next_run(3)


def test_a_termination_ends_a_run_that_restarts():
    run, (asked,) = a_run()

    ended = run.terminate(3)

    assert Abandon(asked.turn, None) in [command for _, command in ended.commands]
    assert [each.outcome.code for each in ended.updates] == ["Closed"]
    assert not run.restarting


@pytest.mark.parametrize("made", [c.sequence("work"), chain()])
def test_a_run_that_has_not_asked_for_the_next_one_does_not_restart(made):
    run = Execution("0" * 32, c.compile(made), Limits())
    assert not run.restarting
    run.begin(START, 0)

    assert not run.restarting
