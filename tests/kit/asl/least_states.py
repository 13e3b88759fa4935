"""The least of each type of state."""

from __future__ import annotations

from tests.kit.asl.checking import INNER

TASK = {"Type": "Task", "Resource": "known", "End": True}
WAIT = {"Type": "Wait", "Seconds": 1, "End": True}
MAP = {"Type": "Map", "ItemProcessor": INNER, "End": True}
PARALLEL = {"Type": "Parallel", "Branches": [INNER], "End": True}
CHOICE = {"Type": "Choice", "Choices": [{"Variable": "$", "IsNull": True, "Next": "A"}]}
SUCCEED = {"Type": "Succeed"}
FAIL = {"Type": "Fail"}
