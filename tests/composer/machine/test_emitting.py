"""CloudEvents that are emitted: once, over crashes, redrives, resets and other programs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.composer.machine.test_reset import forked
from tests.kit.composer.world import World
from xingqiao import composer
from xingqiao.composer import Emit, Limits, RedriveError, emit, path
from xingqiao.composer.machine.reset import entry_of
from xingqiao.composer.values import Success


def sent(world):
    """The types of the CloudEvents that were committed, in order."""
    return [command.attributes["type"] for command in world.spawned if type(command) is Emit]


def ids(world):
    return [command.attributes["id"] for command in world.spawned if type(command) is Emit]


def told(world):
    """The same, as the history has them."""
    entries = [entry for entry in world.history if entry["type"] == "Emitted"]
    assert [entry["activation"] for entry in entries] == [entry["value"]["id"] for entry in entries]
    return [entry["emitted"] for entry in entries]


def test_it_is_in_the_commit_of_the_step_before_it():
    world = World(composer.sequence("a", emit({"type": "x", "data": path("$.n")}), "b"))

    changes = world.complete("a", {"n": 1})

    ((_, command), (_, step)) = changes.commands
    assert [entry.kind for entry in changes.entries] == [
        "StepSucceeded",
        "Emitted",
        "StepScheduled",
    ]
    assert (command.attributes["type"], command.content) == ("x", {"data": 1})
    assert command.attributes["id"] != step.activation
    assert step.params == {"n": 1}


def test_a_crash_after_the_commit_emits_nothing_again():
    each = composer.sequence(emit({"type": path("$.t")}), "b")
    world = World(
        composer.sequence("a", emit({"type": "x"}), composer.map(each, items=[{"t": "y"}]))
    )
    world.complete("a")

    world.crash()
    world.complete("b")

    assert sent(world) == told(world) == ["x", "y"]


def test_what_was_emitted_before_the_failed_step_is_not_emitted_again_and_what_comes_after_is():
    world = World(
        composer.sequence(emit({"type": "w"}), "a", emit({"type": "x"}), "b", emit({"type": "y"}))
    )
    world.complete("a")
    world.fail("b")

    for _ in range(3):
        world.redrive()
        world.crash()
        world.fail("b")
    world.redrive()
    world.complete("b")

    assert sent(world) == told(world) == ["w", "x", "y"]
    assert len({*ids(world)}) == 3


def test_a_finalizer_emits_in_each_run_that_it_has():
    world = World(composer.ensure("a", emit({"type": "over"})))

    world.fail("a")
    world.redrive()
    world.complete("a")

    assert sent(world) == told(world) == ["over", "over"]
    assert len({*ids(world)}) == 2


def test_a_step_that_made_no_cloudevent_needs_another_program():
    world = World(composer.sequence("a", emit(path("$.event"))))
    world.complete("a", {"event": {}})

    with pytest.raises(RedriveError, match="failed by its program"):
        world.redrive()
    world.now = 5_000
    world.redrive(composer.sequence("a", emit({"type": "x"})))

    assert world.outcome == Success({"event": {}})
    assert sent(world) == told(world) == ["x"]
    assert world.spawned[0].attributes["time"] == "1970-01-01T00:00:05.000Z"
    assert world.kinds()[-3:] == ["ExecutionRedriven", "Emitted", "ExecutionSucceeded"]


def test_what_another_program_emits_before_the_failed_step_is_emitted_once_by_the_redrive():
    world = World(composer.sequence("a", "b"))
    world.complete("a")
    world.fail("b")

    with pytest.raises(RedriveError, match="does not agree"):
        world.redrive(composer.sequence(emit({"type": "w"}), "a", "b"))
    more = composer.sequence("a", emit({"type": "x"}), "b")
    world.redrive(more)
    world.fail("b")
    world.redrive(more)
    world.complete("b")

    assert sent(world) == told(world) == ["x"]


def test_a_branch_that_had_no_time_to_emit_does_so_in_the_redrive():
    branches = ["a", composer.sequence("b", emit({"type": "x"}), "c")]
    world = World(composer.parallel(*branches))
    world.fail("a")
    assert sent(world) == []

    world.redrive()
    world.complete("a")
    world.complete("b")
    world.complete("c")

    assert sent(world) == told(world) == ["x"]


@pytest.mark.parametrize(
    ("to", "expected"),
    [("first", ["w", "x", "y"]), ("a", ["x", "y"]), ("b", ["y"])],
)
def test_a_reset_emits_again_what_comes_after_its_entry(to, expected):
    world = World(
        composer.sequence(emit({"type": "w"}), "a", emit({"type": "x"}), "b", emit({"type": "y"}))
    )
    world.complete("a")
    world.complete("b")
    assert sent(world) == ["w", "x", "y"]

    entry = entry_of(
        world.history, "first" if to == "first" else "last", None if to == "first" else to
    )
    other = forked(world, entry)
    if to != "b":
        other.complete("a")
    other.fail("b")
    other.redrive()
    other.complete("b")

    assert sent(other) == expected
    assert not {*ids(other)} & {*ids(world)}


# --- at random ------------------------------------------------------------------------------------

PARTS = st.recursive(
    st.sampled_from(["a", "emit"]),
    lambda parts: st.one_of(
        st.lists(parts, min_size=1, max_size=4).map(lambda each: ("sequence", each)),
        st.lists(parts, min_size=2, max_size=3).map(lambda each: ("parallel", each)),
    ),
    max_leaves=8,
)


def built(part, counter):
    """The composition of a drawn part; each emission has a type of its own."""
    if part == "emit":
        counter.append(f"t{len(counter)}")
        return emit({"type": counter[-1]})
    if part == "a":
        return composer.action("a")
    how, parts = part
    made = [built(each, counter) for each in parts]
    return composer.sequence(*made) if how == "sequence" else composer.parallel(*made)


@settings(max_examples=60)
@given(
    part=PARTS, happens=st.lists(st.sampled_from(["done", "done", "crash", "fail"]), max_size=12)
)
def test_each_part_emits_once_whatever_fails_and_crashes(part, happens):
    types = []
    world, happens = World(built(part, types), {}), [*happens]

    while not isinstance(world.outcome, Success):
        what = happens.pop() if happens else "done"
        if world.outcome is not None:
            world.redrive()
        elif what == "crash":
            world.crash()
        elif what == "fail":
            world.fail("a")
        else:
            world.complete("a")

    assert sorted(sent(world)) == sorted(told(world)) == sorted(types)
    assert len({*ids(world)}) == len(types)


def test_each_counts_as_a_step():
    twice = composer.sequence(emit({"type": "x"}), emit({"type": "y"}))

    world = World(twice, limits=Limits(steps=1))

    assert world.outcome.code == "LimitExceeded"
    assert sent(world) == told(world) == ["x"]
