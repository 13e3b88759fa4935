"""Messages to an entity, read from the parameters that its action is invoked with.

An operation of its own accord:

    {"key", "operation", "params"?, "read"?, "expected_version"?, "by"?, "token"?, "undoes"?}

In a transaction, with `"transaction": {"id", "kind", "deadline", "started"?, "number"?, "order"?,
"coordinator"?, "epoch"?}` beside the key, by kind:

    work            one operation, or "operations", on the transaction's own copy; `number` counts
                    these messages here from 1
    prepare         vote; with "operations" they are run first, else so many (`number`) must have been
    prepare_commit  the same, and a yes is the decision: for a transaction's last or only participant
    commit, abort   the decision; answered with {"done": kind} however often it comes

A vote is `{"vote": "yes" | "read" | "committed" | "no", "results"?, "reason"?, "retryable"?}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from ..composer import Error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..composer import JSON

UPGRADE = "upgrade"  # the operation that turns state of an older version into today's
MAX_KEY = 512  # characters of an entity's key
_NAME = f"a string of 1 to {MAX_KEY} printable characters"
MAX_OPERATIONS = 1_000  # of one transaction on one entity
MAX_LOCK_MS = 600_000  # that a transaction may hold a lock it has not prepared


class MessageError(Error):
    """A message to an entity is malformed; the text names the field."""


Order: TypeAlias = Literal["declared", "wait", "nowait"]
"""How a transaction takes its locks: in the order of the keys, by age, or at once or not at all."""


@dataclass(frozen=True, slots=True)
class Call:
    """One operation, with its parameters; `read` when it leaves the state as it is."""

    operation: str
    params: JSON
    read: bool = False


@dataclass(frozen=True, slots=True)
class Transaction:
    """Whose message it is. `started_ms` is kept when it is tried again: the older goes first.

    After `deadline_ms` it can prepare no more, and its locks are let go of where it has not.

    `coordinator` says who knows the decision, for a participant that has been left in doubt.
    """

    id: str
    started_ms: int
    deadline_ms: int
    order: Order = "declared"
    coordinator: str | None = None
    epoch: int = 0

    def past(self, now_ms: int) -> bool:
        """Whether it can prepare no more."""
        return self.deadline_ms <= now_ms

    @property
    def age(self) -> tuple[int, str]:
        """Of two transactions the older has the lesser one."""
        return self.started_ms, self.id


@dataclass(frozen=True, slots=True)
class Operate:
    """An operation of its own accord, by `by` if that may hold the entity's flag.

    `token` is the same each time that the same operation is asked for; what is to undo another names
    that one's: if that has not come, it never will have.
    """

    call: Call
    expected_version: int | None = None
    by: str | None = None
    token: str | None = None
    undoes: str | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """`several` when its answer is a list of results, as a declared transaction's is."""

    transaction: Transaction
    number: int
    calls: tuple[Call, ...]
    several: bool = False
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Prepare:
    """`calls` None: those that it has worked, `number` of them."""

    transaction: Transaction
    number: int
    calls: tuple[Call, ...] | None
    commits: bool = False
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Decide:
    transaction: Transaction
    commits: bool


Message: TypeAlias = Operate | Work | Prepare | Decide


def key_of(params: Mapping[str, JSON]) -> str:
    """The key of the entity that is meant.

    Raises:
        MessageError: when it is missing or no key.
    """
    key = params.get("key")
    if not _is_name(key):
        raise MessageError(f"'key' must be {_NAME}, not {key!r:.80}")
    assert isinstance(key, str)  # noqa: S101  or it would be no name
    return key


def _is_name(value: JSON) -> bool:
    return type(value) is str and 0 < len(value) <= MAX_KEY and value.isprintable()


def parsed(params: Mapping[str, JSON]) -> Message:
    """The message that an entity's action is invoked with.

    Raises:
        MessageError: naming the field that is wrong.
    """
    about = params.get("transaction")
    if about is None:
        version = params.get("expected_version")
        if version is not None:
            _number(version, "expected_version", 0)
        names = [_text(params.get(name), name) for name in ("by", "token", "undoes")]
        return Operate(_call(params), version, *names)
    if not isinstance(about, dict):
        raise MessageError(f"'transaction' must be an object, not {about!r:.80}")
    transaction, kind = _transaction(about), about.get("kind")
    match kind:
        case "work":
            number = _number(about.get("number"), "transaction.number", 1)
            calls, by = _calls(params), _text(params.get("by"), "by")
            if calls is not None:
                return Work(transaction, number, calls, several=True, by=by)
            return Work(transaction, number, (_call(params),), by=by)
        case "prepare" | "prepare_commit":
            number = _number(about.get("number", 0), "transaction.number", 0)
            by = _text(params.get("by"), "by")
            return Prepare(transaction, number, _calls(params), kind == "prepare_commit", by)
        case "commit" | "abort":
            return Decide(transaction, kind == "commit")
        case _:
            raise MessageError(
                "'transaction.kind' must be work, prepare, prepare_commit, commit or abort, "
                f"not {kind!r:.80}"
            )


def _transaction(about: dict[str, JSON]) -> Transaction:
    id, order = about.get("id"), about.get("order", "declared")
    if not _is_name(id):
        raise MessageError(f"'transaction.id' must be {_NAME}, not {id!r:.80}")
    assert isinstance(id, str)  # noqa: S101  or it would be no name
    if order not in ("declared", "wait", "nowait"):
        raise MessageError(
            f"'transaction.order' must be declared, wait or nowait, not {order!r:.80}"
        )
    deadline = _number(about.get("deadline"), "transaction.deadline", 0)
    started = _number(about.get("started", 0), "transaction.started", 0)
    epoch = _number(about.get("epoch", 0), "transaction.epoch", 0)
    return Transaction(id, started, deadline, order, about.get("coordinator"), epoch)


def _call(params: Mapping[str, JSON]) -> Call:
    operation, given = params.get("operation"), params.get("params")
    if type(operation) is not str or not operation:
        raise MessageError(f"'operation' must be the name of one, not {operation!r:.80}")
    if operation == UPGRADE:
        raise MessageError(f"'operation' must not be {UPGRADE!r}: that is asked for when it is due")
    if given is None:
        given = {}
    if type(given) is not dict:
        raise MessageError(f"'params' must be an object, not {given!r:.80}")
    return Call(operation, given, params.get("read") is True)


def _calls(params: Mapping[str, JSON]) -> tuple[Call, ...] | None:
    given = params.get("operations")
    if given is None:
        return None
    if type(given) is not list or not 0 < len(given) <= MAX_OPERATIONS:
        raise MessageError(f"'operations' must be a list of 1 to {MAX_OPERATIONS} operations")
    if not all(type(item) is dict for item in given):
        raise MessageError("'operations' must be objects: {'operation', 'params'?, 'read'?}")
    return tuple(map(_call, given))


def _text(value: JSON, field: str) -> str | None:
    if value is None:
        return None
    if not _is_name(value):
        raise MessageError(f"'{field}' must be {_NAME}, not {value!r:.80}")
    return str(value)


def _number(value: JSON, field: str, least: int) -> int:
    if type(value) is not int or value < least:
        raise MessageError(f"'{field}' must be a whole number, {least} or more, not {value!r:.80}")
    return value
