"""Refuses fields that are misspelt or misplaced. Other unknown fields are ignored, as OpenWhisk ignores them.

Clients send fields that they have read elsewhere, so an unknown field alone is not a mistake.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from .errors import InvalidError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LIKENESS = (
    0.8  # by difflib: `parametres` is 0.9 like `parameters`, `lastUpdated` 0.78 like `updated`
)
MIN_STEM = (
    4  # characters from which on a beginning stands for a field, as `params` for `parameters`
)


def refuse_mistakes(
    names: Iterable[str],
    known: Sequence[str],
    of: str = "",
    places: Mapping[str, str] | None = None,
) -> None:
    """Refuses names that are like a known field, or that belong into another object.

    Args:
        names: the fields of the object.
        known: the fields that exist.
        of: the object, as errors name it: `limits`; "" for the body.
        places: fields that belong elsewhere, each with its full name: `timeout` is `limits.timeout`.

    Raises:
        InvalidError: a field is misspelt or misplaced. The message names it and the field that is meant.
    """
    for name in names:
        if name in known:
            continue
        meant = (places or {}).get(name) or _like(name, known)
        if meant is not None:
            shown = f"{of}.{name}" if of else name
            raise InvalidError(
                "The request content was malformed:\n"
                f"the field {shown!r:.100} does not exist: did you mean {meant!r}?"
            )


def _like(name: str, known: Sequence[str]) -> str | None:
    lowered = {field.lower(): field for field in known}
    asked = name[:100].lower()
    stem = asked.removesuffix("s")
    if len(stem) >= MIN_STEM:
        for field, meant in lowered.items():
            if field.startswith(stem):
                return meant
    close = get_close_matches(asked, lowered, n=1, cutoff=LIKENESS)
    return lowered[close[0]] if close else None
