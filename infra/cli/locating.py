"""Errors of a user's Python file with the line of the file that made them."""

from __future__ import annotations

import builtins
from difflib import get_close_matches
from pathlib import Path
from traceback import extract_tb, walk_tb

from ...composer import Error


def located(path: Path, error: BaseException) -> str:
    """Text of an error that the code of a file raised while the file was loaded.

    The text begins with the file and the line: the innermost line in the file's folder, so that an error
    in a library names the line that called the library.
    """
    if isinstance(error, SystemExit):
        return (
            f"{_place(path, error)}: the file ends the program ({error.code!r}): move the call below "
            "if __name__ == '__main__':"
        )
    if isinstance(error, Error):
        return f"{_place(path, error)}: {error}"
    if isinstance(error, SyntaxError):
        line = "" if error.lineno is None else f", line {error.lineno}"
        return f"{error.filename or path}{line}: {type(error).__name__}: {error.msg}"
    return f"{_place(path, error)}: {type(error).__name__}: {error}{_similar(error)}"


def _similar(error: BaseException) -> str:
    """`: did you mean ...?` for an unknown name that is like a name of the place of the error."""
    name = getattr(error, "name", None)
    if not isinstance(error, NameError) or name is None or error.__traceback__ is None:
        return ""
    *_, (frame, _) = walk_tb(error.__traceback__)
    close = get_close_matches(name, [*frame.f_locals, *frame.f_globals, *dir(builtins)], n=1)
    return f": did you mean {close[0]!r}?" if close else ""


def _place(path: Path, error: BaseException) -> str:
    """The file and the line, as far as the error's traceback has one."""
    folder = path.parent.resolve()
    for frame in reversed(extract_tb(error.__traceback__)):
        file = Path(frame.filename).resolve()
        if file == path.resolve():
            return f"{path}, line {frame.lineno}"
        if file.is_relative_to(folder) and not _is_library(file.relative_to(folder)):
            return f"{path.parent / file.relative_to(folder)}, line {frame.lineno}"
    return str(path)


def _is_library(file: Path) -> bool:
    """True if a file in the user's folder is installed there, and not the user's own."""
    return any(part == "site-packages" or part.startswith(".") for part in file.parts)
