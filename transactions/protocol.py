"""Messages to an entity, read from the parameters that its action is invoked with.

An operation outside transactions:

    {"key", "operation", "params"?, "read"?, "expected_version"?, "by"?, "token"?, "undoes"?}

In a transaction, with `"transaction": {"id", "kind", "deadline", "started"?, "number"?, "order"?,
"coordinator"?, "epoch"?}` and the key, by kind:

    work            one operation, or "operations", on the transaction's own copy; `number` counts
                    these messages here from 1
    prepare         vote; performs "operations" first, or requires `number` messages of work before
    prepare_commit  the same, and a yes is the decision: for a transaction's last or only participant
    commit, abort   the decision; answered with {"done": kind} however often it comes

A vote is `{"vote": "yes" | "read" | "committed" | "no", "results"?, "reason"?, "retryable"?}`.

A composition asks its own server for a whole transaction, which no entity takes as a message:

    {"transaction": {..., "kind": "transact"}, "participants": [{"action", "key", "operations" | "number"}]}

It is answered with a vote of "no", with `{"vote": "apart"}` if the server leaves it to the messages above, or
with `{"vote": "committed", "participants": [the results of each, or null for one that has worked before]}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard

from ..composer import Error, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..composer import JSON

TRANSACT, APART = "transact", "apart"
UPGRADE = "upgrade"  # the operation that turns state of an older version into the current one
MAX_KEY = 512  # characters of an entity's key
_NAME = f"a string of 1 to {MAX_KEY} printable characters"
MAX_OPERATIONS = 1_000  # in one message
MAX_LOCK_MS = 600_000  # until the deadline of a transaction: it holds no unprepared lock for longer


class MessageError(Error):
    """A message to an entity is malformed; the text names the field."""


Order: TypeAlias = Literal["declared", "wait", "nowait"]
"""The order in which a transaction takes its locks: by key, by age, or without waiting."""
_ORDERS: dict[str, Order] = {"declared": "declared", "wait": "wait", "nowait": "nowait"}


@frozen
class Call:
    """One operation, with its parameters; `read` if it leaves the state as it is."""

    operation: str
    params: JSON
    read: bool = False


@frozen
class Transaction:
    """The transaction of a message.

    A transaction that is retried keeps `started_ms`: the older transaction has precedence. After
    `deadline_ms` it cannot prepare, and participants that have not prepared release their locks.
    A participant in doubt asks `coordinator` for the decision.
    """

    id: str
    started_ms: int
    deadline_ms: int
    order: Order = "declared"
    coordinator: str | None = None
    epoch: int = 0

    def past(self, now_ms: int) -> bool:
        """True if the transaction is too late to prepare."""
        return self.deadline_ms <= now_ms

    @property
    def age(self) -> tuple[int, str]:
        """The older of two transactions has the lesser age."""
        return self.started_ms, self.id

    def to_json(self) -> JSON:
        return [
            self.id, self.started_ms, self.deadline_ms, self.order, self.coordinator, self.epoch
        ]  # fmt: skip

    @classmethod
    def from_json(cls, doc: Any) -> Transaction:
        """Reads what `to_json` has written."""
        return cls(*doc)


@frozen
class Operate:
    """An operation outside transactions; `by` is the holder of the entity's flag, if it is one.

    `token` identifies the operation when it is requested again. `undoes` is the token of the operation
    to undo: if that operation has not come yet, it is refused when it comes.
    """

    call: Call
    expected_version: int | None = None
    by: str | None = None
    token: str | None = None
    undoes: str | None = None


@frozen
class Work:
    """Operations on the transaction's copy. `several`: the answer is a list of results.

    `kept`: whoever asks ends the transaction here with `Participant.conclude`, so that its copy and its lock
    outlast its deadline once they are had.
    """

    transaction: Transaction
    number: int
    calls: tuple[Call, ...]
    several: bool = False
    by: str | None = None
    kept: bool = False


@frozen
class Prepare:
    """A request to vote. `calls` None: `number` messages of work must have come before."""

    transaction: Transaction
    number: int
    calls: tuple[Call, ...] | None
    commits: bool = False
    by: str | None = None


@frozen
class Decide:
    """The coordinator's decision."""

    transaction: Transaction
    commits: bool


