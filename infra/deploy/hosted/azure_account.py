"""An Azure storage account, and how rows of its tables hold JSON."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from azure.core.exceptions import ResourceExistsError
from azure.data.tables import TableServiceClient
from azure.storage.queue import QueueServiceClient, TextBase64EncodePolicy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ....composer import JSON

Row: TypeAlias = "dict[str, Any]"

PIECE_CHARS = 32_000  # of one property; Table storage takes 64 KiB of UTF-16
MINUTE_MS = 60_000
DAY_MS = 24 * 3600 * 1000
KEPT_MS = 7 * DAY_MS  # an execution that has ended, and a large message: as long as queues keep one
# A batch that the library sends again may find itself done, and look refused: the queue tries again.
NO_RETRY = {"retry_total": 0}


class Account:
    """A storage account, connected to when it is first used.

    Args:
        connection: a connection string.
        prefix: of the names of its tables and queues, lower case letters and digits.
    """

    def __init__(self, connection: str, prefix: str) -> None:
        self._connection, self._prefix = connection, prefix

    @cached_property
    def _tables(self) -> Any:
        return TableServiceClient.from_connection_string(self._connection, **NO_RETRY)

    @cached_property
    def _queues(self) -> Any:
        return QueueServiceClient.from_connection_string(self._connection)

    def table(self, name: str) -> Any:
        """A table of this account, made if it is not there."""
        return self._tables.create_table_if_not_exists(self._prefix + name)

    def queue(self, name: str) -> Any:
        """A queue of this account, made if it is not there."""
        policy = TextBase64EncodePolicy()  # what the Functions host expects
        client = self._queues.get_queue_client(
            queue_name(self._prefix, name), message_encode_policy=policy
        )
        with suppress(ResourceExistsError):
            client.create_queue()
        return client


def queue_name(prefix: str, name: str) -> str:
    """The name of a queue in its account."""
    return f"{prefix}-{name}"


# --- rows ------------------------------------------------------------------------------------------


def keyed(partition: str, key: str) -> Row:
    """A row with only its key."""
    return {"PartitionKey": partition, "RowKey": key}


def minute_of(ms: int) -> str:
    """The minute of an instant, as text that sorts as minutes do."""
    return f"{ms // MINUTE_MS:012}"


def pieces_of(value: JSON, name: str = "text") -> dict[str, str]:
    """A value as text, in as many properties as it needs."""
    text = json.dumps(value)
    starts = range(0, len(text), PIECE_CHARS)
    return {f"{name}{at}": text[start : start + PIECE_CHARS] for at, start in enumerate(starts)}


def value_of(row: Row, name: str = "text") -> Any:
    """The value that `pieces_of` wrote; None if the row has no text. Its type is what this package wrote there."""
    text = _text_of(row, name)
    return json.loads(text) if text else None


def value_in(rows: Iterable[Row]) -> Any:
    """The value that `pieces_of` wrote, from several rows."""
    return json.loads("".join(_text_of(row, "text") for row in rows))


def _text_of(row: Row, name: str) -> str:
    found: list[str] = []
    while (piece := row.get(f"{name}{len(found)}")) is not None:
        found.append(piece)
    return "".join(found)
