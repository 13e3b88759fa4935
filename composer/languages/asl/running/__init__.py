"""The running of states of the Amazon States Language: their instructions, data flow, tasks, Maps and errors."""

from ..maps.items import LINES, Items, ReadingBounds, most_items, read_items
from ..maps.manifests import FLATTEN, Manifest, listed_item, manifest_type, read_manifest
from ..maps.results import result_files, writer_config
from ..state_errors import ITEM_READER_FAILED, RESULT_WRITER_FAILED, StatesError
from .dialect import STATES
from .evaluation import engine as query_engine
from .lambda_invoke import trace_header

__all__ = [
    "FLATTEN",
    "ITEM_READER_FAILED",
    "LINES",
    "RESULT_WRITER_FAILED",
    "STATES",
    "Items",
    "Manifest",
    "ReadingBounds",
    "StatesError",
    "listed_item",
    "manifest_type",
    "most_items",
    "query_engine",
    "read_items",
    "read_manifest",
    "result_files",
    "trace_header",
    "writer_config",
]
