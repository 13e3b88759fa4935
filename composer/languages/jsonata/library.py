"""The used parts of the library jsonata-python; no other module imports it.

Used are its tokenizer and parser, its evaluation of paths and tuples, and its pictures of numbers
and dates. Not used is what it keeps for all threads: its frame of functions (a binding renames
them), its current instance, its clock and its chance. Its import raises the interpreter's recursion
limit for the whole process, far above what a thread's stack is sure to hold; that is undone.
"""

from __future__ import annotations

import sys
from typing import Any, Final, TypeAlias

_limit = sys.getrecursionlimit()

from jsonata.constants import Constants  # noqa: E402 - the limit must be read before
from jsonata.datetimeutils import DateTimeUtils  # noqa: E402
from jsonata.functions import Functions  # noqa: E402
from jsonata.jexception import JException  # noqa: E402
from jsonata.jsonata import Jsonata  # noqa: E402
from jsonata.parser import Parser  # noqa: E402
from jsonata.signature import Signature  # noqa: E402
from jsonata.utils import Utils  # noqa: E402

sys.setrecursionlimit(_limit)

Node: TypeAlias = Any  # of the parser's tree

NULL: Final[Any] = Utils.NULL_VALUE  # JSON's null; Python's None is JSONata's undefined
JList: Final[Any] = Utils.JList
MESSAGES: Final[dict[str, str]] = JException.error_codes
sequence: Final = Utils.create_sequence
sequence_of: Final = Utils.create_sequence_from_iter

__all__ = [
    "MESSAGES",
    "NULL",
    "Constants",
    "DateTimeUtils",
    "Functions",
    "JException",
    "JList",
    "Jsonata",
    "Node",
    "Parser",
    "Signature",
    "sequence",
    "sequence_of",
]
