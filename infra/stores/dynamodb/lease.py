"""The lease of a DynamoDB table: one server writes it at a time.

A server holds a lease and renews it; while the lease lasts, no other server starts. If another server takes
the table over though the first still runs (it slept, its clock was wrong), the fence keeps the first out:
every transaction checks the fence, which names the only server that may write. The fence also names the
last commit, so that a server can find out how a commit in doubt has ended.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import StoreError
from .items import Item, Key, attribute, int_of, key_item, text_of
from .table import UnmetError

if TYPE_CHECKING:
    from asyncio import Event

    from ....actions import Clock
    from .table import Table

LEASE: Key = ("lease", "lease")
FENCE: Key = ("lease", "fence")
LIVES_MS = 20_000


class LastCommit(NamedTuple):
    """The last commit that has passed the fence, and the number of its last activation."""

    commit: str
    number: int


class Lease:
    """A server's hold on a table.

    Args:
        table: to hold.
        clock: the time.
        owner: a name that no other server has.
        gone: set when another server has taken the table over.
    """

    def __init__(self, table: Table, clock: Clock, owner: str, gone: Event) -> None:
        self._table, self._clock, self._owner, self._gone = table, clock, owner, gone
        self._lost = False

    async def take(self) -> None:
        """Takes the table.

        Raises:
            StoreError: if another server holds the table.
        """
        found = (await self._table.get([LEASE])).get(LEASE)
        now_ms = self._clock.now_ms()
        if found is not None and (int_of(found, "until_ms") or 0) > now_ms:
            raise self._held(found, now_ms)
        put = {"Item": self._item(now_ms), **_as_it_was(found)}
        step = {
            "Key": key_item(FENCE),
            "UpdateExpression": "SET #owner = :me",
            "ExpressionAttributeNames": {"#owner": "owner"},
            "ExpressionAttributeValues": {":me": attribute(self._owner)},
        }
        try:
            await self._table.transact(
                [
                    {"Put": {"TableName": self._table.name, **put}},
                    {"Update": {"TableName": self._table.name, **step}},
                ]
            )
        except UnmetError:
            raise StoreError(
                f"another server has just taken table {self._table.name}: stop it, or give this one "
                "--dynamodb with another table"
            ) from None

    def _held(self, found: Item, now_ms: int) -> StoreError:
        left_s = ((int_of(found, "until_ms") or 0) - now_ms) / 1000
        return StoreError(
            f"another server ({text_of(found, 'place')}) is using table {self._table.name}: stop it, or "
            f"give this one --dynamodb with another table. If it has died, start again in {left_s:.0f} s"
        )

    def _item(self, now_ms: int) -> Item:
        return {
            **key_item(LEASE),
            "owner": attribute(self._owner),
            "until_ms": attribute(now_ms + LIVES_MS),
            "place": attribute(f"{socket.gethostname()}, process {os.getpid()}"),
        }

    async def renew(self) -> bool:
        """Extends the lease. Returns False if it is lost."""
        if not self._lost and not await self._extend(self._clock.now_ms() + LIVES_MS):
            self.lost()
        return not self._lost

    def ensure(self) -> None:
        """Checks that the lease is not known to be lost.

        Raises:
            StoreError: if another server has taken the table over.
        """
        if self._lost:
            raise self.lost()

    async def release(self) -> None:
        """Ends the lease, so that another server can start."""
        await self._extend(0)

    async def _extend(self, until_ms: int) -> bool:
        try:
            await self._table.call(
                "update_item",
                TableName=self._table.name,
                Key=key_item(LEASE),
                UpdateExpression="SET until_ms = :until",
                ConditionExpression="#owner = :me",
                ExpressionAttributeNames={"#owner": "owner"},
                ExpressionAttributeValues={
                    ":until": attribute(until_ms),
                    ":me": attribute(self._owner),
                },
            )
        except UnmetError:
            return False
        return True

    # --- the fence ---------------------------------------------------------------------------

    async def last_commit(self) -> LastCommit:
        """Returns the last commit that has passed the fence.

        Raises:
            StoreError: if another server has taken the table over.
        """
        fence = (await self._table.get([FENCE])).get(FENCE, {})
        if text_of(fence, "owner") != self._owner:
            raise self.lost()
        return LastCommit(text_of(fence, "last") or "", int_of(fence, "number") or 0)

    def step(self, before: str, now: LastCommit) -> Any:
        """Returns the write that passes the fence, as the next commit after `before`."""
        values = {":last": now.commit, ":number": now.number, ":before": before, ":me": self._owner}
        first = "attribute_not_exists(#last)" if not before else "#last = :before"
        if not before:
            del values[":before"]
        return {
            "Update": {
                "TableName": self._table.name,
                "Key": key_item(FENCE),
                "UpdateExpression": "SET #last = :last, #number = :number",
                "ConditionExpression": f"#owner = :me AND {first}",
                "ExpressionAttributeNames": {
                    "#owner": "owner",
                    "#last": "last",
                    "#number": "number",
                },
                "ExpressionAttributeValues": {k: attribute(v) for k, v in values.items()},
            }
        }

    def check(self) -> Any:
        """Returns the condition that this server still has the table."""
        return {
            "ConditionCheck": {
                "TableName": self._table.name,
                "Key": key_item(FENCE),
                "ConditionExpression": "#owner = :me",
                "ExpressionAttributeNames": {"#owner": "owner"},
                "ExpressionAttributeValues": {":me": attribute(self._owner)},
            }
        }

    def lost(self) -> StoreError:
        """Marks the lease as lost. Returns the error for every write from now on."""
        self._lost = True
        self._gone.set()
        return StoreError(
            f"another server has taken table {self._table.name} over, and this one has stopped "
            "writing: stop this server"
        )


def _as_it_was(found: Item | None) -> dict[str, Any]:
    if found is None:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    return {
        "ConditionExpression": "#owner = :was AND until_ms = :until",
        "ExpressionAttributeNames": {"#owner": "owner"},
        "ExpressionAttributeValues": {":was": found["owner"], ":until": found["until_ms"]},
    }
