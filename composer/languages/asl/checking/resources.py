"""The check of a Task's Resource: this server must have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..resources import integration, is_activity, is_function

if TYPE_CHECKING:
    from ....values import JSON
    from .diagnostic import Check

_NO_EXPRESS = "Express state machine does not support"


def check_resource(check: Check, value: JSON, at: str) -> None:
    """Checks that this server has a Task's Resource, and that an express machine can wait for it."""
    if not isinstance(value, str):
        check.error("Expected value of type [STRING]", at)
        return
    named = not value.startswith("arn:")
    if is_function(value) or (named and check.hooks.is_action(value)):
        return
    # A plain name without an action can only mean an activity: those wait for a worker.
    if is_activity(value) or (named and check.type == "EXPRESS"):
        if check.type == "EXPRESS":
            check.error(f"{_NO_EXPRESS} Activity ARN", at)
    elif named:
        check.error("Value is not a valid resource ARN", at)
    else:
        _check_integration(check, value, at)


def _check_integration(check: Check, value: str, at: str) -> None:
    service = integration(value)
    if service is not None and service.pattern and check.type == "EXPRESS":
        check.error(f"{_NO_EXPRESS} '{service.pattern}' service integration ", at)
    elif service is None or not check.hooks.is_integration(value):
        why = "The value is not a valid resource ARN, or the resource is not available in this region."
        check.error(f"The resource provided {value} is not recognized. {why}", at)
