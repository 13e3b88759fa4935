"""Systems of record: SQLite in a directory, a DynamoDB table, and this process's memory."""

from .dynamodb import DynamoStore
from .errors import StoreError
from .memory import MemoryStore
from .offline import Files, OfflineStore
from .sqlite import SqliteStore

__all__ = ["DynamoStore", "Files", "MemoryStore", "OfflineStore", "SqliteStore", "StoreError"]
