"""Queries of executions: the built-in ones, those that a caller wants refused, and the errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .errors import GoneError, InvalidError, NotFoundError
from .messages import ClosedError

if TYPE_CHECKING:
    from collections.abc import Collection

FIBERS: Final = "$fibers"
INBOX: Final = "$inbox"
VARIABLES: Final = "$variables"
BUILT_IN: Final = (FIBERS, INBOX, VARIABLES)
REJECTIONS: Final = ("closed", "failed")
KEPT_BYTES: Final = 64 << 10  # of the answers of an execution that has ended
SUCCEEDED: Final = "succeeded"


class NoSuchQueryError(NotFoundError):
    """The execution declares no query of this name. The text has the names that exist."""

    code = "NoSuchQuery"

    def __init__(self, id: str, name: str, declared: Collection[str]) -> None:
        known = ", ".join((*declared, *BUILT_IN))
        super().__init__(f"Execution {id} has no query '{name:.80}': it has {known}.")


class InvalidQueryError(InvalidError):
    """The query has parameters that it does not take, or its answer is too large."""

    code = "InvalidQuery"


class NotKeptError(GoneError):
    """The execution has ended, and the answer was not kept."""

    code = "NotKept"


def check_rejection(reject: str) -> None:
    """Checks the condition under which a caller wants a query refused: "", `closed` or `failed`.

    Raises:
        InvalidQueryError: there is no such condition.
    """
    if reject and reject not in REJECTIONS:
        names = " or ".join(REJECTIONS)
        raise InvalidQueryError(f"reject: '{reject:.80}' is not known: give {names}.")


def refuse_ended(reject: str, id: str, status: str) -> None:
    """Refuses a query of an execution that has ended with this status, if the caller wants that.

    Raises:
        ClosedError: it does.
    """
    if reject == "closed" or (reject == "failed" and status != SUCCEEDED):
        raise ClosedError(f"Execution {id} has ended: it has {status.replace('_', ' ')}.")


def not_kept(id: str, name: str) -> NotKeptError:
    """The error for an answer that was not kept when its execution ended."""
    why = (
        f"the answers took more than {KEPT_BYTES} bytes together"
        if name not in BUILT_IN
        else "an execution keeps variables only if it declares queries, and only up to "
        f"{KEPT_BYTES} bytes"
    )
    return NotKeptError(
        f"Execution {id} has ended, and the answer to '{name}' was not kept: {why}."
    )
