"""The operations of the instructions of states: from the entry of a state to its exit.

An operation runs with the program counter already on the next instruction, and returns why to unwind, or None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....freezing import changed
from ....machine import history
from ....machine.commands import Fork, Invoke
from ....machine.fiber import parent_of
from ....machine.frames import Deadline, Variables
from ....machine.waits import Joining, Sleeping
from ....values import Failure, Success
from ..jsonpath.choices import first_match
from ..jsonpath.templates import Expression
from ..maps.work import READ, MapWork, ServerRequest, read_values
from ..state_errors import RUNTIME, StatesError, failed
from . import entries, instructions
from .children import batched_inputs, read_request
from .compiled import END, state_of
from .durations import task_seconds, wait_until_ms
from .exits import leave_to
from .flow import input_of, input_to_output, limited, result_to_output, rule_to_output
from .frames import InState, Machine
from .history import entered, fault, scheduled
from .iterations import (
    begin_item,
    concurrency_of,
    item_input,
    items_of,
    map_run_arn,
    run_details,
    tolerance_of,
)
from .tasks import resource_of, tails, target
from .view import View, entry_of, machine_in, machine_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....machine.cursor import Cursor, NarratedEvent, Reaction
    from ....values import JSON
    from .compiled import State
    from .flow import Output

NO_CHOICE = "Failed to transition out of the state. The state does not point to a next state."


# --- machines and branches ---------------------------------------------------------------------


def _begin_machine(cursor: Cursor, i: instructions.BeginMachine) -> Reaction:
    if machine_in(cursor.frames) is None:
        cursor.push(Machine({}))
    cursor.push(Variables({}))
    if i.timeout_ms is not None:
        cursor.push(Deadline(cursor.now_ms + i.timeout_ms, i.timeout_ms))
    return None


def _begin_branch(cursor: Cursor, i: instructions.BeginBranch) -> Reaction:
    """Begins a branch: the frame of its Parallel or Map is the innermost of the inherited frames."""
    frame = cursor.pop()
    assert isinstance(frame, InState)  # noqa: S101  so the parent's frames are handed down
    if i.state is not None:
        state, (_, _, index) = state_of(i.state), parent_of(cursor.id)
        item, view = cursor.value, View(cursor, state, frame)
        if not state.distributed:
            event: NarratedEvent = ("MapIterationStarted", {"name": state.name, "index": index})
            cursor.note(entries.STATE_STARTED, {"state": state.name}, events=[event])
        try:
            if "ItemBatcher" not in state.doc:
                cursor.value = item_input(view, frame.prepared, index, item)
        except StatesError as error:
            return fault(cursor, state, frame.event, error)
        begin_item(cursor, state, index, item)
    cursor.push(Variables({}))
    return None


def _end_branch(cursor: Cursor, i: instructions.EndBranch) -> Reaction:
    if i.state is not None:
        state = state_of(i.state)
        if not state.distributed:
            about: dict[str, JSON] = {"name": state.name, "index": parent_of(cursor.id)[2]}
            event: NarratedEvent = ("MapIterationSucceeded", about)
            cursor.note(entries.STATE_EXITED, {"state": state.name}, events=[event])
    output: Any = cursor.value  # any JSON value, where those of the DSL are objects
    cursor.outcome = Success(output)
    return None


# --- states that wait for nothing --------------------------------------------------------------


def _pass_state(cursor: Cursor, i: instructions.PassState) -> Reaction:
    state = state_of(i.state)
    too_far = entered(cursor, state)
    if too_far is not None:
        return too_far
    at_event, view = cursor.event, View(cursor, state)
    try:
        next, output = PLAIN[state.type](view)
    except StatesError as error:
        return fault(cursor, state, at_event, error)
    if isinstance(output, Failure):
        return output
    return leave_to(cursor, state, output, i.targets[next])


def _pass(view: View) -> tuple[str, Output | Failure]:
    state = view.state
    result = input_of(view)
    if not state.jsonata and "Result" in state.doc:
        result = state.doc["Result"]
        view.shows("result", result)
    return state.next, result_to_output(view, result)


def _succeed(view: View) -> tuple[str, Output | Failure]:
    return END, input_to_output(view, input_of(view))


def _choose(view: View) -> tuple[str, Output | Failure]:
    state, value = view.state, input_of(view)
    rules = state.doc["Choices"]
    if state.jsonata:
        conditions = (
            view.evaluated(rule["Condition"], f"Choices[{at}]/Condition")
            for at, rule in enumerate(rules)
        )
        chosen = next((at for at, held in enumerate(conditions) if held is True), None)
    else:
        chosen = first_match(state.rules, view.scope(value))
    if chosen is not None:
        return rules[chosen]["Next"], rule_to_output(view, chosen, value)
    if "Default" not in state.doc:
        raise StatesError(RUNTIME, NO_CHOICE)
    return state.doc["Default"], input_to_output(view, value)


def _fail(view: View) -> tuple[str, Output | Failure]:
    value = input_of(view)
    return END, failed(_text_of(view, "Error", value), _text_of(view, "Cause", value))


def _text_of(view: View, field: str, input: JSON) -> str | None:
    state = view.state
    path = state.doc.get(f"{field}Path")
    if path is not None:
        value = Expression(path, f"{field}Path").value(view.scope(input), view.chance)
        if type(value) is not str:
            why = "refers to a value that is not a string."
            raise StatesError(RUNTIME, f"The {field}Path field {why}")
        return value
    text: str | None = state.doc.get(field)
    return view.evaluated(text, field) if view.is_expression(text) else text


PLAIN: dict[str, Callable[[View], tuple[str, Output | Failure]]] = {
    "Pass": _pass,
    "Choice": _choose,
    "Succeed": _succeed,
    "Fail": _fail,
}


# --- states that wait --------------------------------------------------------------------------


def _enter(cursor: Cursor, i: instructions.EnterState) -> Reaction:
    state = state_of(i.state)
    too_far = entered(cursor, state)
    if too_far is not None:
        return too_far
    tried = (0,) * len(state.retriers)
    cursor.push(InState(cursor.pc - 1, cursor.value, cursor.event, cursor.now_ms, tried))
    return None


def _prepare(cursor: Cursor, i: instructions.PrepareState) -> Reaction:
    state, frame = state_of(i.state), cursor.frames[-1]
    assert isinstance(frame, InState)  # noqa: S101  EnterState pushed it
    view = View(cursor, state, frame)
    try:
        return _PREPARED[state.type](cursor, view, input_of(view))
    except StatesError as error:
        return fault(cursor, state, frame.event, error)


_INSTANTS = frozenset({"Timestamp", "TimestampPath"})


def _prepare_wait(cursor: Cursor, view: View, value: JSON) -> Reaction:
    until_ms = wait_until_ms(view, value, cursor.now_ms)
    cursor.value = value
    if cursor.count_steps():
        cursor.turn += 1
        cursor.wait = Sleeping(until_ms, not _INSTANTS.isdisjoint(view.state.doc))
    return None


def _prepare_task(cursor: Cursor, view: View, value: JSON) -> Reaction:
    limited(value, view.state.name)
    timeout = task_seconds(view, "TimeoutSeconds", value)
    beat = task_seconds(view, "HeartbeatSeconds", value)
    activity = resource_of(view.state.doc["Resource"]).kind == "Activity"
    for seconds, beats in ((timeout, False), (beat, True)):
        if seconds is not None:
            ms = seconds * 1000
            cursor.push(Deadline(None if activity else cursor.now_ms + ms, ms, beats, activity))
    cursor.value = value
    return None


def _prepare_parallel(cursor: Cursor, view: View, value: JSON) -> Reaction:
    limited(value, view.state.name)
    cursor.value = value
    cursor.note(
        entries.STATE_STARTED, {"state": view.state.name}, events=[("ParallelStateStarted", {})]
    )
    return None


def _prepare_map(cursor: Cursor, view: View, value: JSON) -> Reaction:
    frame = cursor.frames[-1]
    if "ItemReader" in view.state.doc:
        request = ServerRequest(READ, read_request(view, value).to_json())
        cursor.replace(frame, changed(frame, prepared=value))
        _started(cursor, view.state, 0)
        _run_started(cursor, view.state)
        cursor.value = request.to_json()
        return None
    items = items_of(view, value)
    concurrency = concurrency_of(view, value)
    _started(cursor, view.state, len(items))
    cursor.replace(frame, changed(frame, prepared=value))
    _prepare_items(cursor, view, value, items, concurrency)
    if view.state.distributed:
        _run_started(cursor, view.state)
    return None


def _prepare_items(
    cursor: Cursor, view: View, input: JSON, items: list[JSON], concurrency: int
) -> None:
    if "ItemBatcher" in view.state.doc:
        items = batched_inputs(view, input, items)
    tolerated = tolerance_of(view, input, len(items))
    cursor.value = MapWork(items, concurrency, tolerated).to_json()


def _started(cursor: Cursor, state: State, length: int) -> None:
    event: NarratedEvent = ("MapStateStarted", {"length": length})
    cursor.note(entries.STATE_STARTED, {"state": state.name}, events=[event])


def _run_started(cursor: Cursor, state: State) -> None:
    event: NarratedEvent = ("MapRunStarted", {"mapRunArn": map_run_arn(cursor, state)})
    cursor.note(entries.STATE_STARTED, {"state": state.name}, events=[event])


def _take_items(cursor: Cursor, i: instructions.ItemsState) -> Reaction:
    state, frame = state_of(i.state), cursor.frames[-1]
    assert isinstance(frame, InState)  # noqa: S101  nothing is pushed while they are read
    view = View(cursor, state, frame)
    try:
        concurrency = concurrency_of(view, frame.prepared)
        _prepare_items(cursor, view, frame.prepared, read_values(cursor.value), concurrency)
    except StatesError as error:
        return fault(cursor, state, frame.event, error)
    return None


_PREPARED: dict[str, Callable[[Cursor, View, Any], Reaction]] = {
    "Wait": _prepare_wait,
    "Task": _prepare_task,
    "Parallel": _prepare_parallel,
    "Map": _prepare_map,
}


def invocation(cursor: Cursor, i: instructions.InvokeState, turn: int) -> Invoke | Failure:
    """The command of a Task, whose parameters are the fiber's value; or of a Map, whose request is."""
    state = state_of(i.state)
    if state.type == "Map":
        request = ServerRequest.from_json(cursor.value)
        return Invoke(turn, cursor.activation_of(turn), request.params, action=request.action)
    resource = resource_of(state.doc["Resource"])
    aimed = target(resource, cursor.value, machine_of(cursor).arn)
    if isinstance(aimed, Failure):
        return aimed
    name, params = aimed
    activation, tail = cursor.activation_of(turn), tails(resource, cursor.value)
    return Invoke(turn, activation, params, action=name, later=resource.later, tail=tail)


