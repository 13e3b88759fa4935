"""The hosted conductor: the same results as the machine's, whatever comes twice, late, or dies."""

from __future__ import annotations

import json

import hypothesis.strategies as st
import pytest
from hypothesis import assume, given, settings

from tests.kit.composer.compositions import INPUTS, compositions, plans
from tests.kit.deploy.hosted_actions import ACTIONS, count
from tests.kit.deploy.hosts import ID, START_MS, Faults, Host, expected, result
from xingqiao import composer
from xingqiao.composer import path, var
from xingqiao.composer.testing import Fail, Never, simulate
from xingqiao.infra.deploy.hosted import LaterError


def broken(params, variables):
    variables["n"] += 1
    return {"error": "broken"}


ITEMS = [{"i": i} for i in range(5)]
COMPOSITIONS = {
    "sequence": composer.sequence("a", "b", "c"),
    "if": composer.when(path("$.a").exists(), "b", "c"),
    "inline": composer.let({"n": 0}, "a", count, "b", count),
    "inline that fails": composer.let({"n": 0}, composer.do(broken, composer.assign(n=7)), count),
    "loop": composer.let({"n": 0}, composer.loop(var("n") < 4, composer.sequence(count, "a"))),
    "retry": composer.do(composer.retry(2, "busy", delay=2, backoff=2), "d"),
    "long retry": composer.do(composer.retry(1, "busy", delay=1800), "d"),
    "parallel": composer.parallel("a", composer.sequence("b", "c"), composer.sequence("d", "d")),
    "map": composer.map(composer.sequence("a", "b"), items=ITEMS),
    "narrow map": composer.map("a", items=ITEMS, concurrency=2),
    "map of functions": composer.let({"n": 0}, composer.map(count, items=ITEMS)),
    "nested forks": composer.map(composer.parallel("a", "b"), items=[{"i": 1}, {"i": 2}]),
    "fail fast": composer.do(composer.parallel(composer.sequence("a", "busy"), "b"), "c"),
    "finalizers of branches": composer.do(
        composer.parallel("busy", composer.ensure(composer.sequence("never"), "b")), "c"
    ),
    "wait for all": composer.do(composer.parallel("busy", "a", errors="wait"), "c"),
    "collect": composer.parallel("busy", "a", errors="collect"),
    "race": composer.race("a", "never"),
    "graph": composer.graph({"s": "a", "t": "b", "u": composer.after(["s", "t"], "c")}),
    "try": composer.do("busy", composer.sequence("a", "b")),
    "finally": composer.ensure(composer.sequence("a", "busy"), "c"),
    "timeout": composer.do(composer.timeout(5, "never"), "d"),
    "timeout in a branch": composer.parallel(composer.do(composer.timeout(5, "never"), "d"), "a"),
    "wait": composer.sequence("a", composer.wait(3), "b"),
    "long wait": composer.sequence("a", composer.wait(7200), "b"),
    "unknown": composer.do("nowhere", "a"),
    "dynamic": composer.sequence(
        composer.literal({"type": "action", "name": "a", "params": {"x": 1}}), composer.dynamic()
    ),
    "nothing": composer.literal({"n": 1}),
}


def simulated(composition, params):
    text = "Failed to resolve action with name '/_/nowhere' during composition."
    fakes = {name: fake or Never() for name, fake in ACTIONS.items()}
    fakes["nowhere"] = Fail("NotFound", text)
    return expected(simulate(composition, params, actions=fakes).outcome)


def raised(run):
    """Whether an inline function has raised: simulated, the error has its type before its text."""
    entries = [entry.to_json(lambda value: value) for entry in run.history]
    return "Error: " in json.dumps(entries) or any(map(raised, run.spawned))


# --- whatever happens ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_the_result_is_the_machines_and_each_step_is_asked_once(name):
    host = Host(COMPOSITIONS[name], ACTIONS)

    assert result(host.run({"x": 1})) == simulated(COMPOSITIONS[name], {"x": 1})
    assert all(len(asked) == 1 for asked in host.keys.values())


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_it_may_die_at_every_call(name):
    composition = COMPOSITIONS[name]
    host = Host(composition, ACTIONS)
    seen = result(host.run({"x": 1}))
    keys = set(host.keys)

    for number in range(host.faults.calls):
        host = Host(composition, ACTIONS, faults=Faults(die_at=number))
        assert result(host.run({"x": 1})) == seen, number
        assert set(host.keys) == keys, "the same steps, by the same keys"
        assert all(len(asked) <= 3 for asked in host.keys.values())


