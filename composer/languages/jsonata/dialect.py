"""The functions that AWS adds to JSONata, and removes from it.

Sources: AWS' "Transforming data with JSONata"; all else is as peers measured it on
AWS: arguments are cut towards zero, `$random` with a seed is Java's, an undefined argument makes
the result undefined. `$eval` does not exist. Assumed, not measured: a step or size of zero is undefined,
and the texts of `$parse` and `$hash`.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import TYPE_CHECKING, Any, Final, NoReturn

from .bounds import QueryError
from .messages import fault
from .numbers import plain
from .values import with_nulls

if TYPE_CHECKING:
    from .texts import Row

ALGORITHMS: Final = {
    "MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512",
}  # fmt: skip
EXACT_DIGITS: Final = 18  # so many fit 64 bits
MASK: Final = (1 << 48) - 1
MULTIPLIER: Final = 0x5DEECE66D


def partition(evaluator: Any, items: list[Any], size: Any) -> Any:
    """The list in lists of `size`; the last may be shorter."""
    if size is None or not int(size):
        return None
    if size < 0:
        raise fault("T0410", 2, "partition")
    evaluator.budget.members(len(items))
    return [items[at : at + int(size)] for at in range(0, len(items), int(size))]


def span(evaluator: Any, first: float, last: Any, step: Any) -> Any:
    """The numbers from `first` by `step` as far as `last`, including it if a step lands there; one number by itself."""
    if last is None or step is None or not int(step):
        return None
    whole = range(int(first), int(last) + (1 if step > 0 else -1), int(step))
    evaluator.budget.members(max(0, (whole.stop - whole.start) // whole.step))
    return whole[0] if len(whole) == 1 else list(whole)


def hashed(_evaluator: Any, text: str, algorithm: Any) -> Any:
    if algorithm is None:
        return None
    if algorithm not in ALGORITHMS:
        raise QueryError(None, f"$hash: the algorithm must be one of {', '.join(ALGORITHMS)}")
    return hashlib.new(ALGORITHMS[algorithm], text.encode(), usedforsecurity=False).hexdigest()


def random(evaluator: Any, seed: Any = None) -> float:
    """A number of [0, 1); with a seed the first of java.util.Random."""
    if seed is None:
        return float(evaluator.chance())
    state = (int(seed) ^ MULTIPLIER) & MASK
    high = (state := _next(state)) >> 22
    low = _next(state) >> 21
    return ((high << 27) + low) / (1 << 53)


def _next(state: int) -> int:
    return (state * MULTIPLIER + 0xB) & MASK


def uuid(evaluator: Any) -> str:
    """A random UUID (RFC 9562, section 5.4)."""
    digits = "".join(f"{int(evaluator.chance() * (1 << 32)):08x}" for _ in range(4))
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def parse(_evaluator: Any, text: str) -> Any:
    try:
        return with_nulls(
            json.loads(text, parse_float=_number, parse_int=_integer, parse_constant=_refuse)
        )
    except ValueError as error:
        raise QueryError(None, f"$parse: the text is not JSON: {error}") from None


def _number(text: str) -> float:
    number = float(text)
    return plain(number) if math.isfinite(number) else _refuse(text)


def _integer(text: str) -> float:
    return int(text) if len(text) <= EXACT_DIGITS else _number(text)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


STRICT: Final[dict[str, Row]] = {
    "partition": ("<an:a>", partition),
    "range": ("<nnn:a>", span),
    "hash": ("<ss:s>", hashed),
    "parse": ("<s:x>", parse),
}
LOOSE: Final[dict[str, Row]] = {
    "random": ("<n?:n>", random),
    "uuid": ("<:s>", uuid),
}
