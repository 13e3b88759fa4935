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

# AWS' error; the specification's name for a ResultPath, States.ResultPathMatchFailure, was not seen on AWS.
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
            ExpressionError: it is not a path, or not a reference path; in AWS' words as far as known.
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
        """The value at the path, or MISSING."""
        return node_at(self.steps, self.path.document(scope))

    def get(self, scope: Scope) -> JSON:
        """The value at the path.

        Raises:
            StatesError: States.ReferencePathConflict if there is none, as for an ItemsPath.
        """
        document = self.path.document(scope)
        found = node_at(self.steps, document)
        if isinstance(found, Missing):
            raise self._conflict(self._first_missing(document), document)
        return found

    def _first_missing(self, document: JSON) -> str | int:
        ends = range(1, len(self.steps) + 1)
        missing = (end for end in ends if node_at(self.steps[:end], document) is MISSING)
        return self.steps[next(missing) - 1]

    def put(self, document: JSON, value: JSON) -> JSON:
        """A copy of the document with `value` at the path: ResultPath.

        Missing objects on the way are made; an element of an array must exist.

        Raises:
            StatesError: States.ReferencePathConflict if a name meets a value that is not an object, or an
                index an element that does not exist.
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
