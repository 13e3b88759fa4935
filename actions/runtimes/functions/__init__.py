"""Archives of Lambda functions as actions: the uploaded files, and the code that finds and calls the handler."""

from .packing import ArchiveError, packed, repacked

__all__ = ["ArchiveError", "packed", "repacked"]
