"""Systems of record: SQLite in a directory, a DynamoDB table, and this process's memory; all can be sealed."""

from .dynamodb import DynamoStore
from .errors import StoreError
from .memory import MemoryStore
from .offline import Files, OfflineStore
from .places import document_place
from .private import make_private
from .seal import Seal, SealError, is_sealed, key_bytes, new_key
from .sealed import Change, Rewritable, SealedStore
from .sqlite import FILE, SqliteStore

__all__ = [
    "FILE",
    "Change",
    "DynamoStore",
    "Files",
    "MemoryStore",
    "OfflineStore",
    "Rewritable",
    "Seal",
    "SealError",
    "SealedStore",
    "SqliteStore",
    "StoreError",
    "document_place",
    "is_sealed",
    "key_bytes",
    "make_private",
    "new_key",
]
