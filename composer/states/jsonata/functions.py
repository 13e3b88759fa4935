"""All functions that an expression can call, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from . import arrays, dialect, mathematics, texts
from .signatures import parameters, signature
from .values import Native

if TYPE_CHECKING:
    from collections.abc import Callable

ARITIES: Final = {"string": 1, "zip": 0}  # what JavaScript counts where it is not the signature


def _strict(run: Callable[..., Any]) -> Callable[..., Any]:
    def strict(machine: Any, *arguments: Any) -> Any:
        return None if arguments[0] is None else run(machine, *arguments)

    return strict


def _native(name: str, text: str, run: Callable[..., Any]) -> Native:
    parsed = signature(text)
    return Native(name, ARITIES.get(name, len(parameters(parsed))), run, parsed)


def _table() -> dict[str, Native]:
    modules = (arrays, dialect, mathematics, texts)
    strict = {name: (text, _strict(run)) for m in modules for name, (text, run) in m.STRICT.items()}
    loose = {name: row for module in modules for name, row in module.LOOSE.items()}
    return {name: _native(name, *row) for name, row in (strict | loose).items()}


FUNCTIONS: Final[dict[str, Native]] = _table()
