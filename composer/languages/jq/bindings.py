"""The names that patterns and parameters bind."""

from __future__ import annotations

from . import tree


def names_of(pattern: tree.Pattern) -> list[str]:
    """The variables that a pattern binds."""
    if isinstance(pattern, tree.VariablePattern):
        return [pattern.name]
    if isinstance(pattern, tree.ArrayPattern):
        return [name for item in pattern.items for name in names_of(item)]
    found = []
    for name, _, inner in pattern.entries:
        found += [name] if name is not None else []
        found += names_of(inner) if inner is not None else []
    return found


def with_variables(function: tree.Function) -> tree.Function:
    """A function whose parameters are closures: `$a` is a closure `a`, bound to `$a` in the body."""
    body = function.body
    for parameter in reversed(function.parameters):
        if parameter.startswith("$"):
            name = parameter[1:]
            body = tree.Bind(tree.Call(name, (), 0), (tree.VariablePattern(name),), body)
    parameters = tuple(parameter.removeprefix("$") for parameter in function.parameters)
    return tree.Function(function.name, parameters, body)
