"""Frames: the names under which they are stored."""

from __future__ import annotations

import json

import pytest

from xingqiao.composer.machine.fiber import Fiber
from xingqiao.composer.machine.frames import Finalizing, TransactionStart, Uncounted
from xingqiao.composer.machine.sagas.compensations import (
    Compensating,
    Compensations,
    Doubt,
    ParallelLogs,
    SagaStep,
    Undo,
)
from xingqiao.composer.machine.transactions.coordinator import Coordinating
from xingqiao.composer.machine.transactions.participants import Call, Participant
from xingqiao.composer.machine.unwind_reasons import Cancellation, Exhaustion, Expiry
from xingqiao.composer.machine.waits import Joining
from xingqiao.composer.values import Failure

UNDO = Undo(1, "p", {"n": 1}, "k")
STORED_UNDO = {"to": 1, "path": "p", "value": {"kept": {"n": 1}}, "key": "k"}


@pytest.mark.parametrize(
    ("frame", "stored"),
    [
        (TransactionStart(7), {"is": "Stamped", "at_ms": 7}),
        (Uncounted(), {"is": "Insisting"}),
        (Finalizing(Expiry(2)), {"is": "Finalizing", "cause": 2}),
        (Finalizing(Exhaustion(9)), {"is": "Finalizing", "cause": [9]}),
        (
            SagaStep(None, 2, "p", 5, "k", 3, always=False, pivot=True),
            {
                "is": "Doing", "undo": None, "done": 2, "path": "p", "value": {"kept": 5}, "key": "k", "turn": 3,
                "always": False, "pivot": True, "doubt": False,
            },
        ),
        (
            Compensations(1, (UNDO, ParallelLogs(((UNDO,), (Doubt(),)))), unwind_reason=Cancellation()),
            {
                "is": "Compensations", "to": 1, "log": [STORED_UNDO, {"together": [[STORED_UNDO], [{}]]}],
                "passed": False, "all": False, "cause": "cancelled", "key": None,
            },
        ),
        (
            Compensating(1, (), Failure("C", 4), UNDO, 3),
            {
                "is": "Compensating", "to": 1, "left": [], "cause": {"code": "C", "error": {"kept": 4}},
                "undoing": [STORED_UNDO], "turn": 3,
            },
        ),
        (
            Coordinating(
                1, "t", 2, 3, "o", "c", "locking",
                (Participant(("a",), "k", calls=(Call(0, {"operation": "o", "params": {}}),)),),
                reason=Failure("C", "e"), unwind_reason=Expiry(0),
            ),
            {
                "is": "Coordinating", "to": 1, "transaction": "t", "started_ms": 2, "deadline_ms": 3,
                "order": "o", "coordinator": "c", "phase": "locking",
                "members": [[["a"], "k", None, [{"index": 0, "operation": "o", "params": {}}], 0, True, "", None]],
                "asked": [], "value": None, "reason": ["C", "e"], "cause": 0,
            },
        ),
    ],
    ids=lambda value: value["is"] if isinstance(value, dict) else "",
)  # fmt: skip
def test_a_frame_is_stored_under_names_that_do_not_change(frame, stored):
    fiber = Fiber("0", 1, None, (frame,), wait=Joining(Expiry(4)))
    doc = fiber.to_json(lambda value: {"kept": value})
    assert doc["frames"] == [stored]
    assert doc["wait"] == {"is": "Joining", "cause": 4}
    read = Fiber.from_json(json.loads(json.dumps(doc)), lambda kept: kept and kept["kept"], None)
    assert read == fiber
