"""What keeps a store from working."""

from __future__ import annotations

from ...actions import InDoubtError, UnavailableError


class StoreError(UnavailableError):
    """The store cannot be opened, or cannot be used now; the text says why and what to do."""


class StoreDoubtError(StoreError, InDoubtError):
    """The store cannot be used now, and whether it has done what it was asked for is not known."""
