"""A world by hand whose execution is told messages, and which keeps them as a store does."""

from __future__ import annotations

import json

from tests.kit.composer.world import World
from xingqiao.composer import Inbox, Message


class MailWorld(World):
    """A `World` with an inbox."""

    def __init__(self, composition, params=None, **options):
        self.messages = {}  # the store: number -> JSON text
        super().__init__(composition, params, **options)

    def commit(self, changes):
        super().commit(changes)
        if changes.messages is None:
            return
        for message in changes.messages.added:
            assert message.number not in self.messages, "it is stored once"
            text = json.dumps([message.name, message.id, message.payload])
            self.messages[message.number] = text
        for number in changes.messages.gone:
            del self.messages[number]

    def tell(self, name, payload=None, id=""):
        message = Message(len(self.history) + 1, name, id, payload)
        return self.take(self.execution.tell(message, self.now))

    def stored_inbox(self):
        read = [(number, *json.loads(text)) for number, text in sorted(self.messages.items())]
        return Inbox([Message(*each) for each in read]) if read else None

    def redrive(self, composition=None):
        assert not self.messages, "the end has left messages in the store"
        super().redrive(composition)

    @property
    def undelivered(self):
        inbox = self.execution.inbox
        return [message.number for message in inbox or ()]
