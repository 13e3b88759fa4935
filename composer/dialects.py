"""The languages that programs may be in: assembled here, loaded when the first program needs them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from .machine.dialect import Dialects
from .machine.plain import PLAIN

if TYPE_CHECKING:
    from .machine.dialect import Dialect


def _states() -> Dialect:
    from .languages.asl.running.dialect import STATES  # noqa: PLC0415  a process may need no state machine

    return STATES


DIALECTS: Final = Dialects(
    plain=PLAIN,
    languages=MappingProxyType({"states": _states}),
    marks=MappingProxyType({"BeginMachine": "states"}),
)
