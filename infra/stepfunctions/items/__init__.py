"""What a distributed Map reads its items from and writes its results to: S3, or directories of this machine."""

from .directory import DirectoryObjects
from .invoker import ITEMS, LIMIT_MS, READ, WRITE, ItemsInvoker
from .places import Places

__all__ = [
    "ITEMS",
    "LIMIT_MS",
    "READ",
    "WRITE",
    "DirectoryObjects",
    "ItemsInvoker",
    "Places",
]
