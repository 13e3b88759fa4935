"""`child`: what it takes, what it compiles to, and what a simulation makes of it."""

from __future__ import annotations

import pytest

from tests.kit.composer.world import World, read, written
from xingqiao import composer
from xingqiao.composer import Composition, child, parse, path
from xingqiao.composer.errors import CompositionError
from xingqiao.composer.machine.children import child_failed, child_started
from xingqiao.composer.machine.instructions import Adopt
from xingqiao.composer.testing import Fail, Slow, simulate
from xingqiao.composer.values import Failure


def test_it_is_a_part_that_is_written_and_read():
    part = child("pay", {"n": path("$.n")}, id=path("$.order"), on_open="use", on_closed="reject",
                 close="cancel", on_cancel="try")  # fmt: skip

    assert isinstance(part, Composition)
    assert parse(part.to_json()).to_json() == part.to_json()
    [adopt] = [i for i in composer.compile(part).instructions if isinstance(i, Adopt)]
    told = adopt.action, adopt.wait, adopt.on_open, adopt.on_closed, adopt.close, adopt.on_cancel
    assert told == ("/_/pay", True, "use", "reject", "cancel", "try")
    program = composer.compile(part)
    assert composer.Program.from_json(program.to_json(), composer.DIALECTS) == program
    assert program.actions == ["/_/pay"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"on_open": "use"}, "'on_open' needs an 'id'"),
        ({"on_closed": "reject"}, "'on_closed' needs an 'id'"),
        ({"close": "kill"}, "must be one of 'terminate', 'cancel', 'abandon'"),
        ({"wait": False, "on_cancel": "try"}, "'on_cancel' says how a wait ends"),
        ({"wait": 1}, "wait"),
    ],
)
def test_what_is_wrong_with_it_is_said(options, says):
    with pytest.raises(CompositionError, match=says):
        child("pay", **options)


def test_a_simulation_gives_the_result_or_the_failure_of_a_child():
    part = child("pay", {"n": 1}, id="x")

    paid = simulate(part, actions={"pay": lambda p: {"paid": p["n"]}})
    raised = simulate(part, actions={"pay": Fail("Down", {"code": "Down", "message": "no"})})
    answered = simulate(part, actions={"pay": {"error": "no"}})

    assert paid.value == {"paid": 1}
    assert paid.calls("pay") == [{"n": 1}]
    for run, code, error in (
        (raised, "Down", {"code": "Down", "message": "no"}),
        (answered, "ApplicationError", "no"),
    ):
        assert run.outcome.code == "ChildFailed"
        assert (run.error["id"], run.error["code"], run.error["error"]) == ("x", code, error)


def test_a_simulated_child_that_is_not_waited_for_gives_its_ids():
    run = simulate(
        child("pay", id=path("$.order"), wait=False), {"order": "o-1"}, actions={"pay": {}}
    )

    assert run.value["id"] == "o-1"
    assert len(run.value["executionId"]) == 32


def test_the_id_must_be_a_text():
    for given in (7, "", None):
        run = simulate(child("pay", id=path("$.order")), {"order": given}, actions={"pay": {}})
        assert "the id must be a text" in str(run.error)


def test_parameters_that_cannot_be_made_fail_the_part():
    run = simulate(child("pay", {"n": path("$.none.of.it")}), actions={"pay": {}})

    assert run.outcome.code == "ExpressionError"


@pytest.mark.parametrize("on_cancel", ["wait", "try", "abandon"])
@pytest.mark.parametrize("crash", [(), "every"])
def test_a_cancelled_wait_runs_its_finalizers_after_the_child(on_cancel, crash):
    part = composer.ensure(child("slow", on_cancel=on_cancel), "tidy")

    run = simulate(part, actions={"slow": Slow(100, {}), "tidy": {}}, cancel_at=5, crash=crash)

    assert run.outcome.code == "Cancelled"
    assert len(run.calls("tidy")) >= 1
    ended = [kind for kind in run.kinds() if kind in {"StepFailed", "StepCancelled"}]
    assert ended == (["StepFailed"] if on_cancel == "wait" else ["StepCancelled"])


def test_a_child_that_succeeds_though_it_was_asked_to_stop_does_not_undo_the_cancellation():
    world = World(composer.ensure(child("slow"), "tidy"))
    world.execution.cancel(0)
    [(fiber, turn)] = world.under_way
    stands = world.execution.fibers[fiber]
    assert stands.wait.unwind_reason is not None
    again = world.execution.cancel(1)

    assert again.commands == [], "it is asked once"
    stands = world.execution.fibers[fiber]
    assert read(written(stands)) == stands
    accepted = world.execution.deliver(fiber, composer.Accepted(turn, {"run": "r"}, polled=True), 2)
    assert accepted.fibers[fiber].wait.unwind_reason is not None
    world.deliver(fiber, composer.Completed(turn, {"done": True}))
    world.complete("tidy")

    assert world.outcome.code == "Cancelled"


def test_a_timeout_waits_for_the_child_as_well():
    part = composer.timeout(10, child("slow"))

    run = simulate(part, actions={"slow": Slow(100, {})})

    assert run.outcome.code == "Timeout"
    assert run.elapsed == 10
    assert "StepFailed" in run.kinds()


def test_a_failure_names_the_child_by_its_id_or_its_run():
    failed = Failure("Down", "no luck")

    assert child_failed("", "r1", failed).error == {
        "run": "r1", "code": "Down", "error": "no luck",
        "message": "The child r1 failed: Down: no luck",
    }  # fmt: skip
    assert child_failed("x", "r1", failed).error["id"] == "x"
    assert child_started("", "r1") == {"executionId": "r1"}
    assert child_started("x", "r1") == {"executionId": "r1", "id": "x"}
    assert child_failed("x", "r1", failed).named("Down")