@frozen
class Share:
    """The part that an entity has in a whole transaction. `calls` None: it has done `number` messages of work."""

    action: str
    key: str
    calls: tuple[Call, ...] | None
    number: int


Message: TypeAlias = Operate | Work | Prepare | Decide


def key_of(params: Mapping[str, JSON]) -> str:
    """Returns the key of the entity that a message is for.

    Raises:
        MessageError: if the key is missing or malformed.
    """
    key = params.get("key")
    if not _is_name(key):
        raise MessageError(f"'key' must be {_NAME}, not {key!r:.80}")
    return key


def _is_name(value: JSON) -> TypeGuard[str]:
    return type(value) is str and 0 < len(value) <= MAX_KEY and value.isprintable()


def parsed(params: Mapping[str, JSON]) -> Message:
    """Reads the message that an entity's action is invoked with.

    Raises:
        MessageError: if a field is wrong; the text names it.
    """
    about = params.get("transaction")
    if about is None:
        given = params.get("expected_version")
        version = None if given is None else _number(given, "expected_version", 0)
        by, token, undoes = params.get("by"), params.get("token"), params.get("undoes")
        return Operate(
            _call(params),
            version,
            None if by is None else _text(by, "by"),
            None if token is None else _text(token, "token"),
            None if undoes is None else _text(undoes, "undoes"),
        )
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


def whole(params: Mapping[str, JSON]) -> tuple[Transaction, tuple[Share, ...]] | None:
    """Reads the message that asks for a whole transaction; None if it is another message.

    Raises:
        MessageError: if a field is wrong; the text names it.
    """
    about = params.get("transaction")
    if not isinstance(about, dict) or about.get("kind") != TRANSACT:
        return None
    given = params.get("participants")
    if type(given) is not list or not given:
        raise MessageError("'participants' must be a list of at least one participant")
    return _transaction(about), tuple(map(_share, given))


def _share(given: JSON) -> Share:
    if type(given) is not dict:
        raise MessageError(
            "'participants' must be objects: {'action', 'key', 'operations' or 'number'}"
        )
    action, calls = given.get("action"), _calls(given)
    if not _is_name(action):
        raise MessageError(f"'action' must be {_NAME}, not {action!r:.80}")
    number = 0 if calls is not None else _number(given.get("number"), "number", 1)
    return Share(action, key_of(given), calls, number)


def _transaction(about: dict[str, JSON]) -> Transaction:
    id, given, coordinator = (
        about.get("id"),
        about.get("order", "declared"),
        about.get("coordinator"),
    )
    if not _is_name(id):
        raise MessageError(f"'transaction.id' must be {_NAME}, not {id!r:.80}")
    order = _ORDERS.get(given) if type(given) is str else None
    if order is None:
        raise MessageError(
            f"'transaction.order' must be declared, wait or nowait, not {given!r:.80}"
        )
    deadline = _number(about.get("deadline"), "transaction.deadline", 0)
    started = _number(about.get("started", 0), "transaction.started", 0)
    epoch = _number(about.get("epoch", 0), "transaction.epoch", 0)
    known = coordinator if isinstance(coordinator, str) else None
    return Transaction(id, started, deadline, order, known, epoch)


def _call(params: Mapping[str, JSON]) -> Call:
    operation, given = params.get("operation"), params.get("params")
    if type(operation) is not str or not operation:
        raise MessageError(f"'operation' must be the name of an operation, not {operation!r:.80}")
    if operation == UPGRADE:
        raise MessageError(
            f"'operation' must not be {UPGRADE!r}: the server calls it when it is due"
        )
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
    objects = [item for item in given if type(item) is dict]
    if len(objects) < len(given):
        raise MessageError("'operations' must be objects: {'operation', 'params'?, 'read'?}")
    return tuple(map(_call, objects))


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
