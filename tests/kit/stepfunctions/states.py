"""Small states, and an execution that is not there."""

from __future__ import annotations

PASS = {"Type": "Pass", "End": True}
WAIT = {"Type": "Wait", "Seconds": 60, "End": True}
FAIL = {"Type": "Fail", "Error": "Mine", "Cause": "I said so"}
MISSING = "arn:aws:states:us-east-1:111111111111:execution:main:nobody"


def task(action):
    return {"Type": "Task", "Resource": action, "End": True}