def _invoke(cursor: Cursor, i: instructions.InvokeState) -> Reaction:
    command = invocation(cursor, i, cursor.turn + 1)
    value = cursor.value
    if isinstance(command, Failure):
        return command
    events = scheduled(cursor)
    cursor.await_action(i.path, command, value if events else history.NOTHING, events)
    return None


def _map(cursor: Cursor, i: instructions.MapState) -> Reaction:
    work = MapWork.from_json(cursor.value)
    width = len(work.items)
    if width > cursor.limits.fork_width:
        text = f"the Map has {width} items; {cursor.limits.fork_width} are allowed"
        return failed(RUNTIME, text)
    cursor.turn += 1
    cursor.wait = Joining()
    cursor.commands.append(Fork(cursor.turn, work.items))
    cursor.note(history.FORKED, {"path": i.path, "width": width, **run_details(i, work)})
    return None


def _leave(cursor: Cursor, i: instructions.LeaveState) -> Reaction:
    state = state_of(i.state)
    while not isinstance(frame := cursor.frames[-1], InState):
        cursor.pop()  # deadlines of the task
    view = View(cursor, state, frame)
    try:
        output = (input_to_output if state.type == "Wait" else result_to_output)(view, cursor.value)
    except StatesError as error:
        return fault(cursor, state, frame.event, error)
    cursor.pop()
    return leave_to(cursor, state, output, entry_of(cursor, frame).targets[state.next])


RUNNING: dict[type[Any], Callable[[Cursor, Any], Reaction]] = {
    instructions.BeginMachine: _begin_machine,
    instructions.BeginBranch: _begin_branch,
    instructions.PassState: _pass_state,
    instructions.EnterState: _enter,
    instructions.PrepareState: _prepare,
    instructions.InvokeState: _invoke,
    instructions.ItemsState: _take_items,
    instructions.MapState: _map,
    instructions.LeaveState: _leave,
    instructions.EndBranch: _end_branch,
}
