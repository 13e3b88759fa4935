"""A request whose operations are performed one after the other, on a copy of the state."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..composer import APPLICATION_ERROR, Failure, boxed, frozen, measured
from .errors import BAD_OPERATION, STATE_TOO_LARGE, refusal
from .protocol import Operate

if TYPE_CHECKING:
    from collections import deque

    from ..actions import EntitySettings
    from ..composer import JSON, Outcome
    from .effects import Request
    from .protocol import Call, Transaction, Work
    from .records import Row

GET, DELETE, LOCK, UNLOCK = "$get", "$delete", "$lock", "$unlock"  # every entity has these
MAX_RESULTS = (1 << 20) - (1 << 14)  # bytes of the results of one message: a vote carries them


@dataclass(slots=True)
class WorkingCopy:
    """The state as a transaction has changed it so far; nothing of it is stored.

    `kept`: it outlasts the transaction's deadline, see `Work`.
    """

    transaction: Transaction
    state: JSON
    schema: int
    number: int = 0
    last: Outcome | None = None
    kept: bool = False

    def late(self, now_ms: int) -> bool:
        """True if it has outlasted the transaction's deadline and must be dropped."""
        return not self.kept and self.transaction.past(now_ms)

    def answered(self, message: Work, outcome: Outcome) -> None:
        """Records the answer to one more message."""
        self.number, self.last = message.number, outcome


@frozen
class Performed:
    """The state after operations, the version of the entity type that wrote it, and the results."""

    state: JSON
    schema: int
    results: tuple[dict[str, JSON], ...] = ()


@dataclass(slots=True)
class ActiveRequest:
    """The request that an entity works on: the calls that are left, the state, and the results.

    `schema` is the version of the entity type that wrote the state; `settings` are the type's when the
    request began. `row` is the entity's row when the request began, with the changes of its flag.
    """

    request: Request
    calls: deque[Call]
    state: JSON
    schema: int
    settings: EntitySettings
    row: Row
    room: int = MAX_RESULTS
    results: list[dict[str, JSON]] = field(default_factory=list)
    dropped: bool = False

    @property
    def upgraded(self) -> bool:
        """True if the type's code can read the state: both have the same version."""
        return self.state is None or self.schema == self.settings.version

    @property
    def performed(self) -> Performed:
        return Performed(self.state, self.schema, tuple(self.results))

    def perform_built_in(self) -> Failure | None:
        """Performs an operation that every entity has. Returns the reason if it must not."""
        call, message, row = self.calls.popleft(), self.request.message, self.row
        match call.operation:
            case "$get":
                seen: dict[str, JSON] = {
                    "state": self.state,
                    "version": row.version,
                    "flag": row.flag,
                }
                self.results.append(seen)
            case "$delete":
                self.state = None
                self.results.append({})
            case "$lock" | "$unlock" if isinstance(message, Operate) and message.by is not None:
                self.row = replace(row, flag=message.by if call.operation == LOCK else None)
                self.results.append({"flag": self.row.flag})
            case _:
                return refusal(
                    BAD_OPERATION, f"entities have no operation {call.operation!r:.80} here"
                )
        return None

    def take(self, answer: JSON) -> Failure | None:
        """Takes the answer of an operation. Returns the reason if the answer is not allowed."""
        made = boxed(answer)
        state = made.get("state", self.state)
        if not self.upgraded:
            self.state, self.schema = state, self.settings.version
            return None
        call = self.calls.popleft()
        if call.read and state != self.state:
            text = (
                f"the operation {call.operation!r} was called with read, but it changes the state"
            )
            return refusal(BAD_OPERATION, text)
        limit = self.settings.state_bytes
        if state is not self.state and measured(state, limit) > limit:
            return refusal(
                STATE_TOO_LARGE,
                f"the new state takes more than {limit} bytes, the limit of the entity type",
            )
        result = boxed(made.get("result", {}))
        if "error" in result:  # the caller would see a failure, and a failure has no effect
            return Failure(APPLICATION_ERROR, result["error"])
        self.room -= measured(result, self.room)
        if self.room < 0:
            return refusal(
                BAD_OPERATION,
                "the results take more than a message can hold: return less, or split the calls",
            )
        self.state, self.schema = state, self.settings.version
        self.results.append(result)
        return None


def reads(call: Call) -> bool:
    """True if a call leaves the state as it is."""
    return call.operation == GET or (call.read and not call.operation.startswith("$"))
