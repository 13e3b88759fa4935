"""Random machines that AWS would take never break the conductor, also when it is killed at each commit."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.kit.asl.machines import HOOKS, events, lowered
from tests.kit.asl.random_machines import VALUES, machines
from xingqiao.composer import asl
from xingqiao.composer.languages.asl.running.view import machine_frames
from xingqiao.composer.machine.cursor import Limits
from xingqiao.composer.testing import Fail, Simulation, Slow
from xingqiao.composer.values import Success

ANSWERS = st.one_of(
    VALUES,
    st.sampled_from(["Mine", "States.Timeout", "Other"]).map(
        lambda name: Fail("X", {"Error": name})
    ),
    VALUES.map(lambda value: Slow(100, value)),
)


class Whatever(dict):
    """Fakes of all actions there may be: each has this answer."""

    def __init__(self, answer):
        self.answer = answer

    def __contains__(self, name):
        return True

    def __getitem__(self, name):
        return lambda _: self.answer


def run(program, input, answer, crash=()):
    limits = Limits(steps=300, events=500)
    simulation = Simulation(program, Whatever(answer), crash, limits)
    return simulation.run(input, frames=machine_frames({"Execution": {"Id": "e", "Input": input}}))


@settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)
@given(machines(), VALUES, ANSWERS)
def test_a_machine_ends_and_its_events_are_numbered(definition, input, answer):
    ended = run(lowered(definition), input, answer)

    if not isinstance(ended.outcome, Success):
        assert ended.outcome.error.keys() <= {"Error", "Cause", "Status", "code", "message"}
    told = events(ended)
    assert [event[0] for event in told] == list(range(1, len(told) + 1))
    assert all(event[1] < event[0] for event in told)
    assert (told[0][2], told[-1][2][:9]) == ("ExecutionStarted", "Execution")


BRANCH = {"StartAt": "B", "States": {"B": {"Type": "Pass", "End": True}}}
SUCCEEDS_AND_IS_RETRIED = {  # the event of its success has no event after it
    "Type": "Parallel", "End": True, "Branches": [BRANCH], "ResultPath": "$.r",
    "Retry": [{"ErrorEquals": ["States.TaskFailed"]}],
}  # fmt: skip


@example({"StartAt": "P", "States": {"P": SUCCEEDS_AND_IS_RETRIED}}, None, Fail("X"))
@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(machines(), VALUES, ANSWERS)
def test_a_machine_that_is_killed_at_each_commit_ends_the_same(definition, input, answer):
    program = lowered(definition)

    whole, killed = run(program, input, answer), run(program, input, answer, crash="every")

    assert named(killed) == named(whole)  # branches may come to it in another order
    told = events(killed)
    assert [event[0] for event in told] == list(range(1, len(told) + 1))


def named(run):
    """Its value, or what its error is called: a cause tells the number of an event."""
    outcome = run.outcome
    return outcome if isinstance(outcome, Success) else (outcome.code, outcome.error.get("Error"))


@settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)
@given(machines(), st.data())
def test_a_machine_with_a_part_taken_out_is_refused_with_a_pointer_or_runs(definition, data):
    """Whatever is left of it is either taken, and then runs, or its flaws say where they are."""
    place = definition
    while isinstance(place, dict) and place:
        name = data.draw(st.sampled_from(sorted(place)))
        if not isinstance(place[name], dict) or data.draw(st.booleans()):
            place[name] = data.draw(VALUES)
            break
        place = place[name]

    found = [
        diagnostic
        for diagnostic in asl.diagnose(json.dumps(definition), type="STANDARD", hooks=HOOKS)
        if diagnostic.severity == "ERROR"
    ]
    if found:
        assert all(diagnostic.location is not None for diagnostic in found)
    else:
        assert run(lowered(definition), {}, {}).outcome is not None
