"""The functions of a worker, by the names of the actions that they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...actions import InvalidError
from ...composer import ActionFunction, InvalidNameError, Name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HERE = "/_/"  # begins the names of functions in the caller's own namespace


def functions_by_name(
    queue: str, functions: Iterable[Callable[..., Any]]
) -> dict[str, Callable[..., Any]]:
    """The functions of a worker by the names of their actions, without the namespace.

    Args:
        queue: the queue of the worker.
        functions: functions marked `@composer.action`, or plain ones, which have their own names.

    Raises:
        InvalidError: there are none, two have one name, or one is for another queue.
    """
    found: dict[str, Callable[..., Any]] = {}
    for each in functions:
        name, function = _named(queue, each)
        if found.setdefault(name, function) is not function:
            raise InvalidError(
                f"functions: two functions are named '{name}': give one of them another name with "
                "@composer.action(name=...)"
            )
    if not found:
        raise InvalidError("functions: a worker needs at least one function")
    return found


def _named(queue: str, given: Callable[..., Any]) -> tuple[str, Callable[..., Any]]:
    if isinstance(given, ActionFunction):
        of = None if given.queue is None else given.queue["queue"]
        name, function = given.name.removeprefix(HERE), given.function
        if of not in (None, queue):
            raise InvalidError(
                f"functions: '{name}' is for the queue '{of}', not for '{queue}': start another "
                "worker for it"
            )
        return name, function
    name = getattr(given, "__name__", "")
    try:
        return Name.parse(name).within("_").path, given
    except InvalidNameError:
        raise InvalidError(
            f"functions: {given!r:.100} has no name that an action can have: define it with `def`, or "
            "mark it with @composer.action(name=...)"
        ) from None
