"""The assembler: instructions in order, labels that become places, and paths."""

from __future__ import annotations

import pytest

from xingqiao.composer import CompositionError
from xingqiao.composer.dsl.assembler import MAX_INSTRUCTIONS, Assembler
from xingqiao.composer.machine.instructions import Branch, Invoke, Jump


def test_a_label_stands_for_the_instruction_that_follows_it():
    assembler = Assembler("guest")
    start, end = assembler.here(), assembler.label()
    assembler.emit(Branch, otherwise=end)
    assembler.emit(Jump, to=start)
    assembler.place(end)

    assert assembler.program().instructions == (Branch(otherwise=2), Jump(to=0))


def test_labels_are_found_in_lists_of_targets_too():
    assembler = Assembler("guest")
    first, second = assembler.label(), assembler.label()
    assembler.emit(Jump, to=({"a": first}, (second, "as it is")))
    assembler.place(first)
    assembler.emit(Jump, to=first)
    assembler.place(second)

    assert assembler.program().instructions[0] == Jump(to=({"a": 1}, (2, "as it is")))


@pytest.mark.parametrize(
    ("name", "full"), [("a", "/guest/a"), ("p/a", "/guest/p/a"), ("/other/a", "/other/a")]
)
def test_an_action_is_of_the_namespace_unless_it_says_another(name, full):
    assert Assembler("guest").action(name) == full


def test_a_path_grows_inwards_and_is_as_before_outside():
    assembler = Assembler("guest")
    with assembler.within("components[1]"):
        with assembler.within("test"):
            assembler.emit(Invoke, action="/_/a", path=assembler.path)
        assert assembler.path == "components[1]"

    assert assembler.path == ""
    assert assembler.program().instructions[0].path == "components[1].test"


def test_a_path_is_as_before_also_when_a_part_is_refused():
    assembler = Assembler("guest")
    with pytest.raises(ValueError, match="no"), assembler.within("a"), assembler.inside("saga"):
        raise ValueError("no")

    assert assembler.path == ""
    assert not assembler.is_directly_inside("saga")


def test_only_the_innermost_construct_is_directly_around():
    assembler = Assembler("guest")
    with assembler.inside("saga"):
        assert assembler.is_directly_inside("saga")
        with assembler.inside("step"):
            assert not assembler.is_directly_inside("saga")
            assert assembler.is_directly_inside("step")


def test_equal_functions_are_one_in_whatever_order_their_fields_stand():
    assembler = Assembler("guest")
    one = assembler.function({"kind": "python:3", "code": "x"})
    same = assembler.function({"code": "x", "kind": "python:3"})
    other = assembler.function({"code": "y", "kind": "python:3"})

    assert one == same != other
    assert assembler.program().functions.keys() == {one, other}


def test_a_program_has_so_many_instructions_and_no_more():
    assembler = Assembler("guest")
    for _ in range(MAX_INSTRUCTIONS):
        assembler.emit(Jump, to=0)

    with pytest.raises(CompositionError, match=f"more than {MAX_INSTRUCTIONS} instructions"):
        assembler.emit(Jump, to=0)
    assert len(assembler.program().instructions) == MAX_INSTRUCTIONS
