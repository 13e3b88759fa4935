"""The conductor's outbox in Azure's Queue storage: a queue for itself and one for all actions.

What is larger than a message stands in a table, and the message says where.
"""

from __future__ import annotations

import json
import secrets
from functools import cached_property
from typing import TYPE_CHECKING, Any

from azure.core.exceptions import ResourceNotFoundError

from .azure_account import DAY_MS, KEPT_MS, Account, keyed, minute_of, pieces_of, value_of
from .ports import Invocation, Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....composer import JSON
    from .ports import Clock

COMPLETIONS, ACTIONS, LARGE = "completions", "actions", "large"
MESSAGE_CHARS = 48_000  # Queue storage takes 64 KiB of base64


class AzureOutbox:
    """An `Outbox`: a queue for the conductor and one for all actions.

    Actions share a queue because one instance takes one of its messages at a time: with a queue each it
    would take one of each, and all but one of them would wait, and be paid for. What is larger than a
    message stands in a table, and the message says where.
    """

    def __init__(self, account: Account, clock: Clock) -> None:
        self._account, self._clock = account, clock

    @cached_property
    def _completions(self) -> Any:
        return self._account.queue(COMPLETIONS)

    @cached_property
    def _actions(self) -> Any:
        return self._account.queue(ACTIONS)

    @cached_property
    def _large(self) -> Any:
        return self._account.table(LARGE)

    def send(self, sends: Sequence[Invocation | Note]) -> None:
        """Sends all of it."""
        for send in sends:
            text = self._text(send.message)
            if isinstance(send, Invocation):
                self._actions.send_message(text)
            else:
                self._completions.send_message(text, visibility_timeout=send.delay_s)

    def opened(self, body: bytes) -> dict[str, JSON] | None:
        """The message that a queue brings; None when it has been dealt with, and `forgotten`."""
        message: dict[str, Any] = json.loads(body)
        if LARGE not in message:
            return message
        try:
            kept: dict[str, JSON] = value_of(self._large.get_entity(*message[LARGE]))
        except ResourceNotFoundError:
            return None
        return kept

    def forget(self, body: bytes) -> None:
        """Removes what stands in the table of a message that has been dealt with."""
        if (place := json.loads(body).get(LARGE)) is not None:
            self._large.delete_entity(*place)

    def expire(self, now_ms: int) -> None:
        """Removes what belongs to messages that no queue has any more."""
        until = {"until": minute_of(now_ms - KEPT_MS - DAY_MS)}
        for row in self._large.query_entities("PartitionKey le @until", parameters=until):
            self._large.delete_entity(row["PartitionKey"], row["RowKey"])

    def _text(self, message: dict[str, JSON]) -> str:
        text = json.dumps(message)
        if len(text) <= MESSAGE_CHARS:
            return text
        place = minute_of(self._clock.now_ms()), secrets.token_hex(16)
        self._large.create_entity({**keyed(*place), **pieces_of(message)})
        return json.dumps({LARGE: place})
