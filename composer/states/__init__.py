"""What the states of the Amazon States Language do while they run: paths, templates, JSONata, and their instructions."""

from .batches import MAX_INPUT_BYTES, batched
from .choices import OPERATORS, Rule, first_match
from .compiled import state_of
from .dialect import STATES
from .errors import ITEM_READER_FAILED, RESULT_WRITER_FAILED, StatesError, exceeded, failed
from .evaluation import EvaluationError, evaluate_field, expressions, flaws, members_of
from .evaluation import engine as query_engine
from .fields import InputSide, OutputSide, combined_by, result_path, selected_by
from .functions import Chance
from .intrinsics import Intrinsic
from .invoking import trace_header
from .items import LINES, Items, ReadingBounds, most_items, read_items
from .manifests import FLATTEN, Manifest, listed_item, manifest_type, read_manifest
from .path_fields import (
    bounded_count,
    bounded_percentage,
    items,
    percentage,
    timeout_seconds,
    wait_seconds,
    wait_until,
    whole_number,
)
from .paths import Path, Scope
from .references import ReferencePath
from .results import ResultFiles, WriterConfig, inline_results, result_files, writer_config
from .templates import Expression, Template
from .timestamps import nanoseconds
from .tokens import task_token, token_place
from .trial import Asked, Given, MismatchError, Trial, Verdict
from .view import machine_frames

__all__ = [
    "FLATTEN",
    "ITEM_READER_FAILED",
    "LINES",
    "MAX_INPUT_BYTES",
    "OPERATORS",
    "RESULT_WRITER_FAILED",
    "STATES",
    "Asked",
    "Chance",
    "EvaluationError",
    "Expression",
    "Given",
    "InputSide",
    "Intrinsic",
    "Items",
    "Manifest",
    "MismatchError",
    "OutputSide",
    "Path",
    "ReadingBounds",
    "ReferencePath",
    "ResultFiles",
    "Rule",
    "Scope",
    "StatesError",
    "Template",
    "Trial",
    "Verdict",
    "WriterConfig",
    "batched",
    "bounded_count",
    "bounded_percentage",
    "combined_by",
    "evaluate_field",
    "exceeded",
    "expressions",
    "failed",
    "first_match",
    "flaws",
    "inline_results",
    "items",
    "listed_item",
    "machine_frames",
    "manifest_type",
    "members_of",
    "most_items",
    "nanoseconds",
    "percentage",
    "query_engine",
    "read_items",
    "read_manifest",
    "result_files",
    "result_path",
    "selected_by",
    "state_of",
    "task_token",
    "timeout_seconds",
    "token_place",
    "trace_header",
    "wait_seconds",
    "wait_until",
    "whole_number",
    "writer_config",
]
