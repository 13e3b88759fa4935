"""The numbers that operators give limits. They are documents, and win over those of compositions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....actions import InvalidError, checked_bound
from ....composer import Bound
from ..named_settings import Form

if TYPE_CHECKING:
    from ....composer import JSON

MEMBERS = ("concurrent", "per_minute")
MAX_NAME = 512  # characters


def bound_of(doc: JSON) -> Bound:
    """The numbers that a document sets; those that it leaves out bound nothing.

    Raises:
        InvalidError: a member is malformed. The message names it.
    """
    if not isinstance(doc, dict):
        raise InvalidError("The request content was malformed:\nthe body must be a JSON object")
    for name in doc:
        if name not in MEMBERS:
            raise InvalidError(
                f"The request content was malformed:\n{name!r:.100} is not a number of a limit, which "
                f"has {' and '.join(MEMBERS)}"
            )
    return checked_bound("", doc)


def check_limit(name: str) -> None:
    """Checks the name of a limit: a composition's, or that of a part.

    Raises:
        InvalidError: it cannot be one.
    """
    if not 0 < len(name) <= MAX_NAME or not name.isprintable() or "/" in name:
        raise InvalidError(
            "The request content was malformed:\n'limit' must be the name of a limit: 1 to "
            f"{MAX_NAME} characters without '/', not {name!r:.100}"
        )


LIMIT_SETTINGS = Form("limit", check_limit, bound_of, Bound.to_json)
