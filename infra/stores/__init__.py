"""Systems of record: SQLite in a directory, a DynamoDB table, and this process's memory; all can be sealed."""

from .copies import Label, copy_store, label_of, settle
from .dynamodb import DynamoStore
from .errors import StoreError
from .inspecting import Glance, glance
from .locking import lock
from .marker import FILE as MARKER
from .memory import MemoryStore
from .offline import Files, OfflineStore
from .places import document_place
from .private import make_private
from .seal import Seal, SealError, is_sealed, key_bytes, new_key
from .sealed import Change, Rewritable, SealedStore
from .sqlite import FILE, SqliteStore

__all__ = [
    "FILE",
    "MARKER",
    "Change",
    "DynamoStore",
    "Files",
    "Glance",
    "Label",
    "MemoryStore",
    "OfflineStore",
    "Rewritable",
    "Seal",
    "SealError",
    "SealedStore",
    "SqliteStore",
    "StoreError",
    "copy_store",
    "document_place",
    "glance",
    "is_sealed",
    "key_bytes",
    "label_of",
    "lock",
    "make_private",
    "new_key",
    "settle",
]