@pytest.mark.parametrize("name", COMPOSITIONS)
@pytest.mark.parametrize("seed", range(5))
def test_messages_may_come_twice_and_late_and_it_may_die_often(name, seed):
    faults = Faults(seed, twice=0.4, die=0.05, overlap=0.3)

    host = Host(COMPOSITIONS[name], ACTIONS, faults=faults)

    assert result(host.run({"x": 1})) == simulated(COMPOSITIONS[name], {"x": 1})
    assert host.queue == [], "nothing comes again for ever"
    assert host.table.load(ID).unsent == {}


def of_one_winner(composition):
    """Whether the order of what happens at once is the same here and simulated.

    An inline function ends at once here, and takes its turn when it is simulated: of branches that fail at the
    same time another one counts. Either is right, for a fork that fails fast promises no order among them.
    """
    found = [*nodes(composition.to_json())]
    inline = any(node.get("type") == "function" for node in found)
    return not (
        inline and any(node.get("type") in FORKS and "errors" not in node for node in found)
    )


def nodes(doc):
    """All objects in a document."""
    if isinstance(doc, dict):
        yield doc
    for inner in doc.values() if isinstance(doc, dict) else doc if isinstance(doc, list) else ():
        yield from nodes(inner)


FORKS = ("parallel", "map", "graph", "race")  # which fail fast if nothing else is said
PATIENT = compositions(errors=("wait", "collect"))


@settings(max_examples=100, deadline=None)
@given(
    composition=PATIENT | compositions().filter(of_one_winner),
    fakes=plans(),
    value=INPUTS,
)
def test_any_composition_ends_as_the_machine_says(composition, fakes, value):
    run = simulate(composition, value, actions=fakes)
    assume(not raised(run))
    host = Host(composition, fakes)

    assert result(host.run(value)) == expected(run.outcome)


@settings(max_examples=60, deadline=None)
@given(
    composition=PATIENT,
    fakes=plans(),
    value=INPUTS,
    seed=st.integers(0, 1000),
)
def test_also_when_messages_come_twice_and_late_and_it_dies(composition, fakes, value, seed):
    run = simulate(composition, value, actions=fakes)
    assume(not raised(run))
    patient = {name: {"timeout_ms": 20 * 24 * 3600 * 1000} for name in fakes}
    host = Host(
        composition, fakes, settings=patient, faults=Faults(seed, twice=0.3, die=0.03, overlap=0.3)
    )

    assert result(host.run(value)) == expected(run.outcome)


def test_what_comes_twice_is_done_once():
    host = Host(composer.sequence("a", "b", "c"), ACTIONS, faults=Faults(1, twice_conductor=1.0))

    assert host.run()["result"] == {"a": 1, "b": 1, "c": 1}
    assert [name for name, _ in host.invocations] == ["a", "b", "c"]


# --- several at once -----------------------------------------------------------------------------


def test_of_two_at_once_the_second_begins_anew():
    host = Host(composer.parallel("a", "b"), ACTIONS).begin()
    first, second = host.answers()
    host.table.meanwhile = [lambda: host.conductor().receive(second)]

    host.conductor().receive(first)

    assert host.follow()["result"] == {"value": [{"a": 1}, {"b": 1}]}


def test_an_answer_that_comes_twice_at_once_is_taken_once():
    host = Host(composer.sequence("a", "b"), ACTIONS).begin()
    (answer,) = host.answers()
    host.table.meanwhile = [lambda: host.conductor().receive(answer)]

    host.conductor().receive(answer)

    assert host.follow()["result"] == {"a": 1, "b": 1}
    assert len(host.calls("b")) == 1


def test_who_is_never_the_first_comes_again():
    host = Host(composer.sequence("a", "b"), ACTIONS).begin()
    (answer,) = host.answers()
    head = json.loads(host.table.heads[ID])

    def quicker():
        head["version"] += 1
        host.table.heads[ID] = json.dumps(head)

    host.table.meanwhile = [quicker] * 20

    host.conductor().receive(answer)

    assert host.queue, "it is sent on"
    assert host.follow()["result"] == {"a": 1, "b": 1}


def test_a_message_is_sent_on_for_some_time_only():
    host = Host(composer.sequence("a"), ACTIONS)
    cancel = {"is": "cancel", "execution": "f" * 32}

    host.conductor().receive({**cancel, "again": 49})
    with pytest.raises(LaterError, match="has not begun"):
        host.conductor().receive({**cancel, "again": 50})

    assert [message for _, _, message in host.queue] == [{**cancel, "again": 50}]


