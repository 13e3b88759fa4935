"""Entity types: stateful functions, written as a class or as functions.

@entity
@dataclass
class Account:
    balance: int = 0

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError(f"there are only {self.balance}")
        self.balance -= amount
        return {"balance": self.balance}

composer.call(Account, "alice", "withdraw", {"amount": 3})
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import KW_ONLY, dataclass, is_dataclass
from pprint import pformat
from textwrap import indent
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from ..actions import Action, Inline, InvalidError
from ..composer import (
    ActionFunction,
    CompositionError,
    InvalidNameError,
    Name,
    capture,
    capture_class,
)
from . import adapter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..composer import JSON

KIND = "python:3"
STATE_BYTES = 1 << 16

Class: TypeAlias = "type[Any]"
Operations: TypeAlias = "Mapping[str, Callable[[Any, Any], Any]]"
Upgrade: TypeAlias = "Callable[[Any, int], Any]"


@dataclass(frozen=True, slots=True)
class EntityType(ActionFunction[..., Any]):
    """An entity type, as an action: `function` is its code, which takes messages.

    type: the class; None if its operations are functions. Calling the entity type makes an instance, for
    tests.
    """

    _: KW_ONLY
    type: Class | None = None
    operations: Operations | None = None
    upgrade: Upgrade | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._class()(*args, **kwargs)

    def __mro_entries__(self, _: tuple[Any, ...]) -> tuple[Class]:
        return (self._class(),)

    def _class(self) -> Class:
        if self.type is None:
            raise TypeError(f"{self.name} is made of functions and has no class")
        return self.type

    def executed(self) -> dict[str, JSON]:
        """Returns the action's `exec`: the class or the functions, with the adapter that calls them.

        Raises:
            CaptureError: if their source cannot be captured.
        """
        if self.type is not None:
            arguments = f"{self.name!r}, {self.type.__name__}"
            return _executed(capture_class(self.type), "of_class", arguments)
        operations = {name: capture(it) for name, it in (self.operations or {}).items()}
        upgrade = None if self.upgrade is None else capture(self.upgrade)
        sources = pformat((self.name, operations, upgrade), width=100, sort_dicts=False)
        return _executed("from __future__ import annotations\n", "of_sources", f"*{sources}")


def _executed(source: str, make: str, arguments: str) -> dict[str, JSON]:
    """Puts the adapter into a function, apart from the user's names; its `make` returns `main`."""
    taken = {getattr(node, "id", getattr(node, "name", "")) for node in ast.walk(ast.parse(source))}
    main, made = (word if word not in taken else f"{word}_" for word in ("main", "adapter"))
    body = indent(f"{inspect.getsource(adapter)}\nreturn {make}\n", "    ")
    code = f"{source}\n\ndef {made}():\n{body}\n\n{main} = {made}()({arguments})\n"
    return {"kind": KIND, "code": code, "main": main}


@overload
def entity(
    type: Class, /, *, name: str | None = None, version: int = 1, state_bytes: int = STATE_BYTES,
    limits: dict[str, JSON] | None = None,
) -> EntityType: ...  # fmt: skip
@overload
def entity(
    *, name: str, operations: Operations, upgrade: Upgrade | None = None,
    version: int = 1, state_bytes: int = STATE_BYTES, limits: dict[str, JSON] | None = None,
) -> EntityType: ...  # fmt: skip
@overload
def entity(
    *, name: str | None = None, version: int = 1, state_bytes: int = STATE_BYTES,
    limits: dict[str, JSON] | None = None,
) -> Callable[[Class], EntityType]: ...  # fmt: skip
def entity(type: Any = None, /, **options: Any) -> Any:  # noqa: D417  options are one by one
    """Defines an entity type: stateful functions, each with a key, that perform one operation at a time.

    The operations of a class are its public methods: they take the parameters by name, and return the
    result. The state is the fields of a dataclass, or the attributes of another class; a new entity is
    made without arguments. An operation that raises an exception is refused, and changes nothing.
    With `operations`, the operations are functions `(state, params) -> (state, result)`; the state of a
    new entity is null.

    Args:
        type: the class.
        name: of the action that runs the entities; the class's name by default.
        version: of the state. The class's static method `upgrade(state, version)` turns state of an older
            version into the current one; without the method such a state stays as it is.
        state_bytes: limit of one entity's state, as JSON.
        limits: of the action.
        operations: functions by name, instead of a class.
        upgrade: a function `(state, version)`, beside `operations`.

    Raises:
        CompositionError: if this cannot be an entity type; the text says what to do.
    """
    if type is None and "operations" not in options:
        return lambda cls: _of_class(cls, **options)
    return _of_functions(**options) if type is None else _of_class(type, **options)


