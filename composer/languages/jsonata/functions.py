"""All functions that an expression can call, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from . import arrays, dialect, mathematics, texts
from .bounds import MANY
from .signatures import parameters, signature
from .values import BASE, Native

if TYPE_CHECKING:
    from collections.abc import Callable

FREE: Final = 1 << 40  # as many as there may be: the time does not depend on them
ARITIES: Final = {"string": 1, "zip": 0}  # what JavaScript counts where it is not the signature

# How many characters or members of its arguments a function goes over in the time of one step.
SIZES: Final = {
    "parse": 6, "encodeUrl": 32, "encodeUrlComponent": 32, "decodeUrl": 4, "decodeUrlComponent": 4,
    "sum": 4, "average": 4, "max": 4, "min": 4, "sort": 2, "shuffle": 2, "distinct": 2,
    "zip": 4, "partition": 4, "spread": 1, "merge": 2,
    "contains": 1024, "substring": 1024, "substringBefore": 1024, "substringAfter": 1024,
    "uppercase": 256, "lowercase": 256,
    "length": FREE, "count": FREE, "exists": FREE, "type": FREE, "lookup": FREE,
}  # fmt: skip
# Steps of a call, whatever its arguments: pictures are read again at each.
BASES: Final = {
    "formatNumber": 100, "formatInteger": 20, "parseInteger": 50, "toMillis": 20, "fromMillis": 50,
    "now": 50, "uuid": 4, "number": 3,
}  # fmt: skip


def _strict(run: Callable[..., Any]) -> Callable[..., Any]:
    def strict(evaluator: Any, *arguments: Any) -> Any:
        return None if arguments[0] is None else run(evaluator, *arguments)

    return strict


def _native(name: str, text: str, run: Callable[..., Any]) -> Native:
    parsed = signature(text)
    arity = ARITIES.get(name, len(parameters(parsed)))
    return Native(name, arity, run, parsed, BASES.get(name, BASE), SIZES.get(name, MANY))


def _table() -> dict[str, Native]:
    modules = (arrays, dialect, mathematics, texts)
    strict = {name: (text, _strict(run)) for m in modules for name, (text, run) in m.STRICT.items()}
    loose = {name: row for module in modules for name, row in module.LOOSE.items()}
    return {name: _native(name, *row) for name, row in (strict | loose).items()}


FUNCTIONS: Final[dict[str, Native]] = _table()
