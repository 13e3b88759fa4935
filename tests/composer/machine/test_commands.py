"""Commands: which of them leave the execution, and what a step asks for."""

from __future__ import annotations

from tests.kit.composer.world import World
from xingqiao import composer
from xingqiao.composer import Completed, Invoke, Tell, path, receive, tell


def test_a_step_asks_for_an_action_or_tells_a_message_never_both():
    world = World(composer.sequence("a", tell("x", "go", path("$.n"))), {"n": 1})
    world.complete("a", {"n": 7})

    asked, told = world.invoked

    assert (asked.action, asked.tell) == ("/_/a", None)
    assert (told.action, told.function, told.params) == (None, None, 7)
    assert told.tell == Tell("x", "go", told.activation)


def test_a_command_is_known_by_its_members():
    assert Invoke(1, "x", {}, action="/_/a") == Invoke(1, "x", {}, action="/_/a")
    assert Tell("x", "go", "1") != Tell("x", "go", "2")


def test_what_concerns_the_execution_itself_is_not_carried_out_by_others():
    program = composer.compile(composer.parallel(receive("go"), "a"))
    execution = composer.Execution("x", program, composer.Limits())

    begun = execution.begin({}, 0)
    left = [*begun.commands, *execution.proceed(1).commands]

    assert {type(command) for _, command in left} == {Invoke}
    [(fiber, command)] = left
    assert execution.deliver(fiber, Completed(command.turn, {}), 1).commands == []
