"""The operations that invoke an action or a function, and the rule for the results of steps."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..errors import InvalidNameError
from ..names import Name
from ..values import APPLICATION_ERROR, EXPRESSION_ERROR, Failure, boxed, failure
from . import history, instructions
from .commands import Child, Invoke, Tell
from .cursor import popped, step_detail
from .frames import Saved
from .timeouts import again
from .transactions.operations import asks_for_whole, enlist, message_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..values import JSON
    from .cursor import Cursor, NarratedEvent, Reaction


def inspect(cursor: Cursor, raised: tuple[str, ...] = ()) -> Failure | None:
    """Composer's rule for the result of a step: it is boxed, and is a failure if it has an `error` field."""
    cursor.value = boxed(cursor.value)
    if "error" in cursor.value:
        return Failure(APPLICATION_ERROR, cursor.value["error"], raised)
    return None


def note_again(cursor: Cursor, command: Invoke, events: Sequence[NarratedEvent]) -> None:
    """Writes the history of a step that a redrive asks for again, with the events of its language."""
    detail = step_detail(cursor.instructions[cursor.pc - 1].path, command)  # type: ignore[union-attr]
    cursor.note(history.STEP_SCHEDULED, detail, cursor.value if events else history.NOTHING, events)


def _asked(cursor: Cursor, i: instructions.Invoke, turn: int) -> Invoke:
    activation, key = cursor.activation_of(turn), cursor.key_of(turn)
    told = again(cursor) if cursor.frames else None
    return Invoke(turn, activation, cursor.value, action=i.action, key=key, again=told)


def _called(cursor: Cursor, i: instructions.Call, turn: int) -> Invoke:
    activation, key, seen = cursor.activation_of(turn), cursor.key_of(turn), cursor.variables()
    told = again(cursor) if cursor.frames else None
    return Invoke(
        turn, activation, cursor.value, function=i.function, variables=seen, key=key, again=told
    )


def _consulted(cursor: Cursor, _: instructions.Consult, turn: int) -> Invoke:
    return Invoke(turn, cursor.activation_of(turn), cursor.value, key=cursor.key_of(turn))


def _operated(cursor: Cursor, i: instructions.Operate, turn: int) -> Invoke | Failure:
    message = message_of(cursor, i)
    if type(message) is Failure:
        return message
    activation, key = cursor.activation_of(turn), cursor.key_of(turn)
    return Invoke(turn, activation, message, action=i.action, key=key)


def _adopted(cursor: Cursor, i: instructions.Adopt, turn: int) -> Invoke | Failure:
    made = i.message.fill(cursor.scope())
    if type(made) is Failure:
        return made
    asked = boxed(made)
    id, params = asked.get("id", ""), asked.get("params")
    if type(id) is not str or ("id" in asked and not id):
        return failure(EXPRESSION_ERROR, f"child: the id must be a text, not {id!r:.80}")
    child = Child(id, i.wait, i.on_open, i.on_closed, i.close, i.on_cancel)
    activation, key = cursor.activation_of(turn), cursor.key_of(turn)
    return Invoke(turn, activation, boxed(params), action=i.action, key=key, child=child)


def _named(cursor: Cursor, _: instructions.InvokeNamed, turn: int) -> Invoke | Failure:
    activation, key = cursor.activation_of(turn), cursor.key_of(turn)
    if (frame := asks_for_whole(cursor)) is not None:
        first = frame.participants[0].actions[0]
        return Invoke(turn, activation, frame.whole(), action=first, key=key, whole=True)
    wanted = boxed(cursor.value)
    name = _parsed(wanted.get("name"))
    params = wanted.get("params", {})
    if name is None or wanted.get("type") != "action" or not isinstance(params, dict):
        return failure(
            EXPRESSION_ERROR,
            "dynamic: the value must be {'type': 'action', 'name': ..., 'params': {...}}",
        )
    told = again(cursor) if cursor.frames else None
    return Invoke(turn, activation, params, action=name, key=key, again=told)


def _told(cursor: Cursor, i: instructions.Tell, turn: int) -> Invoke | Failure:
    scope = cursor.scope()
    execution, payload = i.execution.fill(scope), i.payload.fill(scope)
    if type(execution) is Failure or type(payload) is Failure:
        return execution if type(execution) is Failure else payload  # type: ignore[return-value]
    if type(execution) is not str or not execution:
        text = f"tell: the execution must be an id, not {execution!r:.100}"
        return failure(EXPRESSION_ERROR, text)
    activation = cursor.activation_of(turn)
    key = cursor.key_of(turn)
    return Invoke(
        turn, activation, payload, key=key, tell=Tell(execution, i.name, key or activation)
    )


def _restarted(cursor: Cursor, i: instructions.Restart, turn: int) -> Invoke | Failure:
    made = i.template.fill(cursor.scope())
    if type(made) is Failure:
        return made
    activation = cursor.activation_of(turn)
    return Invoke(turn, activation, boxed(made), action=i.action or None, restart=True)


COMMANDS: dict[type[Any], Callable[[Cursor, Any, int], Invoke | Failure]] = {
    instructions.Invoke: _asked,
    instructions.Call: _called,
    instructions.Consult: _consulted,
    instructions.Operate: _operated,
    instructions.Adopt: _adopted,
    instructions.InvokeNamed: _named,
    instructions.Tell: _told,
    instructions.Restart: _restarted,
}
"""The command of each instruction that invokes, for the wait of a turn."""


def _parsed(name: JSON) -> str | None:
    """The qualified name of an action; None if the value is not a name."""
    return _spelled(name) if type(name) is str else None


@lru_cache(maxsize=4096)
def _spelled(name: str) -> str | None:
    try:
        return str(Name.parse(name))
    except InvalidNameError:
        return None


def _invoke(cursor: Cursor, i: Any) -> Reaction:
    command = COMMANDS[type(i)](cursor, i, cursor.turn + 1)
    if type(command) is Failure:
        return command
    cursor.await_action(i.path, command)
    return None


def _operate(cursor: Cursor, i: instructions.Operate) -> Reaction:
    return enlist(cursor, i) or _invoke(cursor, i)


def _conduct(cursor: Cursor, i: instructions.Conduct) -> Reaction:
    """Applies the answer of a conductor action as OpenWhisk's controller does (its docs/conductors.md)."""
    answer = boxed(cursor.value)
    popped(cursor, Saved)
    if answer.get("action") is None:
        cursor.pc = i.otherwise
        cursor.value = boxed(answer["params"]) if answer.get("params") is not None else answer
        return inspect(cursor)
    state, params = answer.get("state"), answer.get("params")
    cursor.push(Saved(state if type(state) is dict else {} if state is None else {"state": state}))
    name = _parsed(answer["action"])
    if name is None:
        cursor.pc = i.unnamed
        spelled = json.dumps(answer["action"], ensure_ascii=False)
        text = f"Failed to parse action name from json value {spelled:.1000} during composition."
        cursor.value = {"error": text}
        return None
    cursor.value = {
        "type": "action", "name": name, "params": {} if params is None else boxed(params),
    }  # fmt: skip
    return None


INVOKING: dict[type[Any], Callable[[Cursor, Any], Reaction]] = {
    instructions.Invoke: _invoke,
    instructions.Call: _invoke,
    instructions.InvokeNamed: _invoke,
    instructions.Consult: _invoke,
    instructions.Tell: _invoke,
    instructions.Restart: _invoke,
    instructions.Adopt: _invoke,
    instructions.Operate: _operate,
    instructions.Conduct: _conduct,
}
