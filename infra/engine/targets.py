"""What a step runs: names, actions and their programs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from actions import NOT_FOUND, PERMISSION, Composed, Opened
from composer import LIMIT_EXCEEDED, Failure, Name, compile, task

if TYPE_CHECKING:
    from actions import Action
    from composer import Invoke, Program

    from .parts import Parts
    from .runs import Run


def target(parts: Parts, run: Run, command: Invoke) -> Action | Failure:
    """What a step runs, or why there is nothing to run."""
    if run.origin.solo or command.function is not None:
        return run.origin.action
    namespace = run.origin.namespace
    name = named(str(command.action), namespace)
    if name.namespace != namespace:
        text = f"Failed entitlement check for action with name '{_shown(name)}'"
        return Failure(PERMISSION, f"{text} during composition.")
    action = parts.catalog.find(name)
    if action is None:
        text = f"Failed to resolve action with name '{_shown(name)}' during composition."
        return Failure(NOT_FOUND, text)
    limit = parts.settings.nesting
    if isinstance(action.exec, Composed) and run.origin.depth >= limit:
        text = f"compositions nest more than {limit} deep, at {_shown(name)}"
        return Failure(LIMIT_EXCEEDED, {"code": LIMIT_EXCEEDED, "message": text})
    return action


def opened(run: Run, action: Action, command: Invoke, now_ms: int) -> Opened:
    """The activation of a step that is asked for; that of a solo execution has its id."""
    solo = run.origin.solo
    return Opened(
        id=run.id if solo else command.activation,
        action=action,
        namespace=run.origin.namespace,
        asked_ms=now_ms,
        cause=None if solo else run.id,
        name=f"{action.name.name}.{command.function[:8]}" if command.function else None,
    )


def program_of(action: Action) -> Program:
    return action.exec.program if isinstance(action.exec, Composed) else solo(str(action.name))


@lru_cache(maxsize=4096)
def solo(name: str) -> Program:
    """The program of an action that is invoked by itself."""
    return compile(task(name))


@lru_cache(maxsize=65536)
def named(text: str, namespace: str) -> Name:
    return Name.parse(text).within(namespace)


def _shown(name: Name) -> str:
    return f"{name.namespace}/{name.path}"