def _of_class(
    cls: Class,
    name: str | None = None,
    version: int = 1,
    state_bytes: int = STATE_BYTES,
    limits: dict[str, JSON] | None = None,
) -> EntityType:
    if not isinstance(cls, type):
        raise CompositionError(f"entity: must be a class, or name= and operations=, not {cls!r}")
    _check_class(f"entity: {cls.__name__}", cls)
    named = name or cls.__name__
    function = adapter.of_class(named, cls)
    annotations = _annotations(named, function, version, state_bytes)
    return EntityType(named, function, limits, annotations, type=cls)


def _of_functions(  # noqa: PLR0913, PLR0917  an entity has as many sides
    name: str,
    operations: Operations,
    upgrade: Upgrade | None = None,
    version: int = 1,
    state_bytes: int = STATE_BYTES,
    limits: dict[str, JSON] | None = None,
) -> EntityType:
    title = f"entity: {name}"
    _check_operations(title, operations)
    if adapter.UPGRADE in operations:
        raise CompositionError(f"{title}: 'upgrade' cannot be an operation: pass it as upgrade=")
    function = adapter.of_functions(name, operations, upgrade)
    annotations = _annotations(name, function, version, state_bytes)
    return EntityType(name, function, limits, annotations, operations=operations, upgrade=upgrade)


def _check_class(title: str, cls: Class) -> None:
    _check_operations(title, adapter.operations_of(cls))
    upgrade = inspect.getattr_static(cls, adapter.UPGRADE, None)
    if upgrade is not None and not isinstance(upgrade, (staticmethod, classmethod)):
        raise CompositionError(f"{title}: make 'upgrade' a staticmethod(state, version)")
    try:
        inspect.signature(cls).bind()
    except (TypeError, ValueError) as error:
        raise CompositionError(
            f"{title}: a new entity is made without arguments, so each argument needs a default: {error}"
        ) from error
    if not is_dataclass(cls) and not cls.__dictoffset__:
        raise CompositionError(f"{title}: the class has only __slots__: make it a dataclass")


def _check_operations(title: str, operations: Operations) -> None:
    if not operations:
        raise CompositionError(f"{title}: there is no operation: add a public method or a function")
    for name, function in operations.items():
        kinds = inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction
        if any(kind(function) for kind in kinds):
            raise CompositionError(
                f"{title}: {name!r} is async or a generator: an operation only computes, since others "
                "wait for it: move slow work to another step of the composition"
            )


def _annotations(
    name: str, function: Callable[..., Any], version: int, state_bytes: int
) -> dict[str, JSON]:
    """Returns the action's annotations; the action checks them."""
    annotations: dict[str, JSON] = {"entity": {"version": version, "bytes": state_bytes}}
    try:
        action = Action(Name.parse(name), Inline(function), annotations=annotations)
        assert action.entity is not None  # noqa: S101  or it would have raised
    except (InvalidNameError, InvalidError) as error:
        *_, why = str(error).splitlines()
        raise CompositionError(f"entity: {name}: {why}") from error
    return annotations
