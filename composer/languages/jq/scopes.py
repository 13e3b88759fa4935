"""The names that a part of a program sees, and where their values stand when it runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from . import tree

FIRST = 2  # of an environment: the budget and the context come before


@dataclass(frozen=True, slots=True)
class Defined:
    """A function of the program. Its environment is the beginning of its caller's."""

    function: tree.Function
    scope: Scope


Meaning: TypeAlias = int | Defined
Key: TypeAlias = tuple[str, str, int]  # kind, name, arity


@dataclass(frozen=True, slots=True)
class Scope:
    """Names by kind (variable, label, function); a number is a place in the environment."""

    names: dict[Key, Meaning] = field(default_factory=dict)
    size: int = FIRST

    def bound(self, kind: str, name: str) -> Scope:
        """The scope with one more value in the environment, which has this name."""
        return Scope({**self.names, (kind, name, 0): self.size}, self.size + 1)

    def defined(self, function: tree.Function) -> Scope:
        """The scope with one more function, which sees itself."""
        names = dict(self.names)
        scope = replace(self, names=names)
        names["function", function.name, len(function.parameters)] = Defined(function, scope)
        return scope

    def inside(self, function: tree.Function) -> Scope:
        """The scope of the body of a function: its parameters are closures."""
        scope = self
        for parameter in function.parameters:
            scope = scope.bound("function", parameter)
        return scope

    def find(self, kind: str, name: str, arity: int = 0) -> Meaning | None:
        return self.names.get((kind, name, arity))
