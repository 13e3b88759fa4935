"""What events, commands and fibers are: values that are never changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def frozen(cls: type[T]) -> type[T]:
    """A slotted dataclass that the type checker keeps frozen, and nothing at run time.

    A step makes a dozen of them, and one that is frozen at run time takes three times as long to make.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
