"""The data flow of one state of the JSONPath language: from its raw input to its output.

raw input -> InputPath -> Parameters -> the state's work -> ResultSelector -> ResultPath (into the
raw input) -> OutputPath -> output
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import ExpressionError
from ....expressions.nodes import Missing
from ....freezing import changed, frozen
from ..state_errors import RUNTIME, StatesError
from .paths import NoArrayError, Path, PathNotFoundError
from .references import ReferencePath
from .templates import Template

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    from ....values import JSON
    from .functions import Chance
    from .paths import Scope

    T = TypeVar("T")
    Shows = Callable[[str, JSON], None]

ROOT = "$"


def unseen(stage: str, value: JSON) -> None:
    """Ignores the stages of a value."""


@frozen
class InputSide:
    """The fields that a state applies to its raw input. A path is None if the field is null."""

    input_path: Path | None
    parameters: Template | None

    @staticmethod
    def parse(state: Mapping[str, JSON]) -> InputSide:
        """Reads `InputPath` and `Parameters` of a state.

        Raises:
            ExpressionError: naming the field.
        """
        return InputSide(
            input_path=_read(state, "InputPath", Path.compile),
            parameters=_template(state, "Parameters"),
        )

    def effective(self, scope: Scope, chance: Chance, shows: Shows = unseen) -> JSON:
        """The effective input, from the raw input in `scope.input`; `shows` receives each stage.

        Raises:
            StatesError: States.Runtime if a path finds nothing, or an expression of the template fails.
        """
        made = selected_by(self.input_path, scope)
        shows("afterInputPath", made)
        if self.parameters is not None:
            made = self.parameters.fill(changed(scope, input=made), chance)
        shows("afterParameters", made)
        return made


@frozen
class OutputSide:
    """The fields that a state applies to its result. A path is None if the field is null."""

    result_selector: Template | None
    result_path: ReferencePath | None
    output_path: Path | None

    @staticmethod
    def parse(state: Mapping[str, JSON]) -> OutputSide:
        """Reads `ResultSelector`, `ResultPath` and `OutputPath` of a state.

        Raises:
            ExpressionError: naming the field.
        """
        return OutputSide(
            result_selector=_template(state, "ResultSelector"),
            result_path=_read(state, "ResultPath", result_path),
            output_path=_read(state, "OutputPath", Path.compile),
        )

    def selected(self, result: JSON, scope: Scope, chance: Chance) -> JSON:
        """A result after ResultSelector.

        Raises:
            StatesError: an expression of the template fails.
        """
        if self.result_selector is None:
            return result
        return self.result_selector.fill(changed(scope, input=result), chance)

    def combined(self, result: JSON, scope: Scope, shows: Shows = unseen) -> JSON:
        """The state's output, from its selected result and the raw input in `scope.input`.

        Raises:
            StatesError: States.Runtime if a path finds nothing, States.ReferencePathConflict if the
                result cannot be put into the input.
        """
        combined = combined_by(self.result_path, scope.input, result)
        shows("afterResultPath", combined)
        return selected_by(self.output_path, changed(scope, input=combined))


def selected_by(path: Path | None, scope: Scope) -> JSON:
    """InputPath and OutputPath: the value at the path; an empty object if the field is null.

    Raises:
        StatesError: States.Runtime if the path finds nothing.
    """
    if path is None:
        return {}
    if path.text == ROOT:
        return scope.input
    try:
        found = path.find(scope)
    except (PathNotFoundError, NoArrayError) as error:
        raise StatesError(RUNTIME, f"Invalid path '{path.text}' : {error}") from error
    return None if isinstance(found, Missing) else found


def combined_by(path: ReferencePath | None, raw: JSON, result: JSON) -> JSON:
    """ResultPath: the raw input with the result in it; the raw input alone if the field is null.

    Raises:
        StatesError: States.ReferencePathConflict if it cannot be put there.
    """
    return raw if path is None else path.put(raw, result)


def result_path(text: JSON) -> ReferencePath:
    """The reference path of a ResultPath, which can only be into the state's input.

    Raises:
        ExpressionError: for any other path.
    """
    path = ReferencePath.compile(text)
    if path.path.origin != "input":
        raise ExpressionError(
            f"Value is not a Reference Path: {text!r} is not of the state's input"
        )
    return path


def _read(state: Mapping[str, JSON], field: str, compiled: Callable[[JSON], T]) -> T | None:
    text = state.get(field, ROOT)
    if text is None:
        return None
    try:
        return compiled(text)
    except ExpressionError as error:
        raise ExpressionError(f"{field}: {error}") from error


def _template(state: Mapping[str, JSON], field: str) -> Template | None:
    return Template(state[field]) if field in state else None
