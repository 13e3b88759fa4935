"""The value of an expression that is undefined."""

from __future__ import annotations

from typing import Final


class Missing:
    """Nothing, where JSON's null is something."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