def test_answers_that_come_together_are_one_transition():
    host = Host(composer.map("a", items=ITEMS), ACTIONS).begin()
    version = host.table.load(ID).version

    host.conductor().receive(*host.answers())

    assert host.table.load(ID).version == version + 1
    assert host.look()["status"] == "succeeded"


def test_of_answers_that_come_together_the_stale_ones_change_nothing():
    host = Host(composer.map("a", items=ITEMS), ACTIONS).begin()
    first, *others = host.answers()
    host.conductor().receive(first)

    host.conductor().receive(first, *others, first)

    assert host.look()["result"]["value"] == [{**item, "a": 1} for item in ITEMS]


def test_a_stop_may_come_before_the_beginning():
    inner = composer.ensure(composer.sequence("never"), "c")
    host = Host(composer.sequence("inner"), ACTIONS, others={"inner": inner}).begin()
    (begin,) = host.answers()
    host.conductor().cancel(ID)
    (cancel,) = host.answers()
    assert (begin["is"], cancel["is"]) == ("begin", "cancel")

    host.conductor().receive(cancel)
    host.conductor().receive(begin)
    host.follow()

    assert host.look(begin["execution"])["status"] == "cancelled"


def test_what_a_sweep_cannot_do_it_leaves_to_the_next(caplog):
    host = Host(composer.sequence("never"), ACTIONS).begin()
    host.clock.ms += 3_600_000
    conductor = host.conductor()

    def refuse():
        raise OSError("the table is away")

    host.table.meanwhile = [refuse]
    conductor.sweep()
    assert "the next sweep tries again" in caplog.text
    conductor.sweep()

    assert len(host.answers()) == 0
    assert len(host.calls("never")) == 2


# --- what a step costs ---------------------------------------------------------------------------


def test_a_step_of_a_sequence_reads_nothing_and_writes_twice():
    host = Host(composer.sequence(*["a"] * 10), ACTIONS).begin()
    host.table.reads = host.table.writes = 0

    seen = host.follow()

    assert seen["result"] == {"a": 10}
    assert host.table.reads == 0 + 1  # to look
    assert host.table.writes == 9 * 2 + 1


def test_what_is_too_large_to_be_carried_is_read():
    large = "x" * 100_000
    host = Host(composer.sequence("a", "b"), ACTIONS)

    seen = host.run({"large": large})

    assert seen["result"] == {"a": 1, "b": 1, "large": large}


def test_a_wide_fork_takes_several_lives():
    items = [{"i": i} for i in range(150)]
    host = Host(composer.map("a", items=items), ACTIONS)

    seen = host.run()

    assert [item["i"] for item in seen["result"]["value"]] == list(range(150))
    assert len(host.calls("a")) == 150


def test_a_wide_fork_of_forks_survives_deaths():
    composition = composer.map(
        composer.map("a", items=[{"j": j} for j in range(12)]), items=[{"i": i} for i in range(12)]
    )
    host = Host(composition, ACTIONS, faults=Faults(3, die=0.01, twice=0.2))

    seen = host.run()

    assert [len(item["value"]) for item in seen["result"]["value"]] == [12] * 12


def test_many_inline_functions_take_several_lives():
    composition = composer.let({"n": 0}, composer.loop(var("n") < 450, count))

    for seed in range(3):
        host = Host(composition, ACTIONS, faults=Faults(seed, die=0.1 * seed))
        assert host.run()["result"] == {"n": 450}
        assert host.table.load(ID).version > 4


# --- answers that never come ---------------------------------------------------------------------


def test_an_answer_that_is_lost_is_asked_for_again_with_the_same_key():
    host = Host(composer.sequence("a", "b"), ACTIONS, faults=Faults(lose_first=1))

    assert host.run()["result"] == {"a": 1, "b": 1}
    assert sorted(map(len, host.keys.values())) == [1, 2]


def test_then_the_step_has_timed_out():
    host = Host(composer.do("never", "d"), ACTIONS, settings={"never": {"timeout_ms": 5_000}})

    seen = host.run()

    assert seen["result"]["error"]["code"] == "Timeout"
    assert "/_/never" in seen["result"]["error"]["message"]
    assert len(host.calls("never")) == 2
    assert seen["ended"] - START_MS < 20 * 60_000


