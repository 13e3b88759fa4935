"""`@json`, `@csv` and the other formats of texts."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote_to_bytes

from .errors import EvaluationError
from .numbers import is_number, shown
from .values import concatenated, paired, quoted, tojson, told, tostring, wrong

if TYPE_CHECKING:
    from collections.abc import Callable

    from .budget import Budget

_ZERO: Final = {"\0": "\\0"}
_HTML: Final = str.maketrans(
    {"<": "&lt;", ">": "&gt;", "&": "&amp;", "'": "&apos;", '"': "&quot;", **_ZERO}
)
_TSV: Final = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", **_ZERO})
_CSV: Final = str.maketrans({'"': '""', **_ZERO})
_SHELL: Final = str.maketrans({"'": "'\\''", **_ZERO})
_BASE64: Final = re.compile(r"[^A-Za-z0-9+/]")
_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")


def _text(budget: Budget, value: Any) -> str:
    text = tostring(value, budget)
    budget.looped(len(text) // 4)
    budget.held(len(text) * 4)
    return text


def _bytes(budget: Budget, value: Any, growth: int) -> bytes:
    """The value as UTF-8, of which each byte may become so many characters."""
    data = paired(_text(budget, value)).encode()
    budget.spend(1)
    budget.held(len(data) * growth)
    budget.looped(len(data) // 4)
    return data


def _html(budget: Budget, value: Any) -> str:
    text = _text(budget, value)
    budget.held(len(text) * 6)  # "&quot;"
    return text.translate(_HTML)


def _uri(budget: Budget, value: Any) -> str:
    return quote(_bytes(budget, value, 3), safe="-_.~")


def _urid(budget: Budget, value: Any) -> str:
    text = _text(budget, value)
    if _PERCENT.search(text):
        raise wrong(value, "is not a valid uri encoding")
    try:
        return unquote_to_bytes(paired(text)).decode("utf-8")
    except UnicodeDecodeError:
        raise wrong(value, "is not a valid uri encoding") from None


def _row(budget: Budget, value: Any, name: str) -> list[Any]:
    if type(value) is not list:
        raise wrong(value, f"cannot be {name}-formatted, only array")
    budget.looped(len(value))
    for cell in value:
        if isinstance(cell, (list, dict)):
            raise wrong(cell, f"is not valid in a {name} row")
    return value


def _csv(budget: Budget, value: Any) -> str:
    cells = []
    for cell in _row(budget, value, "csv"):
        if isinstance(cell, str):
            budget.characters(len(cell))
            cells.append('"' + cell.translate(_CSV) + '"')
        else:
            cells.append(_plain(budget, cell))
    return concatenated(cells, budget, ",")


def _tsv(budget: Budget, value: Any) -> str:
    cells = [
        _text(budget, cell).translate(_TSV) if isinstance(cell, str) else _plain(budget, cell)
        for cell in _row(budget, value, "tsv")
    ]
    return concatenated(cells, budget, "\t")


def _plain(budget: Budget, cell: Any) -> str:
    if is_number(cell):
        told(cell, budget)
        return "" if cell != cell else shown(cell)  # noqa: PLR0124 - NaN
    return {True: "true", False: "false"}.get(cell, "")


def _sh(budget: Budget, value: Any) -> str:
    parts = []
    values = value if type(value) is list else [value]
    budget.looped(len(values) * 4)
    for part in values:
        if isinstance(part, (list, dict)):
            raise wrong(part, "can not be escaped for shell")
        text = _text(budget, part)
        parts.append("'" + text.translate(_SHELL) + "'" if isinstance(part, str) else text)
    return concatenated(parts, budget, " ")


def _base64(budget: Budget, value: Any) -> str:
    return base64.b64encode(_bytes(budget, value, 2)).decode()


def _base64d(budget: Budget, value: Any) -> str:
    text = _text(budget, value)
    figures = text.partition("=")[0]
    if not _BASE64.search(figures) and len(figures) % 4 == 1:
        raise wrong(text, "trailing base64 byte found")
    if _BASE64.search(figures):
        raise EvaluationError(f"string ({quoted(text)}) is not valid base64 data")
    found = base64.b64decode(figures + "=" * (-len(figures) % 4))
    return found.decode("utf-8", "replace")


def _base32(budget: Budget, value: Any) -> str:
    return base64.b32encode(_bytes(budget, value, 2)).decode()


def _base32d(budget: Budget, value: Any) -> str:
    text = _text(budget, value).rstrip("=")
    budget.looped(len(text) // 2)
    try:
        found = base64.b32decode(text + "=" * (-len(text) % 8))
    except ValueError:
        raise EvaluationError(f"string ({quoted(text)}) is not valid base32 data") from None
    return found.decode("utf-8", "replace")


FORMATS: Final[dict[str, Callable[[Budget, Any], str]]] = {
    "text": lambda budget, value: tostring(value, budget),
    "json": lambda budget, value: tojson(value, budget),
    "html": _html, "uri": _uri, "urid": _urid, "csv": _csv, "tsv": _tsv, "sh": _sh,
    "base64": _base64, "base64d": _base64d, "base32": _base32, "base32d": _base32d,
}  # fmt: skip


def formatted(budget: Budget, value: Any, name: Any) -> str:
    """The value in the format of that name. Raises EvaluationError if there is no such format."""
    if not isinstance(name, str) or name not in FORMATS:
        text = tostring(name, budget)
        budget.characters(len(text))
        raise EvaluationError(f"{text} is not a valid format")
    return FORMATS[name](budget, value)
