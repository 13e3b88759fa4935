"""Variables that updates change while a step of the main line is under way: the step stays what it was."""

from __future__ import annotations

from tests.composer.machine.test_updating import stored
from xingqiao import composer as c
from xingqiao.composer import Limits, Update, path, var
from xingqiao.composer.machine.execution import Execution
from xingqiao.composer.machine.frames import Handling, Served
from xingqiao.composer.testing import Slow, simulate


def test_an_inline_function_of_the_main_line_undoes_no_update():
    def count(params, variables):
        variables["n"] += 1

    part = c.on_update(sets={"items": path("$.item")})
    made = c.let({"items": None, "n": 0}, c.updates(c.function(count), "work", add=part),
                 c.select({"items": var("items"), "n": var("n")}))  # fmt: skip
    program = c.compile(made)
    run = Execution("0" * 32, program, Limits())
    run.begin({}, 0)
    run.update(Update("1", "add", {"item": 7}), 1)
    left = {"items": None, "n": 1}  # what the function was given, and what it has changed
    run.deliver("0", c.Completed(1, {}, left), 2)

    ended = run.deliver("0", c.Completed(2, {}), 3)
    assert ended.outcome == c.Success({"items": 7, "n": 1})


def test_after_a_crash_a_step_is_asked_for_as_before():
    """Its parameters are made of variables that an update has changed meanwhile."""
    part = c.on_update(sets={"to": path("$.to")})
    made = c.let({"to": "a"}, c.updates(c.tell(var("to"), "go", var("to")), "work", move=part))
    program = c.compile(made)
    run = Execution("0" * 32, program, Limits())
    ((_, asked),) = run.begin({}, 0).commands
    run.update(Update("1", "move", {"to": "b"}), 1)
    run.update(Update("2", "move", {"to": "c"}), 2)
    again = Execution.restore(run.id, program, stored(run.fibers.values()), Limits())

    assert again.pending(3) == [("0", asked)]
    assert again.seen.variables == {"to": "c"}


def test_after_a_crash_a_map_goes_on_with_the_items_that_it_began_with():
    part = c.on_update(sets={"todo": path("$.todo")})
    made = c.let({"todo": [1, 2]}, c.updates(c.map("work", items=var("todo")), set=part))
    run = simulate(made, actions={"work": lambda params: Slow(9, params)}, crash="every",
                   updates=[(1, "set", {"todo": [5]})])  # fmt: skip

    assert run.value == {"value": [{"value": 1}, {"value": 2}]}


def test_values_of_the_frames_are_kept():
    served = Served(3, (1,), 4, ((2, {"a": [1], "b": 2}),))

    assert list(served.values()) == [[1], 2]
    assert list(Handling(1, 2, "add", "id", {"n": 1}, 3).values()) == [{"n": 1}]
