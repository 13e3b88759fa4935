"""The functions of the library that are written in Python, by name and number of arguments.

Each takes the budget, the input and its arguments, all of them values.
"""

from __future__ import annotations

from typing import Any, Final

from . import arrays, dates, mathematics, texts
from .formats import formatted

FUNCTIONS: Final[dict[tuple[str, int], Any]] = {
    **texts.FUNCTIONS,
    **arrays.FUNCTIONS,
    **mathematics.FUNCTIONS,
    **dates.FUNCTIONS,
    ("format", 1): formatted,
}
