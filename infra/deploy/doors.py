"""Makes a package's door lazy: each name is imported when it is first used.

A function of a cloud starts cold: most of that time is the import of `composer`, of which the conductor needs a part. So
a bundle has its own `composer/__init__.py`, made of ours, with the same names (PEP 562).
"""

from __future__ import annotations

import ast

_DOOR = """\
{docstring}

from importlib import import_module
{eager}
__all__ = {names}

_MODULES = {modules}


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
    module, given = _MODULES[name]
    value = globals()[name] = getattr(import_module(f".{{module}}", __name__), given)
    return value


def __dir__():
    return [*globals(), *_MODULES]
"""


def lazy_door(source: str) -> str:
    """The `__init__.py` of a package that only imports names from its modules, made lazy."""
    tree = ast.parse(source)
    modules = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }
    listed = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    # What is called as its module is would be found as that, once any other has imported it.
    eager = "".join(
        f"\nfrom .{name} import {given}" + (f" as {name}" if given != name else "")
        for name, (module, given) in modules.items()
        if module == name
    )
    assert set(listed) == set(modules)  # noqa: S101  a door is nothing else
    return _DOOR.format(
        docstring=f'"""{ast.get_docstring(tree)}"""', names=listed, modules=modules, eager=eager
    )
