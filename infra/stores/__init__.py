"""Systems of record: SQLite in a directory, and this process's memory."""

from .memory import MemoryStore
from .sqlite import SqliteStore, StoreError

__all__ = ["MemoryStore", "SqliteStore", "StoreError"]
