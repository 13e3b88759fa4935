"""A distributed Map: its items may be read from files and put together, its results written to files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....expressions.nodes import MISSING
from ....values import Success
from ..jsonpath.path_fields import whole_number
from ..jsonpath.references import ReferencePath
from ..jsonpath.templates import Template
from ..jsonpath.texts import json_text
from ..maps.batches import batched
from ..maps.results import inline_results, writer_config
from ..state_errors import QUERY_EVALUATION_ERROR, StatesError
from .iterations import inputs_of, map_run_arn
from .view import instant, machine_of

if TYPE_CHECKING:
    from ....machine.cursor import Cursor
    from ....values import JSON, Outcome
    from .frames import InState
    from .view import View

READ: Final = "/whisk.system/states/readItems"
WRITE: Final = "/whisk.system/states/writeResults"


def reading(view: View, input: JSON) -> dict[str, JSON]:
    """What is asked of whoever reads the items.

    Raises:
        StatesError: when that cannot be worked out.
    """
    reader = view.state.doc["ItemReader"]
    config = reader.get("ReaderConfig", {})
    return {
        "resource": reader["Resource"],
        "arguments": _arguments(view, reader, "ItemReader", input),
        "config": config,
        "maxItems": _bound(view, config, "MaxItems", "ItemReader/ReaderConfig", input),
    }


def put_together(view: View, input: JSON, items: list[JSON]) -> list[JSON]:
    """The inputs of the child executions: batches of what ItemSelector makes of the items.

    Raises:
        StatesError: when that cannot be worked out.
    """
    batcher = view.state.doc["ItemBatcher"]
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


def writing(view: View, cursor: Cursor, frame: InState, outcomes: list[Outcome]) -> dict[str, JSON]:
    """What is asked of whoever writes the results.

    Raises:
        StatesError: when that cannot be worked out.
    """
    writer = view.state.doc["ResultWriter"]
    return {
        "resource": writer["Resource"],
        "arguments": _arguments(view, writer, "ResultWriter", frame.prepared),
        "config": writer.get("WriterConfig", {}),
        "mapRun": map_run_arn(cursor, view.state, joined=True),
        "executions": told(view, cursor, frame, outcomes),
    }


def transformed(view: View, cursor: Cursor, frame: InState, outcomes: list[Outcome]) -> JSON:
    """The result of a Map that is not written anywhere: outputs, if nothing is said of their form.

    Raises:
        StatesError: for a WriterConfig that is none.
    """
    writer = view.state.doc.get("ResultWriter", {})
    config = writer.get("WriterConfig", {}) if writer else {"Transformation": "COMPACT"}
    return inline_results(told(view, cursor, frame, outcomes), writer_config(config))


def told(
    view: View, cursor: Cursor, frame: InState, outcomes: list[Outcome]
) -> list[dict[str, JSON]]:
    """Child executions as their Map's results tell of them. When each began and ended is not kept."""
    run, machine = (
        map_run_arn(cursor, view.state, joined=True),
        machine_of(cursor).context.get("StateMachine", {}),
    )
    label, _, unique = run.rpartition("/")[2].partition(":")
    place = run.replace(":mapRun:", ":execution:").rpartition("/")[0]
    began, ended = instant(frame.entered_ms), instant(cursor.now_ms)
    made: list[dict[str, JSON]] = []
    for index, outcome in enumerate(outcomes):
        name = f"{unique}-{index}"
        about: dict[str, JSON] = {
            "ExecutionArn": f"{place}/{label}:{name}",
            "Name": name,
            "StateMachineArn": f"{machine.get('Id', '')}/{label}",
            "Input": cursor.value["items"][index],
            "StartDate": began,
            "StopDate": ended,
        }
        if isinstance(outcome, Success):
            about |= {"Status": "SUCCEEDED", "Output": outcome.value}
        else:
            about |= {"Status": "FAILED", **outcome.error}
        made.append(about)
    return made


def _arguments(view: View, part: dict[str, JSON], field: str, input: JSON) -> JSON:
    if view.state.jsonata:
        return view.evaluated(part.get("Arguments", {}), f"{field}/Arguments")
    return Template(part.get("Parameters", {})).fill(view.scope(input), view.chance)


def _bound(view: View, part: dict[str, JSON], name: str, field: str, input: JSON) -> int | None:
    if f"{name}Path" in part:
        path = ReferencePath.compile(part[f"{name}Path"])
        return whole_number(f"{name}Path", path, view.scope(input))
    value: JSON = part.get(name)
    if view.is_expression(value):
        value = view.evaluated(value, f"{field}/{name}")
    if type(value) not in (int, type(None)):
        text = f"The {name} field is not a valid integer: {json_text(value)}"
        raise StatesError(QUERY_EVALUATION_ERROR, text, f"{field}/{name}")
    bound: int | None = value
    return bound
