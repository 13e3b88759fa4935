"""Instructions: each has an operation."""

from __future__ import annotations

import pytest

from tests.kit.composer.world import World
from xingqiao import composer
from xingqiao.composer import Limits
from xingqiao.composer.machine.cursor import Cursor, popped
from xingqiao.composer.machine.fiber import Fiber
from xingqiao.composer.machine.frames import Counter, Saved
from xingqiao.composer.machine.operations import OPERATIONS


def test_a_program_that_was_compiled_wrong_is_our_mistake():
    program = composer.compile(composer.action("a"))
    context = composer.Context("0" * 32, 0, Limits())
    cursor = Cursor(
        Fiber(id="0", pc=0, value={}, frames=(Counter(1),)), program.instructions, context
    )

    with pytest.raises(AssertionError, match="compiled wrong"):
        popped(cursor, Saved)


def test_there_is_an_operation_for_every_instruction():
    world = World(composer.action("a"))

    assert {type(i) for i in world.program.instructions} <= set(OPERATIONS)
