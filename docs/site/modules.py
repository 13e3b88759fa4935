"""The pages of the public Python modules, made of their docstrings."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .markdown import code, docstring

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

PUBLIC: Final = ("composer", "testing", "transactions", "embedded", "client", "integrations")
WIDTH: Final = 90
_GROUPS: Final = (  # heading, and the folders or modules of `composer` whose members stand under it
    ("Compositions and expressions", ("dsl", "expressions")),
    ("Diagrams and timelines", ("views",)),
    ("Languages", ("languages", "dialects")),
    ("Errors", ("errors",)),
    ("The machine", ("machine", "freezing")),
    ("Names and values", ("names", "values", "gates", "cloudevents")),
)
_COMPOSER, _OTHERS = "xingqiao.composer", "Constants and types"


class _Bare:
    """An annotation that is shown as its text."""

    def __init__(self, annotation: Any) -> None:
        self._text = (
            annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        )

    def __repr__(self) -> str:
        return self._text


def page(name: str) -> str:
    """The page of one public module."""
    module = import_module(f"xingqiao.{name}")
    parts = [f"# xingqiao.{name}", "", docstring(module)]
    for heading, members in _grouped(module):
        parts += [f"## {heading}", ""] if heading else []
        parts += _members(module, members)
    return "\n".join(parts)


def _grouped(module: ModuleType) -> Iterator[tuple[str, list[str]]]:
    """The members of a module by heading: functions first in each group, constants at the end."""
    headings = [heading for heading, _ in _GROUPS] if module.__name__ == _COMPOSER else [""]
    groups: dict[str, list[str]] = {heading: [] for heading in [*headings, _OTHERS]}
    for name in sorted(module.__all__, key=lambda each: inspect.isclass(getattr(module, each))):
        heading = _heading(getattr(module, name))
        groups[heading if heading in groups else ""].append(name)
    yield from ((heading, members) for heading, members in groups.items() if members)


def _heading(member: Any) -> str:
    if not _is_described(member):
        return _OTHERS
    home = member.__name__ if inspect.ismodule(member) else member.__module__
    folder = home.removeprefix(f"{_COMPOSER}.").partition(".")[0]
    return next((heading for heading, folders in _GROUPS if folder in folders), "")


def _members(module: ModuleType, names: list[str]) -> list[str]:
    members = {name: getattr(module, name) for name in names}
    constants = [
        _constant(name, member) for name, member in members.items() if not _is_described(member)
    ]
    shown = [_member(name, member) for name, member in members.items() if _is_described(member)]
    return shown + (["| name | value |", "|---|---|", *constants, ""] if constants else [])


def _is_described(member: Any) -> bool:
    return inspect.isclass(member) or inspect.isfunction(member) or inspect.ismodule(member)


def _member(name: str, member: Any) -> str:
    if inspect.ismodule(member):
        return f"### {name}\n\n{docstring(member)}"
    shown = f"{'class ' if inspect.isclass(member) else ''}{name}{_signature(member)}"
    parts = [f"### {name}", "", f"```python\n{_wrapped(shown)}\n```", ""]
    if not (member.__doc__ or "").startswith(
        f"{name}("
    ):  # a dataclass without a docstring has its signature
        parts.append(docstring(member))
    if inspect.isclass(member):
        parts += _methods(member)
    return "\n".join(parts)


def _methods(of: type) -> list[str]:
    shown = []
    for name, member in vars(of).items():
        function = (
            member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        )
        if name.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        head = name if isinstance(member, property) else f"{name}{_signature(function)}"
        text = docstring(function).replace("\n", "\n    ").rstrip()
        shown.append(f"- `{' '.join(head.split())}`\n\n    {text}\n")
    return shown


def _signature(of: Any) -> str:
    try:
        signature = inspect.signature(of)
    except ValueError:  # an exception takes what its base takes
        return ""
    shown = [
        each if each.annotation is each.empty else each.replace(annotation=_Bare(each.annotation))
        for each in signature.parameters.values()
        if each.name != "self"
    ]
    result = signature.return_annotation
    returned = result if result is signature.empty or inspect.isclass(of) else _Bare(result)
    if inspect.isclass(of):
        returned = signature.empty
    text = str(signature.replace(parameters=shown, return_annotation=returned))
    return re.sub(r"<factory>|<object object at [^>]*>|\bEllipsis\b", "...", text)


def _wrapped(head: str) -> str:
    """A signature, with one line for each parameter if one line for all is too long."""
    if len(head) <= WIDTH:
        return head
    before, _, rest = head.partition("(")
    lines, depth, line = [f"{before}("], 1, ""
    for at, character in enumerate(rest):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return "\n".join([*lines, f"    {line.strip()},", rest[at:]])
        if depth == 1 and character == ",":
            lines.append(f"    {line.strip()},")
            line = ""
        else:
            line += character
    return head


def _constant(name: str, member: Any) -> str:
    value = repr(member)
    shown = value if len(value) <= WIDTH and " at 0x" not in value else type(member).__name__
    return f"| `{name}` | {code(shown)} |"
