"""What keeps a store from working."""

from __future__ import annotations

from actions import UnavailableError


class StoreError(UnavailableError):
    """The store cannot be opened, or cannot be used now; the text says why and what to do."""
