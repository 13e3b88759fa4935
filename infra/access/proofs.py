"""Proofs of keys: credentials that were checked lately, and need not be checked again until a key changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .roles import Identity


class Proofs:
    """The keys that credentials have proved, at most one for each valid key; its `repr` shows none of them.

    Nothing that was refused is kept. The look-up tells nothing by its time: it compares secrets only where
    their hashes are equal, and those depend on a seed of this process.
    """

    __slots__ = ("_identities", "_state")

    def __init__(self) -> None:
        self._identities: dict[tuple[str, str], Identity] = {}
        self._state = 0

    def find(self, id: str, key: str, state: int) -> Identity | None:
        """The key that these credentials have proved since `state`, which differs after a change of a namespace."""
        if state != self._state:
            self._identities.clear()
            self._state = state
        return self._identities.get((id, key))

    def add(self, id: str, key: str, identity: Identity) -> None:
        """Keeps a proof. It must not expire by itself."""
        self._identities[id, key] = identity

    def forget(self) -> None:
        """Drops all proofs, because a key changes."""
        self._identities.clear()
