"""Between the messages that an entity's code is given and the operations that its author writes.

It is imported where entities run in-process, and its source is part of what is deployed: it stands
alone, with the standard library only.
"""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

UPGRADE = "upgrade"


class NoSuchOperation(Exception):  # noqa: N818  it is named by the code of the error
    """The entity does nothing of this name."""


class BadParameters(Exception):  # noqa: N818
    """The operation takes others."""


class BadState(Exception):  # noqa: N818
    """The stored state is not one of the type."""


def operations_of(cls: type[Any]) -> dict[str, FunctionType]:
    """The public methods of a class but `upgrade`, by name."""
    members = {name: inspect.getattr_static(cls, name) for name in dir(cls)}
    return {
        name: member
        for name, member in members.items()
        if isinstance(member, FunctionType) and not name.startswith("_") and name != UPGRADE
    }


def of_class(name: str, cls: type[Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The code of an entity type whose operations are the methods of a class."""
    operations = operations_of(cls)
    signatures = {name: inspect.signature(method) for name, method in operations.items()}

    def run(operation: str, state: Any, params: dict[str, Any]) -> tuple[bool, Any, Any]:
        entity = _entity(name, cls, state)
        try:
            signatures[operation].bind(entity, **params)
        except TypeError as error:
            takes = ", ".join(map(_shown, list(signatures[operation].parameters.values())[1:]))
            raise BadParameters(
                f"{operation!r} takes {takes or 'no parameters'}: {error}"
            ) from error
        before = _state(entity)
        result = operations[operation](entity, **params)
        after = _state(entity)
        return not _same(before, after), after, result

    return _code(name, operations, run, getattr(cls, UPGRADE, None))


def of_functions(
    name: str,
    operations: Mapping[str, Callable[..., Any]],
    upgrade: Callable[..., Any] | None = None,
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The code of an entity type whose operations are functions `(state, params) -> (state, result)`."""

    def run(operation: str, state: Any, params: dict[str, Any]) -> tuple[bool, Any, Any]:
        made = operations[operation](_copy(state), params)
        if not isinstance(made, tuple) or len(made) != 2:  # noqa: PLR2004  a pair
            raise TypeError(f"{operation!r} must return (state, result), not {made!r:.80}")
        after, result = made
        return not _same(state, after), after, result

    return _code(name, operations, run, upgrade)


def of_sources(
    name: str, operations: dict[str, dict[str, str]], upgrade: dict[str, str] | None
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """As `of_functions`, of functions that are captured as source."""
    made = {operation: _defined(source) for operation, source in operations.items()}
    return of_functions(name, made, None if upgrade is None else _defined(upgrade))


def _defined(source: dict[str, str]) -> Any:
    scope: dict[str, Any] = {}
    code = compile(source["code"], source["main"], "exec", dont_inherit=True)
    exec(code, scope)  # noqa: S102  it is what was deployed
    return scope[source["main"]]


def _code(
    name: str,
    operations: Mapping[str, Any],
    run: Callable[[str, Any, dict[str, Any]], tuple[bool, Any, Any]],
    upgrade: Callable[..., Any] | None,
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def answer(message: dict[str, Any]) -> dict[str, Any]:
        operation, state = str(message.get("operation")), message.get("state")
        params = _copy(message.get("params") or {})
        if operation == UPGRADE:
            old = _copy(state)
            return {"state": old if upgrade is None else upgrade(old, params["version"])}
        if operation not in operations:
            has = ", ".join(operations)
            raise NoSuchOperation(f"{name} has no operation {operation!r}; it has {has}")
        changed, after, result = run(operation, state, params)
        made = {"result": {} if result is None else result}
        return {"state": after, **made} if changed else made

    def main(message: dict[str, Any]) -> dict[str, Any]:
        try:
            return answer(message)
        except Exception as error:  # noqa: BLE001  the boundary to the entity's own code
            return {"error": {"code": type(error).__name__, "message": str(error)}}

    return main


def _entity(name: str, cls: type[Any], state: Any) -> Any:
    """The entity that is in this state; a new one for null."""
    if state is None:
        return cls()
    if not isinstance(state, dict):
        raise BadState(f"the state of {name} is an object, not {state!r:.80}")
    state = _copy(state)
    if not dataclasses.is_dataclass(cls):
        entity = cls()
        vars(entity).update(state)
        return entity
    fields = {field.name: field.init for field in dataclasses.fields(cls)}
    if unknown := [field for field in state if field not in fields]:
        raise BadState(
            f"the state has {', '.join(map(repr, unknown))}, but {name} has "
            f"{', '.join(fields)}: write an upgrade"
        )
    entity = cls(**{field: value for field, value in state.items() if fields[field]})
    for field, value in state.items():
        if not fields[field]:
            object.__setattr__(entity, field, value)
    return entity


def _state(entity: Any) -> Any:
    written = dataclasses.is_dataclass(type(entity))
    return dataclasses.asdict(entity) if written else _copy(vars(entity))


def _copy(value: Any) -> Any:
    """A copy of JSON that shares nothing that can change."""
    if isinstance(value, dict):
        return {key: _copy(member) for key, member in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: 1 is neither 1.0 nor true."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _shown(parameter: inspect.Parameter) -> str:
    optional = "" if parameter.default is inspect.Parameter.empty else " (optional)"
    return f"{parameter.name!r}{optional}"
