"""What keeps a store from working."""

from __future__ import annotations

from composer import Error


class StoreError(Error):
    """The store cannot be opened, or not be used any more; the text says why and what to do."""
