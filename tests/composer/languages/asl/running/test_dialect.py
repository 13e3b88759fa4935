"""The States Language reads its own narration again: for a redrive."""

from __future__ import annotations

import pytest

from xingqiao.composer.languages.asl.running import STATES
from xingqiao.composer.machine.dialect import Started

CONTEXT = {"Execution": {"Id": "e"}, "StateMachine": {"Id": "m"}}


@pytest.mark.parametrize(
    ("entry", "context"),
    [({}, None), ({"context": CONTEXT}, {**CONTEXT, "Execution": {"Id": "e", "Input": 7}})],
)
def test_a_start_is_read_with_the_context_that_it_had(entry, context):
    told = STATES.replayed({"type": "ExecutionStarted", "value": 7, **entry})

    assert told == Started(() if context is None else STATES.begun(context))
