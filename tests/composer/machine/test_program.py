"""Programs as JSON: read, or refused with the instruction that is wrong; equal when they do the same."""

from __future__ import annotations

import copy

import pytest

from xingqiao import composer
from xingqiao.composer import DIALECTS, CompositionError, Program, ProgramError, path
from xingqiao.composer.dsl.combinators.data import LET
from xingqiao.composer.dsl.composition import Composition

PROGRAM = composer.compile(
    composer.sequence(
        composer.do(composer.retry(2, "a"), "b", errors="X"),
        composer.parallel("c", composer.when(path("$.x") == 1, "d")),
        lambda params: params,
    )
)
DOC = PROGRAM.to_json()


def changed(**fields):
    return {**copy.deepcopy(DOC), **fields}


def with_instruction(doc):
    return changed(instructions=[doc, {"op": "End"}])


@pytest.mark.parametrize(
    ("doc", "why"),
    [
        (None, "program version None is not 1, which this runs"),
        (1, "program version None is not 1"),
        (changed(version=2), "program version 2 is not 1"),
        (changed(version=True), "program version True is not 1"),
        (changed(instructions=[]), "a list of 'instructions', with at least one"),
        (changed(instructions=None), "a list of 'instructions'"),
        (changed(functions=None), "a program has 'functions'"),
        (changed(functions={"x": {"kind": 1}}), "a program has 'functions'"),
        (changed(functions={"x": float("nan")}), "a program is JSON, but nan at"),
        (
            with_instruction({"op": "Goto"}),
            "instruction 0 is not valid: {'op': 'Goto'} \\('Goto'\\)",
        ),
        (with_instruction(7), "instruction 0 is not valid: 7"),
        (with_instruction({"op": "Jump"}), "instruction 0 is not valid"),
        (with_instruction({"op": "Jump", "to": 2}), "instruction 0 goes to 2, of 2 instructions"),
        (
            with_instruction({"op": "Jump", "to": -1}),
            "instruction 0 is not valid: .*-1 is not an index",
        ),
        (with_instruction({"op": "Jump", "to": True}), "True is not an index"),
        (with_instruction({"op": "Invoke", "action": 7, "path": ""}), "7 is of the wrong type"),
        (with_instruction({"op": "Jump", "to": 1, "x": 1}), "instruction 0 is not valid"),
    ],
)
def test_what_is_no_program_is_refused(doc, why):
    with pytest.raises(ProgramError, match=why):
        Program.from_json(doc, DIALECTS)


def test_a_program_is_what_it_does():
    again = Program.from_json(copy.deepcopy(DOC), DIALECTS)

    assert again == PROGRAM
    assert hash(again) == hash(PROGRAM)
    assert again != composer.compile(composer.action("a"))


def test_the_namespace_says_which_actions_are_meant():
    ours = composer.compile(composer.sequence("a", "/other/b"), namespace="guest")

    assert [i.action for i in ours.instructions[:2]] == ["/guest/a", "/other/b"]


def test_a_composition_made_by_hand_that_cannot_be_written_is_refused():
    deep = value = {}
    for _ in range(300):
        value["x"] = value = {}
    by_hand = Composition(LET, {"declarations": {"x": deep}, "components": ()}, 1)

    with pytest.raises(
        CompositionError, match="program of the composition cannot be written: it nests deeper"
    ):
        composer.compile(by_hand)
