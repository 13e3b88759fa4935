"""The check of an object against its shape: its fields, their types, and their query language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from .diagnostic import hashed
from .embedded import (
    BASE,
    check_assign,
    check_expression,
    check_path,
    check_reference,
    check_target,
    check_template,
    check_timestamp,
    check_value,
    looks_dynamic,
)
from .resources import check_resource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....values import JSON
    from .diagnostic import Check
    from .schema import Field, Shape

Structure: TypeAlias = "Callable[[Check, JSON, str], None]"
_PLAIN: dict[str, tuple[Any, str]] = {
    "array": (list, "Array"),
    "boolean": (bool, "Boolean"),
    "condition": (bool, "Boolean"),
    "float": ((int, float), "Float"),
    "integer": (int, "Integer"),
    "object": (dict, "Object"),
    "string": (str, "[STRING]"),
    "text": (str, "[STRING]"),
    "words": (str, "[STRING]"),
}


def check_shape(
    check: Check, value: JSON, shape: Shape, at: str, structures: Mapping[str, Structure]
) -> dict[str, JSON] | None:
    """Checks the fields of an object. Returns the object, or None if the value is not one.

    `structures` has the checks of fields that are objects themselves, by the kind of field.
    """
    if not isinstance(value, dict):
        check.error("Expected value of type Object", at)
        return None
    _check_presence(check, value, shape, at)
    for name, member in value.items():
        if name not in shape.fields:
            check.error(f"Field '{name}' is not supported", at)
        elif _speaks(check, name, shape.fields[name], at):
            _check_field(check, (name, member), shape.fields[name], at, structures)
    return value


def _check_presence(check: Check, value: dict[str, JSON], shape: Shape, at: str) -> None:
    missing = [name for name in shape.required if name not in value]
    if missing:
        check.error(f"These fields are required: {hashed(missing)}", at)
    present = {name for name, member in value.items() if (name, member) != ("End", False)}
    for group in shape.one_of:
        if present.isdisjoint(group):
            message = "This object should have only one of the following fields"
            check.error(f"{message}: {hashed(group)}", at)
    for group in shape.one_of + shape.at_most_one:
        if len(present.intersection(group)) > 1:
            check.error(f"There should only be one of the following fields: {hashed(group)}", at)


def _speaks(check: Check, name: str, field: Field, at: str) -> bool:
    if field.language in (None, check.language):
        return True
    if not (check.machine == "JSONata" and check.language == "JSONPath"):
        check.error(
            f"The QueryLanguage is set to '{check.language}', but field '{name}' is only supported "
            f"for the '{field.language}' QueryLanguage",
            at,
        )
    return False


def _check_field(
    check: Check,
    member: tuple[str, JSON],
    field: Field,
    at: str,
    structures: Mapping[str, Structure],
) -> None:
    name, value = member
    where = f"{at}/{name}"
    if (value is None and field.null) or field.kind == "any":
        return
    if field.kind in structures:
        structures[field.kind](check, value, where)
    elif field.dynamic and isinstance(value, str) and check.language == "JSONata":
        _check_dynamic(check, value, field, where)
    elif field.kind == "value":
        outcome = check.outcome if name == "Output" else frozenset()
        check_value(check, value, where, BASE | outcome)
    elif field.kind in ("reference", "target", "variable"):
        checked = check_target if field.kind == "target" else check_reference
        checked(check, value, field, where)
    elif field.kind in _EMBEDDED:
        _EMBEDDED[field.kind](check, value, where)
    else:
        _check_plain(check, value, field, where)


def _check_dynamic(check: Check, value: str, field: Field, at: str) -> None:
    if value.startswith("{%") or field.kind not in ("text", "timestamp", "template"):
        check_expression(check, value, at)
    elif field.kind == "timestamp":
        check_timestamp(check, value, at)


def _check_template(check: Check, value: JSON, at: str) -> None:
    if check.language == "JSONata":
        check_value(check, value, at)
    else:
        check_template(check, value, at)


_EMBEDDED: dict[str, Structure] = {
    "assign": check_assign,
    "path": check_path,
    "resource": check_resource,
    "template": _check_template,
    "timestamp": check_timestamp,
}


def _check_plain(check: Check, value: JSON, field: Field, at: str) -> None:
    wanted, called = _PLAIN[field.kind]
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        check.error(f"Expected value of type {called}", at)
    elif field.choices and value not in field.choices:
        listed = ", ".join(field.choices)
        check.error(f"Value should be one of the following: [{listed}]", at)
    elif field.least is not None and value < field.least:
        check.error(f"Minimum value is {field.least}", at)
    elif field.most is not None and value > field.most:
        check.error(f"Maximum value is {field.most}", at)
    elif field.kind == "text" and check.language == "JSONPath" and looks_dynamic(value):
        name = at.rpartition("/")[2]
        check.warning("NO_PATH", f"The field '{name}' holds a path: name it '{name}Path'", at)


def check_array(check: Check, value: JSON, at: str, *, empty: bool) -> list[JSON]:
    """The members of an array. Records an error if the value is not one, or has no members and `empty` is False."""
    if not isinstance(value, list):
        check.error("Expected value of type Array", at)
        return []
    if not value and not empty:
        check.error("Value cannot be empty", at)
    return value
