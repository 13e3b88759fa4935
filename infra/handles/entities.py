"""The handle of an entity, in the engine in your program and in the client of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ...composer import JSON
    from .listings import Document


class Entity(Protocol):
    """One entity: a state and its operations. It is made by its first operation."""

    async def call(
        self,
        operation: str,
        params: dict[str, JSON] | None = None,
        *,
        read: bool = False,
        token: str = "",
    ) -> JSON:
        """Calls an operation and waits for its result.

        Args:
            operation: the operation.
            params: its parameters.
            read: True if the operation does not change the state.
            token: an idempotency key: calls with the same key run the operation once.

        Raises:
            ActionError: the operation has failed.
        """

    async def signal(
        self, operation: str, params: dict[str, JSON] | None = None, *, token: str = ""
    ) -> str:
        """Calls an operation without waiting. Returns the activation's id once the call is durable."""

    async def get(self) -> Document:
        """The last committed state and its version, without waiting for calls under way.

        Raises:
            NotFoundError: there is no such entity.
        """

    async def delete(self) -> None:
        """Deletes the entity after the calls before it.

        Raises:
            ActionError: it is locked.
        """