def test_what_may_run_once_is_not_asked_again():
    once = {"never": {"timeout_ms": 5_000, "at_most_once": True}}
    host = Host(composer.do("never", "d"), ACTIONS, settings=once)

    assert host.run()["result"]["error"]["code"] == "Timeout"
    assert len(host.calls("never")) == 1


@pytest.mark.parametrize("number", range(12))
def test_what_may_run_once_runs_at_most_once_wherever_it_dies(number):
    once = {"a": {"timeout_ms": 5_000, "at_most_once": True}}
    host = Host(composer.sequence("a"), ACTIONS, settings=once, faults=Faults(die_at=number))

    assert host.run()["status"] in ("succeeded", "failed")
    assert len(host.calls("a")) <= 1


# --- compositions in compositions ----------------------------------------------------------------

INNER = composer.sequence("a", composer.parallel("b", "c"))


@pytest.mark.parametrize("seed", range(5))
def test_a_step_may_be_a_composition(seed):
    composition = composer.sequence("d", "inner", "d")
    faults = Faults(seed, twice=0.3, die=0.05 * (seed > 0))
    host = Host(composition, ACTIONS, others={"inner": INNER}, faults=faults)

    seen = host.run()

    assert result(seen) == expected(
        simulate(composition, {}, actions={**ACTIONS, "never": Never(), "inner": INNER}).outcome
    )


def test_a_compositions_failure_is_its_steps():
    host = Host(
        composer.do("inner", composer.select({"code": path("$.error.code")})),
        ACTIONS,
        others={"inner": composer.sequence("a", "busy")},
    )

    assert host.run()["result"] == {"code": "Busy"}


def test_a_composition_that_is_given_up_is_asked_to_stop():
    inner = composer.ensure(composer.sequence("never"), "c")
    host = Host(
        composer.do(composer.timeout(5, "inner"), composer.sequence(composer.literal({}), "d")),
        ACTIONS,
        others={"inner": inner},
    )

    seen = host.run()

    assert seen["result"]["d"] == 1
    assert host.calls("c") == [{"error": {"code": "Cancelled", "message": "cancelled"}}]
    (child,) = host.executions() - {ID}
    assert host.look(child)["status"] == "cancelled"


def test_compositions_do_not_nest_for_ever():
    host = Host(composer.sequence("main"), ACTIONS)

    assert host.run()["result"]["error"]["code"] == "LimitExceeded"


def test_what_nobody_waits_for_begins_by_itself():
    composition = composer.let(
        {"n": 5},
        composer.asynchronous(composer.sequence("a", count)),
        composer.literal({"done": 1}),
    )
    for seed in range(5):
        host = Host(composition, ACTIONS, faults=Faults(seed, twice=0.3, die=0.1))

        assert host.run()["result"] == {"done": 1}
        (spawned,) = host.executions() - {ID}
        assert host.look(spawned)["result"] == {"a": 1, "n": 6}


# --- people --------------------------------------------------------------------------------------


def test_an_execution_says_where_it_stands():
    host = Host(composer.parallel("never", composer.wait(100)), ACTIONS).begin()

    seen = host.look()

    assert seen["status"] == "running"
    assert [(wait["fiber"], wait["for"]) for wait in seen["waits"]] == [
        ("0", "branches"), ("0/1.0", "/_/never"), ("0/1.1", "timer"),
    ]  # fmt: skip
    assert seen["waits"][2]["due"] == START_MS + 100_000


def test_one_that_is_asked_to_stop_finalizes():
    host = Host(composer.ensure(composer.sequence("never"), "c"), ACTIONS).begin()

    assert host.conductor().cancel(ID)
    seen = host.follow()

    assert seen["status"] == "cancelled"
    assert len(host.calls("c")) == 1
    assert not host.conductor().cancel("f" * 32)


def test_beginning_twice_is_beginning_once():
    host = Host(composer.sequence("a", "b"), ACTIONS).begin({"n": 1}).begin({"n": 2})

    assert host.follow()["result"] == {"n": 1, "a": 1, "b": 1}


def test_while_another_may_be_about_to_send_a_message_must_come_later():
    host = Host(composer.sequence("a", "b"), ACTIONS, faults=Faults(die_at=4))
    host.begin_once()

    with pytest.raises(LaterError):
        host.conductor().begin(ID, "/_/main", {})
    host.clock.ms += 40_000
    host.conductor().begin(ID, "/_/main", {})

    assert host.follow()["result"] == {"a": 1, "b": 1}
