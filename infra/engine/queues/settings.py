"""The settings of queues: their limits, those of each key, and the weights of keys. They are documents."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ....actions import InvalidError, Rules, check_queue, checked_bound
from ....composer import UNBOUND
from ..named_settings import Form

if TYPE_CHECKING:
    from ....composer import JSON

MAX_WEIGHT, MAX_WEIGHTS = 1_000, 10_000
MEMBERS = ("concurrent", "per_minute", "each_key", "weights")


def rules_of(doc: JSON) -> Rules:
    """The rules that a document sets.

    Raises:
        InvalidError: a member is malformed. The message names it.
    """
    if not isinstance(doc, dict):
        raise InvalidError("The request content was malformed:\nthe body must be a JSON object")
    for name in doc:
        if name not in MEMBERS:
            raise InvalidError(
                f"The request content was malformed:\n{name!r:.100} is not a setting of a queue, which "
                f"has {', '.join(MEMBERS)}"
            )
    each = doc.get("each_key")
    if each is not None and not isinstance(each, dict):
        raise InvalidError("The request content was malformed:\n'each_key' must be an object")
    return Rules(
        checked_bound("", doc), checked_bound("each_key.", each or {}), _weights(doc.get("weights"))
    )


def _weights(doc: Any) -> dict[str, int] | None:
    if doc is None:
        return None
    if not isinstance(doc, dict) or len(doc) > MAX_WEIGHTS:
        raise InvalidError(
            "The request content was malformed:\n'weights' must be an object of at most "
            f"{MAX_WEIGHTS} keys and their weights"
        )
    for key, weight in doc.items():
        if type(weight) is not int or not 1 <= weight <= MAX_WEIGHT:
            raise InvalidError(
                f"The request content was malformed:\n'weights.{key:.100}' must be an int from 1 to "
                f"{MAX_WEIGHT}, not {weight!r:.100}"
            )
    return doc


def shown_rules(rules: Rules) -> dict[str, JSON]:
    """Rules as the document that sets them."""
    doc: dict[str, JSON] = {**rules.bound.to_json()}
    if rules.each_key != UNBOUND:
        doc["each_key"] = {**rules.each_key.to_json()}
    if rules.weights:
        doc["weights"] = {**rules.weights}
    return doc


QUEUE_SETTINGS = Form("queue", partial(check_queue, "queue"), rules_of, shown_rules)
