"""Items and results of distributed Maps, in S3 or in directories of this machine."""

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
