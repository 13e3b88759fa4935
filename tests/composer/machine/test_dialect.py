"""Languages beside the machine: a toy's own rules, and programs and frames of languages that are not here."""

from __future__ import annotations

import pytest

from tests.composer.toy import RINGS, TOY, Ring, Ringing
from xingqiao.composer import DIALECTS, Program, ProgramError
from xingqiao.composer.freezing import frozen
from xingqiao.composer.languages.asl.running.dialect import STATES
from xingqiao.composer.machine.cursor import Limits
from xingqiao.composer.machine.dialect import Dialects, Started
from xingqiao.composer.machine.fiber import Fiber
from xingqiao.composer.machine.frames import OwnFrame
from xingqiao.composer.machine.instructions import End, Leave
from xingqiao.composer.machine.plain import PLAIN
from xingqiao.composer.machine.redrive import redrive
from xingqiao.composer.testing import Fail, simulate

RINGING = Program((Ring(number="a", path="a"), Leave(), End()), {}, TOY)
HERE = Dialects(PLAIN, {"toy": lambda: TOY}, {})
BUSY = Fail("Busy")


@frozen
class Silent(OwnFrame):
    """A frame that counts nothing and has no deadline."""


def test_a_frame_of_its_own_has_a_retry_rule_of_its_own():
    run = simulate(RINGING, {}, actions={"a": [BUSY, BUSY, {"ok": 1}]}, crash="every")

    assert run.value == {"ok": 1}
    assert [kind for kind in run.kinds() if "Rung" in kind] == ["RungAgain", "RungAgain"]


def test_what_no_frame_helps_against_goes_on_unwinding():
    run = simulate(RINGING, {}, actions={"a": BUSY})

    assert len(run.calls("a")) == RINGS
    assert run.kinds()[-2:] == ["HungUp", "ExecutionFailed"]
    assert run.outcome.code == "Busy"


def test_a_frame_that_counts_nothing_is_the_same_after_a_redrive():
    assert Silent().refreshed(7) == Silent()


def test_a_redrive_has_a_language_s_frames_count_anew():
    run = simulate(RINGING, {}, actions={"a": BUSY})
    entries = [entry.to_json(lambda value: value) for entry in run.history]

    execution, _ = redrive("e" * 32, RINGING, entries, Limits(), 0)

    assert execution.fibers["0"].frames == (Ringing(0, RINGS),)


def test_a_program_names_its_language():
    doc = RINGING.to_json()

    assert doc["dialect"] == "toy"
    assert Program.from_json(doc, HERE) == RINGING
    assert Program.from_json(doc, HERE).dialect is TOY
    assert Program(RINGING.instructions).hash != RINGING.hash


@pytest.mark.parametrize("named", ["toy", 7, ["toy"], {}])
def test_a_program_of_a_language_that_is_not_here_is_refused(named):
    with pytest.raises(ProgramError, match=r"the program is in the dialect .*, which is not known"):
        Program.from_json({**RINGING.to_json(), "dialect": named}, DIALECTS)


def test_a_program_that_names_no_language_has_none_s_instructions_but_the_machine_s():
    doc = RINGING.to_json()
    del doc["dialect"]

    with pytest.raises(ProgramError, match=r"instruction 0 is not valid: .*'Ring'"):
        Program.from_json(doc, HERE)


def test_a_machine_of_the_version_before_is_known_by_its_first_instruction():
    doc = {
        "version": 1,
        "instructions": [{"op": "BeginMachine", "timeout_ms": None}],
        "functions": {},
    }

    program = Program.from_json(doc, DIALECTS)

    assert program.dialect is DIALECTS.languages["states"]()
    assert program.to_json() == doc
    assert program.hash == "eb0b302a014acab12e3739ff2771f181d54659232092aefe25b076901609b259"


def test_a_fiber_with_a_frame_of_a_language_that_is_not_here_is_refused():
    fiber = Fiber("0", 1, {}, (Ringing(0, 1),))
    doc = fiber.to_json(lambda value: value)

    assert Fiber.from_json(doc, lambda value: value, HERE.frame) == fiber
    assert list(fiber.values()) == [{}]
    assert fiber.frames[0].refreshed(0) == Ringing(0, RINGS)
    with pytest.raises(ProgramError, match="no language has a frame 'Ringing'"):
        Fiber.from_json(doc, lambda value: value, DIALECTS.frame)


@frozen
class Named(OwnFrame):
    name: str


def test_a_frame_that_says_nothing_else_holds_no_value_and_does_not_count():
    frame = Named("x")

    assert list(frame.values()) == []
    assert frame.refreshed(7) is frame
    assert Named.from_json(frame.to_json(str), str) == frame
    assert (frame.inherited, frame.quiet) == (False, False)


def test_a_machine_that_began_without_a_context_is_replayed_without_one():
    assert STATES.replayed({"type": "ExecutionStarted", "value": 1}) == Started(())
