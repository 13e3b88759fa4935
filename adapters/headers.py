"""Headers of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def merged(*headers: Mapping[str, str]) -> dict[str, str]:
    """Merges headers; later ones replace earlier ones regardless of the case of their names."""
    found = {name.lower(): (name, text) for some in headers for name, text in some.items()}
    return dict(found.values())
