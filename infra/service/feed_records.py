"""The alarms and webhooks of triggers, as the store has them: a document for each trigger with a feed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from ...actions import Document, Schedule, Trigger
from ...composer import Name
from ..engine import Attachment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...actions import Catalog, Change, Store
    from ...composer import JSON

SCHEDULE = "schedule"  # documents of schedules, by their triggers' full names
WEBHOOK = "webhook"  # documents of webhooks, the same; and the name of their feed


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """The webhook of a trigger.

    hash: of the token in its URL.
    secret: signs the bodies; None if they need no signature.
    """

    hash: str
    secret: str | None
    paused: bool = False

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Webhook:
        """Reads the JSON that `to_json` wrote, perhaps in an older version."""
        return cls(hash=doc["hash"], secret=doc["secret"], paused=doc["paused"])

    def to_json(self) -> dict[str, JSON]:
        return {"hash": self.hash, "secret": self.secret, "paused": self.paused}


class FeedRecords:
    """Schedules and webhooks by the full names of their triggers.

    Args:
        store: has the documents.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.schedules: dict[str, Schedule] = {}
        self.webhooks: dict[str, Webhook] = {}

    async def load(self, catalog: Catalog) -> list[Document]:
        """Reads the store. Returns the removal of documents whose trigger is not in the catalog."""
        removed: list[Document] = []
        for kind in (SCHEDULE, WEBHOOK):
            async for document in self._store.documents(kind):
                key, doc = document.key, orjson.loads(document.body or b"")
                if catalog.find(Trigger, Name.parse(key)) is None:
                    removed.append(_removed(kind, key))
                elif kind == SCHEDULE:
                    self.schedules[key] = Schedule.from_json(doc)
                else:
                    self.webhooks[key] = Webhook.from_json(doc)
        return removed

    def attachment(self, change: Change) -> Attachment:
        """The documents of a trigger go in the commit that removes the trigger. A `Companion` of the engine."""
        keys = [str(gone.name) for gone in change.gone if isinstance(gone, Trigger)]
        documents = [_removed(kind, key) for key in keys for kind in (SCHEDULE, WEBHOOK)]
        return Attachment(documents, partial(self._forget, keys))

    def _forget(self, keys: list[str]) -> None:
        for key in keys:
            self.schedules.pop(key, None)
            self.webhooks.pop(key, None)


def schedule_document(key: str, schedule: Schedule) -> Document:
    """The document of a trigger's schedule."""
    return Document(kind=SCHEDULE, key=key, body=orjson.dumps(schedule.to_json()))


def webhook_document(key: str, webhook: Webhook) -> Document:
    """The document of a trigger's webhook."""
    return Document(kind=WEBHOOK, key=key, body=orjson.dumps(webhook.to_json()))


def _removed(kind: str, key: str) -> Document:
    return Document(kind=kind, key=key, body=None)
