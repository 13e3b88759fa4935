"""The iterations of a Map: its items, their inputs, the bounds on them, and the names of a Map run."""

from __future__ import annotations

from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING

from ....machine.dialect import Iterations
from ....names import activation_id
from ..jsonpath.path_fields import (
    bounded_count,
    bounded_percentage,
    items,
    percentage,
    whole_number,
)
from ..jsonpath.texts import json_text
from ..maps.batches import batch_size
from ..maps.work import MapWork
from ..state_errors import QUERY_EVALUATION_ERROR, RUNTIME, StatesError, exceeded
from .compiled import state_of
from .frames import Machine
from .view import machine_of

if TYPE_CHECKING:
    from ....machine.cursor import Cursor
    from ....values import JSON
    from .compiled import State
    from .frames import ContextObject
    from .instructions import MapState
    from .view import View

ITERATIONS = 40  # at once, for a Map without a bound: AWS' documented bounds
CHILDREN = 10_000


def items_of(view: View, input: JSON) -> list[JSON]:
    """The items of a Map, from its effective input.

    Raises:
        StatesError: the value is not an array.
    """
    state = view.state
    if not state.jsonata:
        listed = items(state.items, view.scope(input))
        view.shows("afterItemsPath", listed)
        return listed
    found = view.evaluated(state.doc["Items"], "Items") if "Items" in state.doc else view.raw
    if type(found) is not list:
        shown = json_text(found)
        raise StatesError(
            QUERY_EVALUATION_ERROR, f"Map state input must be an array but was: {shown}"
        )
    return found


def concurrency_of(view: View, input: JSON) -> int:
    """The number of iterations that may run at once; 0 is no bound.

    Raises:
        StatesError: it is not a whole number of 0 or more.
    """
    most = _count(view, "MaxConcurrency", input) or 0
    view.shows("maxConcurrency", most)
    return most


def tolerance_of(view: View, input: JSON, length: int) -> int:
    """The number of iterations, of `length`, that may fail.

    Raises:
        StatesError: a count is negative, or a percentage is not between 0 and 100.
    """
    count = _count(view, "ToleratedFailureCount", input)
    percent = _percentage(view, input)
    allowed = []
    if count is not None:
        view.shows("toleratedFailureCount", count)
        allowed.append(count)
    if percent is not None:
        view.shows("toleratedFailurePercentage", percent)
        allowed.append(int(length * percent / 100))
    return min(allowed, default=0)


def tolerates(state: State) -> bool:
    """True if a Map has a bound on the items that may fail."""
    fields = ("ToleratedFailureCount", "ToleratedFailurePercentage")
    return any(name in state.doc for field in fields for name in (field, f"{field}Path"))


def _count(view: View, field: str, input: JSON) -> int | None:
    path = view.state.path(field)
    if path is not None:
        return bounded_count(field, whole_number(f"{field}Path", path, view.scope(input)))
    value = view.state.doc.get(field)
    if view.is_expression(value):
        value = view.evaluated(value, field)
        if type(value) is not int:
            text = f"The {field} field is not a valid integer: {json_text(value)}"
            raise StatesError(RUNTIME, text)
    return None if value is None else bounded_count(field, value)


def _percentage(view: View, input: JSON) -> float | None:
    field = "ToleratedFailurePercentage"
    path = view.state.path(field)
    if path is not None:
        return bounded_percentage(field, percentage(f"{field}Path", path, view.scope(input)))
    percent: float | None = view.state.doc.get(field)
    if view.is_expression(percent):
        percent = view.evaluated(percent, field)
    return None if percent is None else bounded_percentage(field, percent)


def item_input(view: View, input: JSON, index: int, item: JSON) -> JSON:
    """The input of an iteration: its item, or the value of ItemSelector.

    Raises:
        StatesError: an expression or a path fails.
    """
    state = view.state
    if state.sees_context:
        view.context["Map"] = {"Item": {"Index": index, "Value": item}}
    if state.jsonata:
        selector = state.doc.get("ItemSelector")
        return item if selector is None else view.evaluated(selector, "ItemSelector")
    return item if state.selector is None else state.selector.fill(view.scope(input), view.chance)


def inputs_of(view: View, input: JSON, items: list[JSON]) -> list[JSON]:
    """The inputs of all iterations, evaluated at once.

    Raises:
        StatesError: an expression or a path fails.
    """
    if not selects(view.state):
        return items
    made = [item_input(view, input, index, item) for index, item in enumerate(items)]
    view.shows("afterItemSelector", made)
    return made


def selects(state: State) -> bool:
    """True if a Map selects the inputs of its iterations; older definitions do so by Parameters."""
    return "ItemSelector" in state.doc or "Parameters" in state.doc


def map_run_arn(cursor: Cursor, state: State, *, joined: bool = False) -> str:
    """The ARN of a Map run: the same when it starts, when it is `joined`, and after a redrive."""
    turns = (2 if "ItemReader" in state.doc else 1) if joined else 0  # since it has started
    machine = machine_of(cursor).machine_arn
    place = activation_id(cursor.execution, cursor.id, cursor.turn - turns, 0)
    digits = sha256(place.encode()).hexdigest()
    label = state.doc.get("Label") or digits[32:40]
    unique = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:32]}"
    return f"{machine.replace(':stateMachine:', ':mapRun:')}/{label}:{unique}"


def begin_item(cursor: Cursor, state: State, index: int, item: JSON) -> None:
    """Gives an iteration its own context object; a child execution has no other frame of its parent."""
    machine = machine_of(cursor)
    context: ContextObject = {**machine.context, "Map": {"Item": {"Index": index, "Value": item}}}
    if state.distributed:
        context["Execution"] = {**machine.execution, "Input": cursor.value}
        cursor.frames = (Machine(context, quiet=True),)
        cursor.event = 1
    else:
        cursor.replace(machine, Machine(context, machine.quiet))


def iterations(i: MapState, prepared: JSON) -> Iterations:
    """The way that a Map's iterations are awaited; the children of a distributed Map are counted."""
    work = MapWork.from_json(prepared)
    if state_of(i.state).distributed:
        return Iterations(i.to, work.concurrency or CHILDREN, work.tolerated, exceeded())
    return Iterations(i.to, work.concurrency or ITERATIONS, None, exceeded())


def run_details(i: MapState, work: MapWork) -> dict[str, JSON]:
    """The details of a Map run in a history: its bounds, and the number of items of each child."""
    state = state_of(i.state)
    if not state.distributed:
        return {}
    about: dict[str, JSON] = {"concurrency": work.concurrency, "tolerated": work.tolerated}
    if "ItemBatcher" in state.doc:
        sizes = groupby(map(batch_size, work.items))
        about["sizes"] = [[size, sum(1 for _ in same)] for size, same in sizes]
    return about


def iteration_details(i: MapState, index: int) -> dict[str, JSON] | None:
    """The details of an iteration's events; None for a child execution, which has none."""
    state = state_of(i.state)
    return None if state.distributed else {"name": state.name, "index": index}
