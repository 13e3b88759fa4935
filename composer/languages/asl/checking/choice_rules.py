"""The rules of a Choice state: their comparisons in JSONPath, their Condition in JSONata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .diagnostic import hashed
from .schema import OPERATOR_FIELDS, STRING, VALUE, VARIABLE, Field, Shape
from .shapes import check_array, check_shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....values import JSON
    from .diagnostic import Check
    from .shapes import Structure

_SELECTORS = ("And", "Or", "Not", "Variable", "Condition")
_NESTED = {
    "Comment": STRING,
    "And": Field("rules", "JSONPath"),
    "Or": Field("rules", "JSONPath"),
    "Not": Field("rule", "JSONPath"),
    "Variable": VARIABLE,
    **OPERATOR_FIELDS,
}
NESTED_RULE = Shape(_NESTED)
RULE = Shape(
    _NESTED
    | {
        "Next": STRING,
        "Assign": Field("assign"),
        "Output": VALUE,
        "Condition": Field("condition", "JSONata", dynamic=True),
    },
    required=("Next",),
)


def check_choices(check: Check, value: JSON, at: str, structures: Mapping[str, Structure]) -> None:
    """Checks all rules of a Choice state."""
    for index, rule in enumerate(check_array(check, value, at, empty=False)):
        _check_rule(check, rule, f"{at}[{index}]", (RULE, structures))


def _check_rule(
    check: Check, rule: JSON, at: str, how: tuple[Shape, Mapping[str, Structure]]
) -> None:
    shape, structures = how
    fields = check_shape(check, rule, shape, at, {**structures, **_RULES})
    if fields is None:
        return
    if sum(name in fields for name in _SELECTORS) != 1:
        listed = ", ".join(_SELECTORS)
        check.error(f"The object must have only one of the following fields, [{listed}]", at)
    elif check.language == "JSONPath":
        _check_operator(check, fields, at)


def _check_operator(check: Check, rule: dict[str, JSON], at: str) -> None:
    operators = [name for name in rule if name in OPERATOR_FIELDS]
    if "Variable" not in rule:
        for name in operators:
            check.error(f"Field '{name}' is not supported", at)
    elif len(operators) > 1:
        check.error(
            f"There should only be one of the following fields: {hashed(OPERATOR_FIELDS)}", at
        )
    elif not operators:
        message = "This object should have only one of the following fields"
        check.error(f"{message}: {hashed(OPERATOR_FIELDS)}", at)


def _check_rules(check: Check, value: JSON, at: str) -> None:
    for index, rule in enumerate(check_array(check, value, at, empty=False)):
        _check_rule(check, rule, f"{at}[{index}]", (NESTED_RULE, {}))


def _check_nested(check: Check, value: JSON, at: str) -> None:
    _check_rule(check, value, at, (NESTED_RULE, {}))


_RULES: dict[str, Structure] = {"rules": _check_rules, "rule": _check_nested}
