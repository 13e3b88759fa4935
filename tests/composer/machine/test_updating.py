"""Updates of an execution: accepted, handled beside the main line, and answered, each once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xingqiao import composer as c
from xingqiao.composer import Limits, Update, path, var
from xingqiao.composer.machine.execution import Execution
from xingqiao.composer.testing import Fail, Never, Slow, simulate

PUSH = {"items": {"item": path("$.item"), "rest": var("items")}}
ADD = c.on_update(
    validate=path("$.item").exists(), body="check", sets=PUSH, answer={"first": var("items")}
)


def listing(*body, **handlers):
    """A composition with a list that its updates change; its result is the list."""
    return c.let({"items": None}, c.updates(*body, **handlers), c.select(var("items")))


def items(made):
    """The items of a list of PUSH, the oldest first."""
    found, made = [], None if made == {"value": None} else made
    while made is not None:
        found.append(made["item"])
        made = made["rest"]
    return found[::-1]


def echo(seconds=0):
    return lambda params: Slow(seconds, params)


def after(params):
    return Slow(params["after"], params)


# --- one update -----------------------------------------------------------------------------------


@pytest.mark.parametrize("crash", [(), "every"])
def test_an_update_is_handled_and_changes_the_main_line(crash):
    run = simulate(
        listing("work", add=ADD), actions={"work": Slow(10, {}), "check": echo(1)},
        updates=[(2, "add", {"item": 1}), (5, "add", {"item": 2})], crash=crash,
    )  # fmt: skip

    assert items(run.value) == [1, 2]
    assert [update.answer["first"]["item"] for update in run.updates] == [1, 2]


def test_the_history_tells_of_it():
    run = simulate(
        listing("work", add=ADD), actions={"work": Slow(10, {}), "check": echo(1)},
        updates=[(2, "add", {"item": 1})],
    )  # fmt: skip

    told = [entry for entry in run.history if entry.kind.startswith("Update")]
    assert [(entry.at_ms, entry.kind) for entry in told] == [
        (0, "UpdatesOpened"),
        (2000, "UpdateAccepted"),
        (3000, "UpdateCompleted"),
    ]
    assert told[1].value == {"item": 1}
    assert told[2].detail == {"name": "add", "update": "update-0"}


def test_without_a_body_and_an_answer_the_payload_is_the_answer():
    run = simulate(listing("work", ping=c.on_update()), actions={"work": Slow(9, {})},
                   updates=[(1, "ping", {"n": 1}), (2, "ping", 7)])  # fmt: skip

    assert [update.answer for update in run.updates] == [{"n": 1}, {"value": 7}]


def test_a_rejected_update_leaves_nothing():
    run = simulate(listing("work", add=ADD), actions={"work": Slow(9, {})},
                   updates=[(1, "add", {"x": 1})])  # fmt: skip
    quiet = simulate(listing("work", add=ADD), actions={"work": Slow(9, {})})

    assert run.updates[0].error == "Rejected"
    assert (run.kinds(), run.commits) == (quiet.kinds(), quiet.commits)


def test_a_validator_sees_the_variables_of_the_main_line():
    part = c.on_update(validate=var("left") >= path("$.take"), sets={"left": path("$.take")})
    run = simulate(
        c.let({"left": 5}, c.updates("work", take=part), c.select(var("left"))),
        actions={"work": Slow(9, {})},
        updates=[(1, "take", {"take": 6}), (2, "take", {"take": 3}), (3, "take", {"take": 4})],
    )

    assert run.value == {"value": 3}
    assert [update.outcome.code if i != 1 else "" for i, update in enumerate(run.updates)] == [
        "Rejected", "", "Rejected",
    ]  # fmt: skip


def test_a_validator_that_cannot_be_evaluated_rejects():
    part = c.on_update(validate=path("$.n") > var("gone"))
    made = c.updates("work", add=part)
    run = simulate(made, actions={"work": Slow(9, {})}, updates=[(1, "add", {"n": 1})])

    assert run.updates[0].error == "Rejected"


# --- several ---------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 20)), max_size=9),
    st.sampled_from(["work", "function", "until", "map"]),
    st.booleans(),
)
def test_no_two_updates_lose_each_others_change(asked, kind, crash):
    """Against a reference: the changes stand in the order in which the handlers ended."""
    bodies = {
        "work": "work",
        "function": c.sequence(lambda p, v: None, "work", lambda p, v: None),
        "until": c.timeout(25, c.until(var("items").exists())).catch("work", errors="Timeout"),
        "map": c.sequence(c.map("work", items=[1, 2]), "work"),
    }
    updates = [
        (at + n / 100, "add", {"item": n, "after": seconds})
        for n, (at, seconds) in enumerate(asked)
    ]
    actions = {"work": Slow(25, {}), "check": after}
    run = simulate(listing(bodies[kind], add=ADD), actions=actions, updates=updates,
                   crash="every" if crash else ())  # fmt: skip

    ended = [
        (entry.at_ms, int(entry.detail["update"].removeprefix("update-")))
        for entry in run.history
        if entry.kind == "UpdateCompleted"
    ]
    payloads = [update.payload["item"] for update in run.updates]
    assert items(run.value) == [payloads[number] for _, number in ended]
    for at_ms, number in [] if crash else ended:  # after a crash a step runs again
        update = run.updates[number]
        assert at_ms == round(1000 * (update.at + update.payload["after"]))
    assert {update.outcome.code for update in run.updates if isinstance(update.outcome, c.Failure)} <= {
        "Closed"
    }  # fmt: skip


def test_several_are_under_way_and_end_in_their_own_order():
    run = simulate(listing("work", add=ADD), actions={"work": Slow(50, {}), "check": after},
                   updates=[(1, "add", {"item": "slow", "after": 20}),
                            (2, "add", {"item": "fast", "after": 3})])  # fmt: skip

    assert items(run.value) == ["fast", "slow"]


def stored(fibers):
    """Fibers as a store gives them back."""
    docs = [fiber.to_json(lambda value: {"v": value}) for fiber in fibers]
    return [c.Fiber.from_json(doc, lambda doc: doc["v"], c.DIALECTS.frame) for doc in docs]


def test_ten_are_under_way_at_most():
    asked = [(1, "add", {"item": n}) for n in range(11)]
    run = simulate(listing("work", add=ADD), actions={"work": Slow(50, {}), "check": echo(5)},
                   updates=[*asked, (10, "add", {"item": 11})])  # fmt: skip

    assert [update.error for update in run.updates if isinstance(update.outcome, c.Failure)] == [
        "TooManyUpdates"
    ]
    assert items(run.value) == [*range(10), 11]


def test_two_thousand_are_accepted_in_a_run():
    asked = [(n, "ping", n) for n in range(2001)]
    run = simulate(c.updates("work", ping=c.on_update()), actions={"work": Slow(5000, {})},
                   updates=asked)  # fmt: skip

    assert [update.error for update in run.updates if isinstance(update.outcome, c.Failure)] == [
        "TooManyUpdates"
    ]
    assert run.updates[1999].answer == {"value": 1999}


# --- failures, and the end -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "code"),
    [
        (c.on_update(body="fails", sets={"items": 1}), "Down"),
        (c.on_update(sets={"items": path("$.gone")}), "ExpressionError"),
        (c.on_update(sets={"items": 1}, answer=path("$.gone")), "ExpressionError"),
    ],
)
@pytest.mark.parametrize("crash", [(), "every"])
def test_a_handler_that_fails_fails_its_update_and_changes_nothing(part, code, crash):
    run = simulate(listing("work", add=part), actions={"work": Slow(9, {}), "fails": Fail("Down")},
                   updates=[(1, "add", {})], crash=crash)  # fmt: skip

    assert run.updates[0].error == code
    assert run.value == {"value": None}
    assert "UpdateFailed" in run.kinds()


@pytest.mark.parametrize("crash", [(), "every"])
@pytest.mark.parametrize(
    "body",
    ["never", c.parallel("never", c.wait(60)), c.wait(60), c.timeout(90, "never")],
)
def test_updates_that_are_open_when_the_body_ends_are_closed(body, crash):
    part = c.on_update(body=body, sets={"items": 1})
    run = simulate(c.sequence(listing("work", add=part), c.retain(c.wait(200))),
                   actions={"work": Slow(9, {}), "never": Never()},
                   updates=[(1, "add", {}), (10, "add", {})], crash=crash)  # fmt: skip

    assert [update.error for update in run.updates] == ["Closed", "Closed"]
    assert run.updates[0].outcome.message.endswith("its part of the composition ended before its "
                                                   "handler had ended")  # fmt: skip
    assert run.value["params"] == {"value": None}


@pytest.mark.parametrize("crash", [(), "every"])
@pytest.mark.parametrize(
    ("body", "options"),
    [("fails", {}), (c.wait(60), {"cancel_at": 5}), (c.wait(60), {"run_timeout": 5})],
)
def test_updates_that_are_open_when_the_run_ends_otherwise_are_closed(body, options, crash):
    run = simulate(listing(body, add=c.on_update(body="never")),
                   actions={"fails": Slow(4, Fail("Down")), "never": Never()},
                   updates=[(1, "add", {})], crash=crash, **options)  # fmt: skip

    assert isinstance(run.outcome, c.Failure)
    assert run.updates[0].error == "Closed"
    assert "StepCancelled" not in run.kinds()


def test_a_termination_closes_them_and_abandons_their_steps():
    program = c.compile(listing("work", add=c.on_update(body="check")))
    run = Execution("0" * 32, program, Limits())
    run.begin({}, 0)
    run.update(Update("1", "add", {}), 1)

    ended = run.terminate(2)

    assert [fiber for fiber, _ in ended.commands] == ["u1/0.0", "0"]
    assert [each.outcome.code for each in ended.updates] == ["Closed"]
    assert (run.updates, run.accepted) == ({}, 0)


def test_a_failure_that_is_handled_inside_leaves_them_open():
    run = simulate(listing(c.do("fails", "work"), add=ADD), updates=[(1, "add", {"item": 1})],
                   actions={"fails": Slow(4, Fail("Down")), "work": Slow(4, {}), "check": echo(5)})  # fmt: skip

    assert items(run.value) == [1]


def test_names_that_nothing_handles():
    made = c.sequence(c.wait(5), listing("work", add=ADD), c.wait(5))
    run = simulate(made, actions={"work": Slow(9, {}), "check": echo()}, updates=[
        (1, "other", {}), (1, "add", {"item": 1}), (16, "add", {"item": 2}),
    ])  # fmt: skip

    assert [run.updates[0].error, run.updates[2].error] == ["NoSuchUpdate", "Closed"]
    assert run.updates[1].answer["first"]["item"] == 1


def test_an_update_that_comes_too_late_has_no_outcome():
    run = simulate(listing("work", add=ADD), actions={"work": {}}, updates=[(5, "add", {})])

    with pytest.raises(AssertionError, match="was not answered: None"):
        _ = run.updates[0].answer
    with pytest.raises(AssertionError, match="did not fail: None"):
        _ = run.updates[0].error
    changes = Execution("0" * 32, c.compile(c.wait(1)), Limits()).update(Update("1", "a", 1), 0)
    assert changes.stale


def test_of_two_parts_with_one_name_the_inner_one_handles_it():
    inner = c.updates("work", add=c.on_update(answer="inner"))
    made = c.updates(inner, "work", add=c.on_update(answer="outer"))
    run = simulate(made, actions={"work": Slow(9, {})}, updates=[(1, "add", 1), (10, "add", 1)])

    assert [update.answer for update in run.updates] == ["inner", "outer"]


def test_an_inner_part_that_ends_closes_only_its_own():
    inner = c.updates("work", slow=c.on_update(body="long"))
    made = c.updates(inner, "work", outer=c.on_update(body="long"))
    run = simulate(made, actions={"work": Slow(9, {}), "long": echo(12)},
                   updates=[(1, "outer", {}), (2, "slow", {})])  # fmt: skip

    assert run.updates[0].answer == {}
    assert run.updates[1].error == "Closed"


def test_a_part_in_a_loop_serves_in_each_round():
    made = c.repeat(3, c.updates("work", ping=c.on_update()))
    run = simulate(
        made, actions={"work": Slow(9, {})}, updates=[(n, "ping", n) for n in (1, 10, 20)]
    )

    assert [update.answer["value"] for update in run.updates] == [1, 10, 20]


def test_steps_of_handlers_count():
    part = c.on_update(body=c.repeat(5, "check"))
    run = simulate(listing("work", c.repeat(9, "check"), add=part), limits=Limits(steps=12),
                   actions={"work": Slow(9, {}), "check": {}}, updates=[(1, "add", {})])  # fmt: skip

    assert run.updates[0].answer == {}
    assert run.outcome.code == "LimitExceeded"


# --- what is stored --------------------------------------------------------------------------------


def test_a_run_with_updates_under_way_is_restored():
    program = c.compile(listing("work", add=c.on_update(body=c.parallel("check", "b"))))
    run = Execution("0" * 32, program, Limits())
    run.begin({}, 0)
    for number in range(1, 11):
        run.update(Update(f"id {number}", "add", {"n": number}), number)
    again = Execution.restore(run.id, program, stored(run.fibers.values()), Limits())

    assert [each.update for each in again.updates.values()] == [f"id {n}" for n in range(1, 11)]
    assert again.updates == run.updates
    assert again.updates == run.updates
    assert sorted(again.pending(20), key=str) == sorted(run.pending(20), key=str)
    assert again.accepted == 10


def test_queries_see_what_an_update_has_set():
    made = c.queries(listing("work", add=ADD), items=var("items"))
    run = simulate(made, actions={"work": Slow(9, {}), "check": echo()}, crash="every",
                   updates=[(1, "add", {"item": 1})], queries=[(2, "items"), (99, "items")])  # fmt: skip

    assert [items(answer) for answer in run.answers] == [[1], [1]]
