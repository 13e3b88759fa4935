"""The activation of a trigger: its record, with one line of log for each rule. Shapes are OpenWhisk's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .activation import Closed

if TYPE_CHECKING:
    from .model import Rule, Trigger


def fired(rule: Rule, activation: str) -> str:
    """The line of a rule whose action was invoked."""
    return _line(rule, {"statusCode": 0, "success": True, "activationId": activation})


def not_fired(rule: Rule, error: str) -> str:
    """The line of a rule whose action could not be invoked."""
    return _line(rule, {"statusCode": 1, "success": False, "error": error})


def _line(rule: Rule, came: dict[str, object]) -> str:
    action = f"{rule.action.namespace}/{rule.action.path}"
    return json.dumps({**came, "rule": f"{rule.name.namespace}/{rule.name.name}", "action": action})


def closed_trigger(logs: list[str]) -> Closed:
    """The fields to keep of a trigger's activation, besides the payload: it has no end."""
    return Closed(None, None, 0, False, None, None, logs)


def about_trigger(trigger: Trigger) -> dict[str, object]:
    """The part of the record that describes the trigger itself."""
    return {"version": trigger.version, "annotations": []}
