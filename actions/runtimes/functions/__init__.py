"""Archives of Lambda functions as actions: what was uploaded, with what finds and calls its handler."""

from .packing import ArchiveError, packed, repacked

__all__ = ["ArchiveError", "packed", "repacked"]
