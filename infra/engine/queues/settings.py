"""The settings of queues: their limits, those of each key, and the weights of keys. They are documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from ....actions import (
    UNBOUND,
    Bound,
    Document,
    InvalidError,
    Rules,
    Write,
    check_queue,
    checked_bound,
)
from ..units import Unit

if TYPE_CHECKING:
    from ....actions import Store
    from ....composer import JSON
    from ..tick import Tick

QUEUE_SETTINGS = "queue"  # the kind of the documents
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
    doc = _shown(rules.bound)
    if rules.each_key != UNBOUND:
        doc["each_key"] = _shown(rules.each_key)
    if rules.weights:
        doc["weights"] = {**rules.weights}
    return doc


def _shown(bound: Bound) -> dict[str, JSON]:
    members = {"concurrent": bound.concurrent, "per_minute": bound.per_minute}
    return {name: value for name, value in members.items() if value is not None}


class Settings:
    """The settings of all queues."""

    def __init__(self, store: Store, tick: Tick) -> None:
        self._store, self._tick = store, tick
        self._rules: dict[tuple[str, str], Rules] = {}

    async def load(self) -> None:
        """Reads them from the store."""
        async for document in self._store.documents(QUEUE_SETTINGS):
            _, namespace, name = document.key.split("/", 2)
            self._rules[namespace, name] = rules_of(orjson.loads(document.body or b"{}"))

    def get(self, namespace: str, name: str) -> Rules | None:
        """The rules of a queue; None if none were set."""
        return self._rules.get((namespace, name))

    def named(self, namespace: str) -> set[str]:
        """The queues of a namespace that have rules."""
        return {name for of, name in self._rules if of == namespace}

    async def put(self, namespace: str, name: str, doc: JSON) -> Rules:
        """Sets the rules of a queue.

        Raises:
            InvalidError: the name or a member is malformed. The message names it.
        """
        check_queue("queue", name)
        rules = rules_of(doc)
        await self._keep(namespace, name, orjson.dumps(shown_rules(rules)))
        self._rules[namespace, name] = rules
        return rules

    async def remove(self, namespace: str, name: str) -> bool:
        """Removes the rules of a queue. Returns False if there were none."""
        if (namespace, name) not in self._rules:
            return False
        await self._keep(namespace, name, None)
        self._rules.pop((namespace, name), None)
        return True

    async def _keep(self, namespace: str, name: str, body: bytes | None) -> None:
        document = Document(kind=QUEUE_SETTINGS, key=f"/{namespace}/{name}", body=body)
        await self._tick.submit(Unit(Write(documents=[document])))
