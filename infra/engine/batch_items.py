"""The operation of a batch on one execution, which is noted in the commit of the operation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...actions import (
    ANNOTATE,
    CANCEL,
    DELETE,
    PAUSE,
    REDRIVE,
    RESET,
    RESUME,
    TELL,
    TERMINATE,
    StartOptions,
)
from ...composer import NOTHING, boxed
from .resets import Place, Resets

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeAlias

    from ...actions import BatchDefinition
    from ...composer import JSON
    from .annotations import Annotations
    from .batch_records import BatchRecord
    from .deletions import Deletions
    from .messages import Messages
    from .pauses import Pauses
    from .units import Also

    Operation: TypeAlias = Callable[["Item"], Awaitable[Any]]


class Item:
    """One execution of a batch. `also` notes in the operation's own commit that it is done."""

    def __init__(self, namespace: str, id: str, record: BatchRecord, also: Also) -> None:
        self.namespace, self.id, self.also = namespace, id, also
        self.record, self.given = record, record.definition.given


@dataclass(slots=True, kw_only=True)
class Items:
    """Carries out the operations of batches, by the parts of the engine that know how.

    `cancel` and `redrive` are the engine's methods.
    """

    annotations: Annotations
    pauses: Pauses
    resets: Resets
    messages: Messages
    deletions: Deletions
    cancel: Callable[..., Awaitable[None]]
    redrive: Callable[..., Awaitable[None]]
    _operations: dict[str, Operation] = field(init=False)

    def __post_init__(self) -> None:
        self._operations = {
            ANNOTATE: self._annotate,
            CANCEL: self._cancel,
            DELETE: self._delete,
            PAUSE: self._pause,
            REDRIVE: self._redrive,
            RESET: self._reset,
            RESUME: self._resume,
            TELL: self._tell,
            TERMINATE: self._terminate,
        }

    def check(self, namespace: str, definition: BatchDefinition) -> None:
        """Checks the details of an operation that only the namespace can tell to be wrong.

        Raises:
            InvalidError: an attribute is not declared, or a value does not fit.
            TooLargeError: the memo is too large.
        """
        if definition.do == ANNOTATE:
            given = boxed(definition.given.get("attributes", {}))
            attributes: dict[str, JSON] = {
                name: value for name, value in given.items() if value is not None
            }
            options = StartOptions(attributes=attributes, memo=definition.given.get("memo"))
            self.annotations.check(namespace, options)

    async def operate(self, item: Item) -> None:
        """Carries out the operation of a batch on one execution; it is durable when this returns.

        Raises:
            RefusedError: the execution does not allow it, or, as UnavailableError or ThrottledError, not now.
        """
        await self._operations[item.record.definition.do](item)

    async def _annotate(self, item: Item) -> None:
        attributes: Any = item.given.get("attributes", {})
        memo = item.given.get("memo", NOTHING)
        annotate = self.annotations.annotate
        await annotate(item.namespace, item.id, attributes, memo, item.also)

    async def _cancel(self, item: Item) -> None:
        await self.cancel(item.namespace, item.id, also=item.also)

    async def _terminate(self, item: Item) -> None:
        await self.cancel(item.namespace, item.id, terminate=True, also=item.also)

    async def _pause(self, item: Item) -> None:
        await self.pauses.pause(item.namespace, item.id, item.also)

    async def _resume(self, item: Item) -> None:
        await self.pauses.resume(item.namespace, item.id, also=item.also)

    async def _redrive(self, item: Item) -> None:
        await self.redrive(item.namespace, item.id, also=item.also)

    async def _reset(self, item: Item) -> None:
        to: Any = item.given["to"]
        at = {"step": to["step"]} if isinstance(to, dict) else {"to": to}
        reason = item.record.definition.reason
        place = Place(**at, reason=reason, messages=str(item.given.get("messages", "keep")))
        await self.resets.reset(item.namespace, item.id, place, item.also)

    async def _tell(self, item: Item) -> None:
        name, payload = str(item.given["name"]), item.given.get("payload")
        # The id is made of both runs, so that an execution is told once, whatever happens in between.
        id = f"batch:{item.record.run}:{item.id}"
        await self.messages.tell(item.namespace, item.id, name, payload, id, also=item.also)

    async def _delete(self, item: Item) -> None:
        await self.deletions.delete(item.namespace, item.id, item.also)
