"""The laws of the `Dialect` port, for every language: the DSL's, the States Language and a toy."""

from __future__ import annotations

import inspect
import json
from collections import Counter
from dataclasses import dataclass
from typing import get_args

import pytest

from tests.composer.toy import THOUGHT, TOY, Ring
from tests.kit.asl.machines import lowered, machine, task
from xingqiao import composer
from xingqiao.composer import (
    DIALECTS,
    Accepted,
    Completed,
    Execution,
    Failed,
    Failure,
    Limits,
    Program,
)
from xingqiao.composer.languages.asl.running import STATES
from xingqiao.composer.machine.dialect import Dialect, Dialects
from xingqiao.composer.machine.fiber import Fiber
from xingqiao.composer.machine.frames import Failing, Frame, OwnFrame
from xingqiao.composer.machine.instructions import (
    End,
    Fork,
    Instruction,
    Leave,
    Limit,
    OwnInstruction,
)
from xingqiao.composer.machine.plain import PLAIN
from xingqiao.composer.machine.redrive import redrive
from xingqiao.composer.machine.waits import Invoking, Wait
from xingqiao.composer.testing import Fail, Never, simulate

RING = (Ring(number="a", path="a"), Leave())
BRANCHES = [machine({name: task("a", End=True)}) for name in ("S", "T")]
CONTEXT = {"Execution": {"Id": "e", "Input": {"n": 1}}, "StateMachine": {"Id": "m"}}
ID, INPUT = "e" * 32, {"n": 1}
NOTHING = Limits(at_once=0)  # every evaluation takes too long
ALL = Dialects(PLAIN, {**DIALECTS.languages, "toy": lambda: TOY}, DIALECTS.marks)


@dataclass(frozen=True)
class Spoken:
    """Programs of a language: each asks for the action `a`, and ends with its result.

    one: once.
    bounded: once, and it may take a second.
    two: in two branches at once.
    """

    dialect: Dialect
    one: Program
    bounded: Program
    two: Program


SPOKEN = [
    Spoken(
        PLAIN,
        composer.compile(composer.action("a")),
        composer.compile(composer.timeout(1, "a")),
        composer.compile(composer.parallel("a", "a")),
    ),
    Spoken(
        STATES,
        lowered(machine({"S": task("a", End=True)})),
        lowered(machine({"S": task("a", End=True, TimeoutSeconds=1)})),
        lowered(machine({"P": {"Type": "Parallel", "Branches": BRANCHES, "End": True}})),
    ),
    Spoken(
        TOY,
        Program((*RING, End()), {}, TOY),
        Program((Limit(timeout_ms=1_000), *RING, Leave(), End()), {}, TOY),
        Program((Fork(branches=(2, 5), to=1, path=""), End(), *RING, End(), *RING, End()), {}, TOY),
    ),
]


@pytest.fixture(params=SPOKEN, ids=lambda spoken: spoken.dialect.name or "plain")
def spoken(request):
    return request.param


def begun(program):
    execution = Execution(ID, program, Limits())
    return execution, execution.begin(INPUT, 0, frames=program.dialect.begun(CONTEXT))


def read(row):
    return Fiber.from_json(json.loads(json.dumps(row)), lambda value: value, ALL.frame)


def written(fiber):
    return fiber.to_json(lambda value: value)


def history(changes):
    return [
        json.loads(json.dumps(entry.to_json(lambda value: value)))
        for change in changes
        for entry in change.entries
    ]


def test_a_port_has_eight_methods():
    methods = [name for name, _ in inspect.getmembers(Dialect, inspect.isfunction)]

    assert len([name for name in methods if name[0] != "_"]) == 8


def test_names_tell_languages_and_what_they_add_apart():
    dialects = [spoken.dialect for spoken in SPOKEN]
    machines = [
        kind.__name__ for kind in (*get_args(Frame), *get_args(Wait), *get_args(Instruction))
    ]
    added = [
        kind.__name__
        for dialect in dialects
        for kind in (
            *dialect.frames,
            *(k for k in dialect.operations if issubclass(k, OwnInstruction)),
        )
    ]

    assert len({dialect.name for dialect in dialects}) == len(dialects)
    assert set(Counter([*machines, *added]).values()) == {1}


def test_every_language_knows_the_machine_s_instructions(spoken):
    dialect = spoken.dialect

    assert {kind for kind in get_args(Instruction) if kind is not OwnInstruction} <= set(
        dialect.operations
    )
    assert set(dialect.commands) | set(dialect.forks) <= set(dialect.operations)
    assert all(issubclass(kind, OwnFrame) for kind in dialect.frames)


def test_a_program_is_known_to_be_of_its_language_when_it_is_read_again(spoken):
    for program in (spoken.one, spoken.bounded, spoken.two):
        again = Program.from_json(json.loads(json.dumps(program.to_json())), ALL)

        assert again.dialect is spoken.dialect
        assert again.instructions == program.instructions
        assert again.hash == program.hash


def test_a_language_is_named_unless_its_programs_are_marked(spoken):
    doc = spoken.one.to_json()

    if spoken.dialect.mark is None:
        assert doc.get("dialect", "") == spoken.dialect.name
    else:
        assert "dialect" not in doc
        assert ALL.marks[spoken.dialect.mark.__name__] == spoken.dialect.name


def test_a_step_comes_to_its_result(spoken):
    assert simulate(spoken.one, INPUT, actions={"a": {"ok": 1}}).value == {"ok": 1}


def test_a_crash_at_any_commit_changes_nothing(spoken):
    for program in (spoken.one, spoken.bounded, spoken.two):
        for answer in ({"ok": 1}, Fail("Broken", {"Error": "Broken"})):
            whole = simulate(program, INPUT, actions={"a": answer})
            killed = simulate(program, INPUT, actions={"a": answer}, crash="every")

            assert killed.outcome == whole.outcome
            if program is not spoken.two:  # which branch fails first is left to chance
                assert killed.kinds() == whole.kinds()


