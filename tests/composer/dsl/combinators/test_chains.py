"""continue_as_new: where it may stand, and simulations that follow the chain."""

from __future__ import annotations

import pytest

from xingqiao import composer as c
from xingqiao.composer import path
from xingqiao.testing import SimulationError, Slow, simulate

LOOP = c.sequence("work", c.when(path("$.n") < 3, c.continue_as_new()))
WORK = {"work": lambda params: Slow(1, {"n": params["n"] + 1})}


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda part: c.parallel("a", part), "parallel: 'components[1]'.*move it after them"),
        (c.race, "race: 'components[0]'.*move it after them"),
        (c.map, "map: 'components[0]'.*move it after them"),
        (lambda part: c.graph({"a": part}), "graph: .*move it after them"),
        (c.asynchronous, "asynchronous: 'components[0]'.*start that with child"),
        (c.saga, "saga: 'components[0]'.*move it after the saga"),
        (lambda part: c.step(part, "b"), "step: 'do'.*move it after the saga"),
        (lambda part: c.step("a", part), "step: 'undo'.*move it after the saga"),
        (c.transaction, "transaction: .*move it after the transaction"),
        (lambda part: c.ensure(part, "a"), "ensure: 'body'.*move it after the ensure"),
        (lambda part: c.ensure("a", part), "ensure: 'finalizer'.*move it after the ensure"),
    ],
)
@pytest.mark.parametrize(
    "part", [c.continue_as_new(), c.sequence("x", c.when(None, c.continue_as_new()))]
)
def test_it_is_refused_where_a_run_cannot_end(build, text, part):
    with pytest.raises(c.CompositionError, match=text.replace("[", r"\[").replace("]", r"\]")):
        build(part)


def test_it_may_stand_wherever_the_run_itself_goes_on():
    part = c.continue_as_new()

    for made in (c.retry(2, part), c.do("a", part), c.timeout(5, part), c.let({"x": 1}, part),
                 c.loop(path("$.n") < 3, part), c.queries(part, n=path("$.n"))):  # fmt: skip
        assert made.continues


def test_a_simulation_follows_the_chain_in_virtual_time():
    run = simulate(LOOP, {"n": 0}, actions=WORK)

    assert run.value == {"n": 3}
    assert run.continued == [{"n": 1}, {"n": 2}]
    assert run.elapsed == 3
    assert [invocation.params["n"] for invocation in run.invocations] == [0, 1, 2]
    assert run.kinds()[0] == "ExecutionStarted"
    assert run.kinds()[-1] == "ExecutionSucceeded"


def test_crashes_at_every_commit_change_nothing():
    run = simulate(LOOP, {"n": 0}, actions={"work": lambda p: {"n": p["n"] + 1}}, crash="every")

    assert run.value == {"n": 3}
    assert run.continued == [{"n": 1}, {"n": 2}]


def test_messages_go_along_in_a_simulation():
    part = c.sequence(c.receive("m"), c.when(path("$.n") < 3, c.continue_as_new()))
    messages = [(1, "m", {"n": 1}), (1, "other", {}), (2, "m", {"n": 2}), (3, "m", {"n": 3})]

    run = simulate(part, messages=messages, crash="every")

    assert run.value == {"n": 3}
    assert run.continued == [{"n": 1}, {"n": 2}]
    assert "MessageDropped" in run.kinds(), "nobody heard the other one, in any run"


def test_an_execution_continues_as_another_composition():
    part = c.continue_as_new({"n": path("$.n")}, action="second")

    run = simulate(part, {"n": 1}, actions={"second": c.sequence("work"), **WORK})

    assert run.value == {"n": 2}
    with pytest.raises(SimulationError, match="continues as /_/second"):
        simulate(part, {"n": 1}, actions={"second": {"n": 2}})


def test_a_cancelled_run_does_not_continue():
    run = simulate(
        c.sequence(c.wait(5), c.continue_as_new()), actions={}, cancel_at=17, run_timeout=None
    )

    assert run.outcome.code == "Cancelled"
    assert len(run.continued) == 3


def test_ten_thousand_runs_keep_one_history():
    part = c.when(
        path("$.n") < 10_000, c.sequence(lambda p: {"n": p["n"] + 1}, c.continue_as_new())
    )

    run = simulate(part, {"n": 0})

    assert len(run.continued) == 10_000
    assert len(run.history) == 2


def test_a_timeline_tells_how_a_run_has_continued():
    history = [
        {"at": 0, "fiber": "0", "turn": 0, "type": "ExecutionStarted", "value": {}},
        {"at": 1, "fiber": "0", "turn": 1, "type": "StepScheduled", "path": "", "next": "r2", "activation": "r2"},
        {"at": 2, "fiber": "0", "turn": 1, "type": "ExecutionContinued", "next": "r2"},
    ]  # fmt: skip

    assert [(line.label, line.note) for line in c.timeline(history)] == [
        ("started", "{}"), ("continued", "as run r2"),
    ]  # fmt: skip
    assert c.timeline(history[:2])[-1].label == "continue as new"
    assert c.mermaid(c.continue_as_new(action="b")).count("continue as b") == 1
