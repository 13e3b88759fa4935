"""A distributed Map: its items may be read from files and put together, its results written to files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....expressions.nodes import MISSING
from ....values import Success
from ..jsonpath.path_fields import whole_number
from ..jsonpath.references import ReferencePath
from ..jsonpath.templates import Template
from ..jsonpath.texts import json_text
from ..maps.batches import batched
from ..maps.results import inline_results, writer_config
from ..maps.work import MapWork, ReadRequest, WriteRequest
from ..state_errors import QUERY_EVALUATION_ERROR, StatesError, details_of
from .iterations import inputs_of, map_run_arn
from .view import instant, machine_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....machine.cursor import Cursor
    from ....values import JSON, Outcome
    from ..documents import StatePart
    from .frames import InState
    from .view import View


def read_request(view: View, input: JSON) -> ReadRequest:
    """Returns the request to read the items of a Map that has an ItemReader.

    Raises:
        StatesError: an expression or a path fails.
    """
    reader: StatePart = view.state.doc["ItemReader"]
    config: StatePart = reader.get("ReaderConfig", {})
    most = _bound(view, config, "MaxItems", "ItemReader/ReaderConfig", input)
    return ReadRequest(
        reader["Resource"], _arguments(view, reader, "ItemReader", input), config, most
    )


def batched_inputs(view: View, input: JSON, items: list[JSON]) -> list[JSON]:
    """The inputs of the child executions: batches of the items, each changed by ItemSelector.

    Raises:
        StatesError: an expression or a path fails.
    """
    batcher: StatePart = view.state.doc["ItemBatcher"]
    shared = batcher.get("BatchInput", MISSING)
    if shared is not MISSING and view.state.jsonata:
        shared = view.evaluated(shared, "ItemBatcher/BatchInput")
    elif shared is not MISSING:
        shared = Template(shared).fill(view.scope(input), view.chance)
    selected = inputs_of(view, input, items)
    most = _bound(view, batcher, "MaxItemsPerBatch", "ItemBatcher", input)
    size = _bound(view, batcher, "MaxInputBytesPerBatch", "ItemBatcher", input)
    batches: list[JSON] = list(batched(selected, shared, most, size))
    view.shows("afterItemBatcher", batches)
    return batches


def write_request(
    view: View, cursor: Cursor, frame: InState, outcomes: Sequence[Outcome]
) -> WriteRequest:
    """Returns the request to write the results of a Map that has a ResultWriter.

    Raises:
        StatesError: an expression or a path fails.
    """
    writer: StatePart = view.state.doc["ResultWriter"]
    return WriteRequest(
        writer["Resource"],
        _arguments(view, writer, "ResultWriter", frame.prepared),
        writer.get("WriterConfig", {}),
        map_run_arn(cursor, view.state, joined=True),
        execution_records(view, cursor, frame, outcomes),
    )


def transformed(view: View, cursor: Cursor, frame: InState, outcomes: Sequence[Outcome]) -> JSON:
    """The result of a Map without a place to write to: the outputs, unless its WriterConfig asks for another form.

    Raises:
        StatesError: the WriterConfig is not valid.
    """
    writer: StatePart = view.state.doc.get("ResultWriter", {})
    config: StatePart = writer.get("WriterConfig", {}) if writer else {"Transformation": "COMPACT"}
    return inline_results(execution_records(view, cursor, frame, outcomes), writer_config(config))


def execution_records(
    view: View, cursor: Cursor, frame: InState, outcomes: Sequence[Outcome]
) -> list[dict[str, JSON]]:
    """The records of the child executions in their Map's results.

    All of them begin and end with the Map: the times of each are not stored.
    """
    run, machine = map_run_arn(cursor, view.state, joined=True), machine_of(cursor)
    label, _, unique = run.rpartition("/")[2].partition(":")
    place = run.replace(":mapRun:", ":execution:").rpartition("/")[0]
    began, ended = instant(frame.entered_ms), instant(cursor.now_ms)
    inputs = MapWork.from_json(cursor.value).items
    made: list[dict[str, JSON]] = []
    for index, outcome in enumerate(outcomes):
        name = f"{unique}-{index}"
        about: dict[str, JSON] = {
            "ExecutionArn": f"{place}/{label}:{name}",
            "Name": name,
            "StateMachineArn": f"{machine.machine_arn}/{label}",
            "Input": inputs[index],
            "StartDate": began,
            "StopDate": ended,
        }
        if isinstance(outcome, Success):
            about |= {"Status": "SUCCEEDED", "Output": outcome.value}
        else:
            about |= {"Status": "FAILED", **details_of(outcome)}
        made.append(about)
    return made


def _arguments(view: View, part: StatePart, field: str, input: JSON) -> JSON:
    if view.state.jsonata:
        arguments: JSON = view.evaluated(part.get("Arguments", {}), f"{field}/Arguments")
        return arguments
    return Template(part.get("Parameters", {})).fill(view.scope(input), view.chance)


def _bound(view: View, part: StatePart, name: str, field: str, input: JSON) -> int | None:
    if f"{name}Path" in part:
        path = ReferencePath.compile(part[f"{name}Path"])
        return whole_number(f"{name}Path", path, view.scope(input))
    value: JSON = part.get(name)
    if view.is_expression(value):
        value = view.evaluated(value, f"{field}/{name}")
    if value is None or type(value) is int:
        return value
    text = f"The {name} field is not a valid integer: {json_text(value)}"
    raise StatesError(QUERY_EVALUATION_ERROR, text, f"{field}/{name}")