def test_an_execution_is_the_same_in_stretches(spoken):
    for program in (spoken.one, spoken.bounded, spoken.two):
        for answer in ({"ok": 1}, Fail("Broken", {"Error": "Broken"})):
            runs = [
                simulate(program, INPUT, actions={"a": answer}, limits=limits, crash=crash)
                for limits, crash in ((Limits(), ()), (NOTHING, ()), (NOTHING, "every"))
            ]

            assert len({repr(run.outcome) for run in runs}) == 1
            if program is not spoken.two:  # which branch fails first is left to chance
                assert runs[0].kinds() == runs[1].kinds() == runs[2].kinds()


@pytest.mark.parametrize(("at_once", "stands"), [(THOUGHT, False), (THOUGHT - 1, True)])
def test_a_language_may_stop_before_an_evaluation(at_once, stands):
    execution = Execution(ID, SPOKEN[-1].one, Limits(at_once=at_once))

    begun = execution.begin(INPUT, 0)

    assert bool(begun.commands) is not stands
    assert (execution.stretch is not None) is stands


def test_a_language_may_stop_while_it_unwinds():
    execution = Execution(ID, SPOKEN[-1].one, NOTHING)
    execution.begin(INPUT, 0)
    execution.stretched(execution.stretch, execution.stretch.make())

    execution.deliver("0", Failed(1, Failure("X", {})), 1)

    fiber = execution.fibers["0"]
    assert fiber.frames[-1] == Failing(Failure("X", {}))
    assert read(written(fiber)) == fiber
    execution.stretched(execution.stretch, execution.stretch.make())
    assert execution.fibers["0"].wait == Invoking()


def test_the_results_of_branches_are_in_order_of_the_branches(spoken):
    ended = simulate(spoken.two, INPUT, actions={"a": [{"ok": 1}, {"ok": 2}]}).outcome.value

    assert ended in ([{"ok": 1}, {"ok": 2}], {"value": [{"ok": 1}, {"ok": 2}]})


def test_a_failure_ends_it_and_branches_with_it(spoken):
    for program in (spoken.one, spoken.two):
        run = simulate(program, INPUT, actions={"a": Fail("Broken", {"Error": "Broken"})})

        assert isinstance(run.outcome, Failure)
        assert run.history[-1].detail["origin"] == run.history[-1].turn


def test_a_step_that_takes_too_long_has_failed(spoken):
    run = simulate(spoken.bounded, INPUT, actions={"a": Never()})

    assert isinstance(run.outcome, Failure)
    assert run.elapsed == 1


def test_what_is_cancelled_ends_as_cancelled(spoken):
    for program in (spoken.one, spoken.bounded, spoken.two):
        run = simulate(program, INPUT, actions={"a": Never()}, cancel_at=0.5)

        assert run.outcome.code == "Cancelled"


def test_what_answers_another_turn_changes_nothing(spoken):
    execution, _ = begun(spoken.one)
    before = execution.fibers["0"]

    for event in (Completed(0, {}), Failed(2, Failure("X", {})), Accepted(7, {})):
        assert execution.deliver("0", event, 1).stale
    assert execution.fibers["0"] == before


def test_a_step_that_is_accepted_is_answered_later(spoken):
    execution, _ = begun(spoken.one)

    accepted = execution.deliver("0", Accepted(1, {"ticket": 1}), 1)
    ended = execution.deliver("0", Completed(1, {"ok": 1}), 2)

    assert "StepAccepted" in [entry.kind for entry in accepted.entries]
    assert ended.outcome.value == {"ok": 1}


def test_a_fiber_is_the_same_when_it_is_read_again(spoken):
    for program in (spoken.one, spoken.bounded, spoken.two):
        execution, _ = begun(program)

        for fiber in execution.fibers.values():
            assert read(written(fiber)) == fiber


def test_what_is_under_way_is_asked_for_again_as_it_was(spoken):
    for program in (spoken.one, spoken.bounded, spoken.two):
        execution, _ = begun(program)
        rows = [written(fiber) for fiber in execution.fibers.values()]
        again = Execution.restore(ID, program, map(read, rows), Limits())

        assert again.pending(5) == [
            (name, command) for name, command in execution.pending(5) if command is not None
        ]
        assert again.pending(5)


def test_a_history_is_numbered_from_1_on_or_not_at_all(spoken):
    for program in (spoken.one, spoken.bounded, spoken.two):
        run = simulate(program, INPUT, actions={"a": {"ok": 1}}, crash="every")
        numbers = [event[0] for entry in run.history for event in entry.detail.get("events", ())]

        assert numbers == (list(range(1, len(numbers) + 1)) if spoken.dialect.numbers else [])
        assert bool(numbers) == spoken.dialect.numbers


def test_a_redrive_stands_where_the_history_has_led(spoken):
    execution, first = begun(spoken.one)
    ((_, asked),), stood, happened = first.commands, execution.fibers["0"], [first]
    while execution.fibers:
        turn = execution.fibers["0"].turn
        happened.append(execution.deliver("0", Failed(turn, Failure("X", {"Error": "X"})), 1))

    again, changes = redrive(ID, spoken.one, history(happened), Limits(), 60_000)

    ((_, command),) = changes.commands
    kinds = [type(frame) for frame in again.fibers["0"].frames]
    assert kinds == [type(frame) for frame in stood.frames]
    assert (command.action, command.params) == (asked.action, asked.params)
    assert again.deliver("0", Completed(command.turn, {"ok": 1}), 61_000).outcome.value == {"ok": 1}
