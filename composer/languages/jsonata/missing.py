"""The value of an expression that is undefined."""

from __future__ import annotations

from typing import Final


class Missing:
    """The type of `MISSING`: no value, unlike JSON's null."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
