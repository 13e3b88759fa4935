"""Frozen records: the values that events, commands and fibers are."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def frozen(cls: type[T]) -> type[T]:
    """Makes a slotted dataclass that the type checker keeps frozen; nothing does at run time.

    A step makes a dozen records, and a record that is frozen at run time takes three times as long to make.
    """
    made: Any = dataclass(slots=True, unsafe_hash=True)(cls)
    lines = [f"    new.{field.name} = old.{field.name}" for field in fields(made)]
    scope: dict[str, Any] = {"cls": made}
    lines = ["def copied(old):", "    new = cls.__new__(cls)", *lines, "    return new"]
    exec("\n".join(lines), scope)  # noqa: S102  as `dataclasses` writes its own
    made.copied = scope["copied"]
    result: type[T] = made
    return result


def changed(value: T, /, **changes: Any) -> T:
    """A copy with other fields: `dataclasses.replace` for `frozen` records, in a tenth of the time."""
    made: T = value.copied()  # type: ignore[attr-defined]
    for name, field in changes.items():
        setattr(made, name, field)
    return made
