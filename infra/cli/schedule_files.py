"""Schedules in a user's files: those that a Python file makes, and files whose name ends in `.schedule.json`."""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING, Any

from ... import composer
from ...actions import InvalidError, schedule_key, schedule_of
from ...composer import Error, Schedule

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    from .definitions import Document

_FIELD = re.compile(r"the field '([\w.]+)'")


class ScheduleError(Error):
    """A schedule of a file cannot be deployed; the text names the file and the line."""


def of_module(path: Path, module: ModuleType) -> dict[str, Document]:
    """The documents of the schedules that a Python file assigns to variables, also in lists, by name.

    Raises:
        ScheduleError: a schedule is malformed, is not assigned, or has the name of another one.
    """
    _check_assigned(path, module)
    found: dict[str, Schedule] = {}
    for each in _schedules(module):
        place = f"{path}, line {each.line}"
        before = found.setdefault(each.name, each)
        if before is not each:
            raise ScheduleError(
                f"{place}: the schedule {each.name!r} is also defined in line {before.line}: rename one "
                "of them"
            )
        _check(place, each.name, each.document)
    return {name: dict(each.document) for name, each in found.items()}


def of_file(path: Path, name: str) -> dict[str, Document]:
    """The document of the schedule in a file, by its name.

    Raises:
        ScheduleError: the file cannot be read, or the schedule is malformed.
    """
    try:
        text = path.read_text("utf-8")
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ScheduleError(
            f"{path}, line {error.lineno}: the file is not valid JSON: {error.msg}"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ScheduleError(f"{path} cannot be read: {error}") from error
    try:
        _check("", name, document)
    except ScheduleError as error:
        raise ScheduleError(f"{path}, line {_line_of(text, str(error))}{error}") from error
    return {name: document}


def _schedules(module: ModuleType) -> Iterator[Schedule]:
    for value in vars(module).values():
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(each, Schedule):
                yield each


def _check(place: str, name: str, document: Any) -> None:
    try:
        schedule_of(schedule_key("_", name), document)
    except InvalidError as error:
        raise ScheduleError(f"{place}: schedule {name!r}: {error}") from error


def _line_of(text: str, error: str) -> int:
    """The line of the field that an error names: the first one with its name, as far as a search tells."""
    line, found = 1, _FIELD.search(error)
    for part in found[1].split(".") if found else ():
        rest = text.splitlines()[line - 1 :]
        line += next((n for n, row in enumerate(rest) if f'"{part}"' in row), 0)
    return line


def _check_assigned(path: Path, module: ModuleType) -> None:
    """Refuses `composer.schedule(...)` as a statement: nobody would see the schedule."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            names = vars(module)
            called = node.value.func
            match called:
                case ast.Name(id):
                    made = names.get(id)
                case ast.Attribute(ast.Name(id), attribute):
                    made = getattr(names.get(id), attribute, None)
                case _:
                    made = None
            if made is composer.schedule:
                raise ScheduleError(
                    f"{path}, line {node.lineno}: the schedule is not assigned: write `NAME = "
                    "composer.schedule(...)`"
                )
