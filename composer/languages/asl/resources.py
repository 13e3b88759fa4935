"""The Resource of a Task: the name of an action, or the ARN of a function, an activity or an integration."""

from __future__ import annotations

import re
from typing import final

from ...freezing import frozen

_ARN = re.compile(
    r"arn:[a-z-]+:(?P<service>[\w-]*):(?P<region>[\w-]*):(?P<account>[\w-]*):(?P<rest>.+)"
)
_DIGITS = re.compile(r"\d*")
_FUNCTION = re.compile(r"function:[\w.-]+(?::[\w$.-]+)?")
_ACTIVITY = re.compile(r"activity:[^\s:]+")
_INTEGRATION = re.compile(
    r"(?P<service>(?:aws-sdk:)?[\w-]+):(?P<operation>\w+)"
    r"(?P<pattern>\.sync(?::2)?|\.waitForTaskToken)?"
)


@final
@frozen
class Integration:
    """A service integration: `lambda`, `invoke`, and the pattern of its wait: ``, `.sync`, ..."""

    service: str
    operation: str
    pattern: str


def integration(resource: str) -> Integration | None:
    """Parses `arn:aws:states:::service:operation.pattern`; None for any other text."""
    arn = _ARN.fullmatch(resource)
    if arn is None or arn["service"] != "states" or arn["region"] or arn["account"]:
        return None
    match = _INTEGRATION.fullmatch(arn["rest"])
    if match is None:
        return None
    return Integration(match["service"], match["operation"], match["pattern"] or "")


def is_function(resource: str) -> bool:
    """True for the ARN of a Lambda function, or of one of its versions or aliases.

    The account may be any word: AWS accepts `your-account-id`, too, when it only reads a definition.
    """
    arn = _ARN.fullmatch(resource)
    return bool(arn and arn["service"] == "lambda" and _FUNCTION.fullmatch(arn["rest"]))


def is_activity(resource: str) -> bool:
    """True for the ARN of an activity."""
    arn = _ARN.fullmatch(resource)
    if arn is None or arn["service"] != "states" or not _DIGITS.fullmatch(arn["account"]):
        return False
    return _ACTIVITY.fullmatch(arn["rest"]) is not None
