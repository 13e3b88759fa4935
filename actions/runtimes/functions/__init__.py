"""Archives of Lambda functions as actions: the uploaded files, and the code that finds and calls the handler."""

from .packing import TASK, ArchiveError, packed, repacked

__all__ = ["TASK", "ArchiveError", "packed", "repacked"]
