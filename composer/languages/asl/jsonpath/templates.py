"""Payload templates: JSON in which `"name.$"` holds a path or an intrinsic function.

Parameters, ResultSelector, ItemSelector, Arguments of a reader and Assign are such templates; the value
of ErrorPath, CausePath and the like is one such expression.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ....errors import ExpressionError
from ....expressions.bounds import Budget
from ....expressions.nodes import Missing
from ....freezing import changed
from ....values import flaw
from ..state_errors import RUNTIME, StatesError
from .intrinsics import Intrinsic
from .paths import MAX_VISITS, NoArrayError, Path, PathNotFoundError
from .texts import json_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....values import JSON
    from .functions import Chance
    from .paths import Scope

    Fill: TypeAlias = Callable[[Scope, Chance], JSON]


class Expression:
    """A path or an intrinsic function, and the field whose value it is, which causes name."""

    __slots__ = ("field", "inner")

    def __init__(self, text: JSON, field: str) -> None:
        self.field = field
        try:
            plain = type(text) is str and text.startswith("$")
            self.inner: Path | Intrinsic = Path.compile(text) if plain else Intrinsic.compile(text)
        except ExpressionError as error:
            raise ExpressionError(
                f"The value for the field '{field}' must be a valid JSONPath or a valid intrinsic "
                "function call"
            ) from error

    def __repr__(self) -> str:
        return f"Expression({self.inner.text!r}, {self.field!r})"

    def value(self, scope: Scope, chance: Chance) -> JSON:
        """The value of the expression; null for an index past the end of an array (recorded on AWS).

        Raises:
            StatesError: States.Runtime when a path finds nothing, and what Intrinsic.evaluate raises.
        """
        if isinstance(self.inner, Intrinsic):
            return self.inner.evaluate(scope, chance)
        path = self.inner
        try:
            found = path.find(scope)
        except PathNotFoundError as error:
            document = scope.context if path.origin == "context" else scope.input
            raise StatesError(
                RUNTIME,
                f"The JSONPath '{path.inner}' specified for the field '{self.field}' could not be found "
                f"in the input '{json_text(document)}'",
            ) from error
        except NoArrayError as error:
            raise StatesError(RUNTIME, f"Invalid path '{path.text}' : {error}") from error
        return None if isinstance(found, Missing) else found


class Template:
    """A compiled payload template."""

    __slots__ = ("_fill",)

    def __init__(self, template: JSON) -> None:
        if why := flaw(template):
            raise ExpressionError(f"a payload template must be JSON, but {why}")
        self._fill = _compiled(template)

    def fill(self, scope: Scope, chance: Chance) -> JSON:
        """The value of the template.

        It may contain a part of the input many times, so measure it (`values.measured`) before it is written.

        Raises:
            StatesError: an expression in it fails.
        """
        budget = scope.budget or Budget(MAX_VISITS)
        return self._fill(changed(scope, budget=budget), chance)


def _compiled(template: JSON) -> Fill:
    if type(template) is dict:
        members = dict(_member(name, value) for name, value in template.items())
        return lambda scope, chance: {name: fill(scope, chance) for name, fill in members.items()}
    if type(template) is list:
        items = [_compiled(item) for item in template]
        return lambda scope, chance: [fill(scope, chance) for fill in items]
    return lambda _scope, _chance: template


def _member(name: str, value: JSON) -> tuple[str, Fill]:
    if name.endswith(".$"):
        return name.removesuffix(".$"), Expression(value, name).value
    return name, _compiled(value)
