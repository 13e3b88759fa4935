"""The checks of texts in a definition: paths, payload templates, JSONata and variable names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..jsonpath.timestamps import nanoseconds

if TYPE_CHECKING:
    from ....values import JSON
    from .diagnostic import Check
    from .schema import Field

BASE = frozenset({"input", "context"})
MAX_NAME = 80  # characters of a variable's or state's name
MAX_STEP = 100  # characters of a name that are shown in a place
NO_PATH = "Value must be a valid JSONPath."
JSONATA_FORM = "JSONata string must start with {% and end with %}"

_VARIABLE = re.compile(r"\$[^$.\[]")
_EXPRESSION = re.compile(r"\{%.*%\}", re.DOTALL)


def is_expression(value: JSON) -> bool:
    """True for a JSONata string: `{%` and `%}` are its first and last two characters."""
    return isinstance(value, str) and _EXPRESSION.fullmatch(value) is not None


def check_path(check: Check, value: JSON, at: str) -> None:
    """Checks an InputPath or OutputPath: any JSONPath, the context object, or a variable."""
    if not isinstance(value, str):
        check.error("Expected value of type [STRING]", at)
    elif not (value.startswith("$") and check.hooks.is_path(value)):
        check.error(NO_PATH, at)


def check_reference(check: Check, value: JSON, field: Field, at: str) -> None:
    """Checks a reference path: it can only name a single place."""
    if not isinstance(value, str):
        check.error("Expected value of type [STRING]", at)
    elif field.intrinsic and value.startswith("States."):
        if not check.hooks.is_intrinsic(value):
            check.error("Value must be a valid JSONPath or a valid intrinsic function call", at)
    elif not value.startswith("$"):
        # AWS' text for a Choice's rules; for a state's fields it has the text of all paths.
        start = "Value is not a Reference Path: Reference path didn't start with '$'"
        check.error(start if field.kind == "variable" else NO_PATH, at)
    elif (value.startswith("$$") and not field.context) or not check.hooks.is_reference(value):
        check.error("Value is not a Reference Path", at)


def check_target(check: Check, value: JSON, field: Field, at: str) -> None:
    """Checks a ResultPath: a reference path into the state's input."""
    if isinstance(value, str) and _VARIABLE.match(value):
        check.error("Value is not a Reference Path", at)
    else:
        check_reference(check, value, field, at)


def check_template(check: Check, value: JSON, at: str) -> None:
    """Checks a payload template: an object, whose fields that end with `.$` hold a path or a call."""
    if isinstance(value, dict):
        _check_members(check, value, at)
    else:
        check.error("Expected value of type Object", at)


def _check_members(check: Check, value: JSON, at: str) -> None:
    # AWS names the field, and of the place only the template that it is somewhere in.
    if isinstance(value, list):
        for member in value:
            _check_members(check, member, at)
    elif isinstance(value, dict):
        for name, member in value.items():
            if name.endswith(".$"):
                _check_dynamic(check, name, member, at)
            elif isinstance(member, str):
                _warn_of_dollar(check, name, member, at)
            else:
                _check_members(check, member, at)


def _check_dynamic(check: Check, name: str, value: JSON, at: str) -> None:
    hooks = check.hooks
    known = isinstance(value, str) and (
        hooks.is_path(value) if value.startswith("$") else hooks.is_intrinsic(value)
    )
    if not known:
        what = "a valid JSONPath or a valid intrinsic function call"
        check.error(f"The value for the field '{name}' must be {what}", at)


def _warn_of_dollar(check: Check, name: str, text: str, at: str) -> None:
    if looks_dynamic(text):
        check.warning(
            "NO_DOLLAR", f"The field '{name}' holds a path or a call: name it '{name}.$'", at
        )


def looks_dynamic(text: str) -> bool:
    """True if a literal text looks like a path or a call."""
    return text in ("$", "$$") or text.startswith(("$.", "$[", "$$.", "States."))


def check_value(check: Check, value: JSON, at: str, fields: frozenset[str] = BASE) -> None:
    """Checks a JSON value whose strings may be JSONata, at any depth; findings have the place of the string."""
    _check_inside(check, value, (at, []), fields)


def _check_inside(
    check: Check, value: JSON, at: tuple[str, list[str]], fields: frozenset[str]
) -> None:
    # The place is put together where something is wrong: a definition may have very long names.
    root, steps = at
    if isinstance(value, dict):
        for name, member in value.items():
            steps.append(f"/{name[:MAX_STEP]}")
            _check_inside(check, member, at, fields)
            steps.pop()
    elif isinstance(value, list):
        for index, member in enumerate(value):
            steps.append(f"[{index}]")
            _check_inside(check, member, at, fields)
            steps.pop()
    elif isinstance(value, str) and value.startswith("{%"):
        _check_jsonata(check, value, (root, steps), fields)


def check_expression(check: Check, text: str, at: str) -> None:
    """Checks a string that must be JSONata."""
    _check_jsonata(check, text, (at, []), BASE)


def _check_jsonata(
    check: Check, text: str, at: tuple[str, list[str]], fields: frozenset[str]
) -> None:
    if not is_expression(text):
        check.error(JSONATA_FORM, "".join((at[0], *at[1])))
    elif flaw := check.hooks.jsonata_flaw(text[2:-2], fields):
        check.error(flaw[1], "".join((at[0], *at[1])), flaw[0])


def check_timestamp(check: Check, value: JSON, at: str) -> None:
    """Checks a literal timestamp."""
    if not isinstance(value, str):
        check.error("Expected value of type [STRING]", at)
    elif nanoseconds(value) is None:
        check.error("String does not match RFC3339 timestamp", at)


def check_assign(check: Check, value: JSON, at: str) -> None:
    """Checks the variables that a state assigns: names, and values in its query language."""
    if not isinstance(value, dict):
        check.error("Expected value of type Object", at)
        return
    for name in value:
        plain = name.removesuffix(".$") if check.language == "JSONPath" else name
        _check_variable(check, plain, f"{at}/{name}")
    if check.language == "JSONPath":
        _check_members(check, value, at)
    else:
        check_value(check, value, at, BASE | check.outcome)


def _check_variable(check: Check, name: str, at: str) -> None:
    start = f"Invalid variable name '{name}': the variable name"
    if name == "states":
        message = "Cannot assign to reserved variable '$states'."
        check.error(message, at, "RESERVED_VARIABLE_NAME")
    elif len(name) > MAX_NAME:
        message = f"{start} exceeds the {MAX_NAME}-character limit."
        check.error(message, at, "INVALID_VARIABLE_NAME")
    elif not name.isidentifier() or name.startswith("_"):
        check.error(f"{start} contains invalid characters.", at, "INVALID_VARIABLE_NAME")
