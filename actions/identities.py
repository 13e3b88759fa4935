"""The ids that users give executions, and what a start does when an execution has its id already.

An id is unique among the open executions of a namespace, whatever their actions are.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, TypeAlias

from ..composer import frozen
from .errors import AlreadyCompletedError, AlreadyStartedError, InvalidError, InvalidIdError
from .starting import CLOSED_POLICIES, OPEN_POLICIES

if TYPE_CHECKING:
    from .errors import TakenIdError
    from .starting import StartOptions

MAX_ID = 255  # characters
MAX_TOKEN = 255
COUNT = "count"  # what a path has in the place of an id
DOTS = (".", "..")  # clients take them out of paths
_RUN = re.compile(r"[0-9a-f]{32}", re.IGNORECASE)
_BAD = ("Cc", "Cs")  # control characters, and halves of characters


@frozen
class Known:
    """The newest run with an id.

    Args:
        run: its id.
        open: True while it has not ended.
        succeeded: True if it has ended, and succeeded.
        digest: of its action and input; "" if that is not known.
    """

    run: str
    open: bool
    succeeded: bool = False
    digest: str = ""


@frozen
class Start:
    """The execution starts."""


@frozen
class Use:
    """The start stands for a run that is there: the caller gets the id, or the result, of that one."""

    run: str


@frozen
class Replace:
    """The open run ends, and the execution starts in the same commit."""

    run: str


@frozen
class Refuse:
    """The start is refused."""

    error: type[TakenIdError]
    text: str
    run: str


Decision: TypeAlias = Start | Use | Replace | Refuse


def decided(options: StartOptions, digest: str, known: Known | None) -> Decision:
    """What a start does.

    Args:
        options: of the start, with an id.
        digest: of its action and input.
        known: the newest run with its id; None if there is none, or none is kept.
    """
    if known is None:
        return Start()
    if known.open:
        return _while_open(options, digest, known)
    if options.on_closed == "allow" or (
        options.on_closed == "allow_failed" and not known.succeeded
    ):
        return Start()
    how = "has succeeded" if known.succeeded else "has ended"
    text = (
        f"The execution '{options.id}' {how} already, as run {known.run}. Start it under another "
        f"id, or with on_closed 'allow' instead of '{options.on_closed}'."
    )
    return Refuse(AlreadyCompletedError, text, known.run)


def _while_open(options: StartOptions, digest: str, known: Known) -> Decision:
    match options.on_open:
        case "use":
            return Use(known.run)
        case "same" if digest == known.digest:
            return Use(known.run)
        case "terminate":
            return Replace(known.run)
    other = " with another action or input" if options.on_open == "same" else ""
    text = (
        f"The execution '{options.id}' is open{other}, as run {known.run}. Start it under another "
        "id, wait until it has ended, or say by on_open what is to happen: 'use' or 'terminate'."
    )
    return Refuse(AlreadyStartedError, text, known.run)


def check_options(options: StartOptions) -> None:
    """Checks the id and the policies of a start.

    Raises:
        InvalidIdError: the id cannot be one.
        InvalidError: a policy is not known, or is given without an id.
    """
    if options.id:
        check_id(options.id)
    for name, value, usual, known in (
        ("on_open", options.on_open, "fail", OPEN_POLICIES),
        ("on_closed", options.on_closed, "allow", CLOSED_POLICIES),
    ):
        if value not in known:
            raise InvalidError(f"'{name}' must be one of {', '.join(known)}, not {value!r:.80}.")
        if value != usual and not options.id:
            raise InvalidError(f"'{name}' is given without 'id': give the execution an id, too.")


def check_id(id: str) -> None:
    """Checks the id that a user gives an execution.

    Raises:
        InvalidIdError: it cannot be one.
    """
    if not 0 < len(id) <= MAX_ID:
        raise InvalidIdError(
            f"The id of an execution must have 1 to {MAX_ID} characters, not {len(id)}."
        )
    if id == COUNT:
        raise InvalidIdError(
            f"The id of an execution must not be '{COUNT}', which is the number of executions in paths: "
            "add another character."
        )
    if id in DOTS:
        raise InvalidIdError(
            f"The id of an execution must not be '{id}', which means a folder in URLs: add another "
            "character."
        )
    bad = next((char for char in id if unicodedata.category(char) in _BAD), None)
    if bad is not None:
        raise InvalidIdError(
            f"The id of an execution must not have control characters: {bad!r} is one."
        )
    if _RUN.fullmatch(id):
        raise InvalidIdError(
            "The id of an execution must not be 32 hexadecimal digits, which are the id of a run: "
            "add another character."
        )


def check_token(token: str) -> None:
    """Checks the token, or idempotency key, of a start.

    Raises:
        InvalidError: it is empty, too long, or not printable.
    """
    if not (0 < len(token) <= MAX_TOKEN and token.isascii() and token.isprintable()):
        raise InvalidError(
            f"A token (or Idempotency-Key) must have 1 to {MAX_TOKEN} printable ASCII characters."
        )


def is_run(id: str) -> bool:
    """True if an id is one that the server makes for a run, not one that a user gives."""
    return _RUN.fullmatch(id) is not None and id == id.lower()
