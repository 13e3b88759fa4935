"""Error messages in the words of JSONata 2.0.6, which AWS passes on.

The library has the same catalogue of texts but says "Object" where JSONata says "function", and
fills fewer gaps; some of its functions raise bare Python errors, recognized by their texts here.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

from .bounds import TOO_DEEP, QueryError
from .library import MESSAGES, NULL, Constants, JException
from .numbers import shown

_GAP: Final = re.compile(r"\{\{\{?\w+\}?\}\}")
_TOKEN: Final = re.compile(r'(the |operator |function )"[^"]*"(?= (?:operator )?(?:must|does))')

# Texts of the library's that are errors without a code, and their codes.
_CODES: Final = {
    Constants.ERR_MSG_SEQUENCE_UNSUPPORTED: "D3130",
    Constants.ERR_MSG_DIFF_DECIMAL_GROUP: "D3131",
    Constants.ERR_MSG_UNKNOWN_COMPONENT_SPECIFIER: "D3132",
    Constants.ERR_MSG_INVALID_NAME_MODIFIER: "D3133",
    Constants.ERR_MSG_TIMEZONE_FORMAT: "D3134",
    Constants.ERR_MSG_NO_CLOSING_BRACKET: "D3135",
    Constants.ERR_MSG_MISSING_FORMAT: "D3136",
    "Choice groups containing parameterized types are not supported": "S0402",
    "Type parameters can only be applied to functions and arrays": "S0401",
}


def fault(code: str, *values: Any, position: int | None = None) -> QueryError:
    """The error `code`; `values` fill the gaps of its text, in their order there."""
    left = iter(values)
    template = MESSAGES[code].replace("Object", "function").replace('"', "'")

    def fill(gap: re.Match[str]) -> str:
        value = next(left, None)
        return str(value) if gap[0].startswith("{{{") else quoted(value)

    return QueryError(code, _GAP.sub(fill, template), position)


def quoted(value: Any) -> str:
    """A value as JavaScript's JSON in a text; a function is undefined."""
    if value is None:
        return "undefined"
    if value is NULL:
        return "null"
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float):
        return shown(value) if math.isfinite(value) else "null"
    if isinstance(value, list):
        return f"[{','.join(quoted(NULL if item is None else item) for item in value[:100])}]"
    if isinstance(value, dict):
        members = list(value.items())[:100]
        return f"{{{','.join(f'{quoted(key)}:{quoted(item)}' for key, item in members)}}}"
    return "undefined"


def retold(error: QueryError, sign: str) -> QueryError:
    """The error on the right of `and` and `or`, which 2.0.6 reports as their own."""
    text = _TOKEN.sub(lambda found: f'{found[1]}"{sign}"', error.text)
    return QueryError(error.code, text, error.position)


def told(error: Exception, source: str) -> QueryError:
    """An exception of the library or of Python, as JSONata's error."""
    if isinstance(error, QueryError):
        return error
    if isinstance(error, RecursionError):
        return QueryError(None, TOO_DEEP)
    if isinstance(error, JException):
        return _of_library(error, source)
    if isinstance(error, IndexError):  # the tokenizer reads on past the end
        return _unfinished(source)
    code = _CODES.get(str(error))
    return fault(code) if code else QueryError(None, str(error))


def _of_library(error: Any, source: str) -> QueryError:
    code, value = error.error, error.current
    if code == "S0301" and value is not None:
        code = "S0103"
    elif code == "S0102":
        value = re.match(r"[-+.\deE]*", source[error.location :])[0]  # type: ignore[index]
    if code not in MESSAGES:
        return QueryError(None, str(code))
    return fault(code, value, error.expected, position=error.location)


def _unfinished(source: str) -> QueryError:
    begin = source.rfind("/*")
    if begin >= 0 and source.find("*/", begin) < 0:
        return fault("S0106", position=begin)
    return fault("S0207", position=len(source))
