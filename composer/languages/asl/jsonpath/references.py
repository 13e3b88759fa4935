"""Reference paths: those that lead to one place, which can be written too (ResultPath, Variable, ItemsPath)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ....errors import ExpressionError
from ....expressions.nodes import MISSING, Missing, node_at
from ..state_errors import StatesError
from .paths import Path
from .texts import json_text

if TYPE_CHECKING:
    from ....values import JSON
    from .paths import Scope

# What AWS fails with; the specification's name for a ResultPath, States.ResultPathMatchFailure, is not seen there.
CONFLICT = "States.ReferencePathConflict"


class ReferencePath:
    """A path of names and single indexes. `ReferencePath.compile` caches."""

    __slots__ = ("path", "steps")

    def __init__(self, text: str) -> None:
        try:
            self.path = Path.compile(text)
        except ExpressionError as error:
            raise ExpressionError(f"Value is not a Reference Path: {error}") from error
        if self.path.steps is None:
            raise ExpressionError(
                f"Value is not a Reference Path: path {text!r} may only have names and single indexes"
            )
        self.steps = self.path.steps

    def __repr__(self) -> str:
        return f"ReferencePath({self.text!r})"

    @staticmethod
    def compile(text: JSON) -> ReferencePath:
        """The reference path that `text` spells.

        Raises:
            ExpressionError: when it is no path, or no reference path; in AWS' words as far as known.
        """
        if type(text) is not str or not text.startswith("$"):
            raise ExpressionError(
                "Value is not a Reference Path: Reference path didn't start with '$'"
            )
        return _compiled(text)

    @property
    def text(self) -> str:
        return self.path.text

    def find(self, scope: Scope) -> JSON | Missing:
        """What stands there, or MISSING."""
        return node_at(self.steps, self.path.document(scope))

    def get(self, scope: Scope) -> JSON:
        """What stands there.

        Raises:
            StatesError: States.ReferencePathConflict, when nothing does, as for an ItemsPath.
        """
        document = self.path.document(scope)
        for count in range(1, len(self.steps) + 1):
            if node_at(self.steps[:count], document) is MISSING:
                raise self._conflict(self.steps[count - 1], document)
        return node_at(self.steps, document)

    def put(self, document: JSON, value: JSON) -> JSON:
        """A copy of the document in which `value` stands there: ResultPath.

        Objects on the way are made as necessary; an element of an array must exist.

        Raises:
            StatesError: States.ReferencePathConflict, when a name meets what is no object, or an index
                no element.
        """
        return self._put(document, 0, value, document)

    def _put(self, node: JSON, at: int, value: JSON, document: JSON) -> JSON:
        if at == len(self.steps):
            return value
        step = self.steps[at]
        if isinstance(step, str) and type(node) is dict:
            return {**node, step: self._put(node.get(step, {}), at + 1, value, document)}
        if isinstance(step, int) and type(node) is list and -len(node) <= step < len(node):
            made = node.copy()
            made[step] = self._put(node[step], at + 1, value, document)
            return made
        raise self._conflict(step, document)

    def _conflict(self, step: str | int, document: JSON) -> StatesError:
        what = f'step "{step}"' if type(document) in (dict, list) else f"ReferencePath {self.text}"
        return StatesError(CONFLICT, f"Unable to apply {what} to input {json_text(document)}")


_compiled = lru_cache(maxsize=4096)(ReferencePath)
