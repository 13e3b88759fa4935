"""Systems of record: SQLite in a directory, a DynamoDB table, and this process's memory."""

from .dynamodb import DynamoStore
from .errors import StoreError
from .memory import MemoryStore
from .sqlite import FILE, SqliteStore

__all__ = ["FILE", "DynamoStore", "MemoryStore", "SqliteStore", "StoreError"]
