"""Findings about a definition, and the questions that its checks ask other modules.

The codes are those of API_ValidateStateMachineDefinitionDiagnostic, and some that only its answers
show: INVALID_JSONATA_EXPRESSION, UNSUPPORTED_JSONATA_EXPRESSION, INVALID_VARIABLE_NAME,
RESERVED_VARIABLE_NAME and DUPLICATE_VARIABLE_NAME.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, final

from ....freezing import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Severity: TypeAlias = Literal["ERROR", "WARNING"]
MachineType: TypeAlias = Literal["STANDARD", "EXPRESS"]
Language: TypeAlias = Literal["JSONPath", "JSONata"]

SCHEMA = "SCHEMA_VALIDATION_FAILED"
MAX_FOUND = 101  # of each severity: more than an answer holds, so that it can say there are more


@final
@frozen
class Diagnostic:
    """One finding; `location` is a JSON pointer as AWS writes it, or the place in the text, or None."""

    severity: Severity
    code: str
    message: str
    location: str | None


@final
@frozen
class Hooks:
    """The questions of a check, about texts inside a definition and about deployed actions.

    `is_path(text)`: True if it parses as a JSONPath, from `$`, `$$` or a variable `$name`.
    `is_reference(text)`: True if it does, and names a single place.
    `is_intrinsic(text)`: True if it parses as one call of an intrinsic function.
    `jsonata_flaw(expression, fields)`: the code and message of the error in the expression between
    `{%` and `%}`, or None; `fields` are the fields of `$states` at that place.
    `is_action(name)`: True if a Task's Resource that is not an ARN names an action of this server.
    `is_integration(resource)`: True if this server has the service integration `arn:aws:states:::...`.
    """

    is_path: Callable[[str], bool]
    is_reference: Callable[[str], bool]
    is_intrinsic: Callable[[str], bool]
    jsonata_flaw: Callable[[str, frozenset[str]], tuple[str, str] | None]
    is_action: Callable[[str], bool]
    is_integration: Callable[[str], bool]


@final
@frozen
class Check:
    """One check of a definition at a place in it: its questions, its query language, its findings.

    `machine`, `language`: the query language of the whole machine, and of the state. `outcome`: the
    members of `$states` in `Output` and `Assign` beside `input` and `context`. `wrong` are the errors and
    `doubtful` the warnings, shared by every part of it.
    """

    hooks: Hooks
    machine: Language
    language: Language
    type: MachineType
    outcome: frozenset[str]
    wrong: list[Diagnostic]
    doubtful: list[Diagnostic]

    def error(self, message: str, at: str | None, code: str = SCHEMA) -> None:
        """Record an error; `at` is empty for the root."""
        if len(self.wrong) < MAX_FOUND:
            self.wrong.append(Diagnostic("ERROR", code, message, "/" if at == "" else at))

    def warning(self, code: str, message: str, at: str) -> None:
        """Record a warning: the definition is accepted all the same."""
        if len(self.doubtful) < MAX_FOUND:
            self.doubtful.append(Diagnostic("WARNING", code, message, at))


def hashed(names: Iterable[str]) -> str:
    """Names as a HashSet of Java's prints them, as AWS lists fields: `[States, StartAt]`."""
    listed = list(names)
    buckets = 16
    while buckets * 0.75 < len(listed):
        buckets *= 2
    return f"[{', '.join(sorted(listed, key=lambda name: _java_hash(name) % buckets))}]"


def _java_hash(text: str) -> int:
    value = 0
    for character in text:
        value = (31 * value + ord(character)) & 0xFFFFFFFF
    return value ^ (value >> 16)
