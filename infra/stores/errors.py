"""Errors of stores."""

from __future__ import annotations

from ...actions import InDoubtError, UnavailableError


class StoreError(UnavailableError):
    """The store cannot be opened or used now; the text says why and what to do."""


class StoreDoubtError(StoreError, InDoubtError):
    """The store failed, and may or may not have made the change."""
