"""The pages of the public Python modules, made of their docstrings."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from .markdown import docstring, plain

PUBLIC: Final = ("composer", "testing", "transactions", "embedded", "integrations")
_BUILDING = ("dsl", "expressions", "views", "testing")
_GROUPS: Final = (  # heading, and the folders or modules of `composer` whose members stand under it
    ("Compositions and expressions", ("dsl", "expressions")),
    ("Diagrams and timelines", ("views",)),
    ("Languages", ("languages", "dialects")),
    ("Errors", ("errors",)),
    ("The machine", ("machine", "freezing")),
    ("Names and values", ("names", "values")),
)


class _Bare:
    """An annotation that is shown as its text."""

    def __init__(self, annotation: Any) -> None:
        self._text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)

    def __repr__(self) -> str:
        return self._text


def page(name: str) -> str:
    """The page of one public module."""
    module = import_module(f"xingqiao.{name}")
    parts = [f"# xingqiao.{name}", "", docstring(module)]
    for heading, members in _grouped(module):
        parts += [f"## {heading}", ""] if heading else []
        parts += [_member(member, getattr(module, member)) for member in members]
    return "\n".join(parts)


def _grouped(module: ModuleType) -> list[tuple[str, list[str]]]:
    """The members of a module in groups; a module that is not `composer` has one group without a heading."""
    names: list[str] = list(module.__all__)
    described = [each for each in names if callable(getattr(module, each))]
    others = [each for each in names if each not in described]
    grouped = [("", described)]
    if module.__name__.endswith(".composer"):
        homes = {each: getattr(module, each).__module__.split(".")[2:][:1] for each in described
                 if getattr(module, each).__module__.startswith("xingqiao.")}  # fmt: skip
        grouped = [
            (heading, [each for each, home in homes.items() if set(home) & set(folders)])
            for heading, folders in _GROUPS
        ]
        others = [each for each in names if not any(each in group for _, group in grouped)]
    return [(heading, members) for heading, members in [*grouped, ("Constants and types", others)] if members]


def _member(name: str, member: Any) -> str:
    if inspect.ismodule(member):
        return f"### {name}\n\n{docstring(member)}"
    if not (inspect.isclass(member) or inspect.isfunction(member)):
        return f"### {name}\n\n```text\n{_value(member)}\n```\n"
    shown = f"{'class ' if inspect.isclass(member) else ''}{name}{_signature(member)}"
    parts = [f"### {name}", "", f"```text\n{shown}\n```", ""]
    if not (member.__doc__ or "").startswith(f"{name}("):  # a dataclass without a docstring has its signature
        parts.append(docstring(member))
    if inspect.isclass(member):
        parts += _methods(member)
    return "\n".join(parts)


def _methods(of: type) -> list[str]:
    shown = []
    for name, member in vars(of).items():
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if name.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        head = name if isinstance(member, property) else f"{name}{_signature(function)}"
        text = docstring(function).replace("\n", "\n    ").rstrip()
        shown.append(f"- `{_one_line(head)}`\n\n    {text}\n")
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
    return re.sub(r"<factory>|<object object at [^>]*>", "...", text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _value(member: Any) -> str:
    text = repr(member)
    return text if len(text) < 200 and " at 0x" not in text else plain(type(member).__name__)
