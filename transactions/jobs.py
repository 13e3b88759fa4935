"""A request being run: its operations one after the other, on a copy of the state."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..composer import APPLICATION_ERROR, Failure, boxed, measured
from .errors import BAD_OPERATION, STATE_TOO_LARGE, refusal
from .protocol import Operate

if TYPE_CHECKING:
    from collections import deque

    from ..actions import EntitySettings
    from ..composer import JSON, Outcome
    from .effects import Request
    from .protocol import Call, Transaction, Work
    from .records import Row

GET, DELETE, LOCK, UNLOCK = "$get", "$delete", "$lock", "$unlock"  # what every entity can do
MAX_RESULTS = (1 << 20) - (1 << 14)  # bytes of what a message's operations return: votes carry it


@dataclass(slots=True)
class Copy:
    """What a transaction has done to an entity so far: nothing of it is written."""

    transaction: Transaction
    state: JSON
    schema: int
    number: int = 0
    last: Outcome | None = None

    def done(self, message: Work, outcome: Outcome) -> None:
        """One more message has been answered."""
        self.number, self.last = message.number, outcome


@dataclass(slots=True)
class Job:
    """A request being run: what is left of it, on which state, and what has come of it.

    `schema` is the version of the type that the state is of; `settings` are the type's, as it was when
    this began. `row` is the entity as it was, and as the request leaves it but for the state.
    """

    request: Request
    calls: deque[Call]
    state: JSON
    schema: int
    settings: EntitySettings
    row: Row
    room: int = MAX_RESULTS
    results: list[JSON] = field(default_factory=list)
    dropped: bool = False

    @property
    def upgraded(self) -> bool:
        """Whether the state is of the version that the type's code knows."""
        return self.state is None or self.schema == self.settings.version

    def built_in(self) -> Failure | None:
        """Does what every entity can do; or why not."""
        call, message, row = self.calls.popleft(), self.request.message, self.row
        match call.operation:
            case "$get":
                seen = {"state": self.state, "version": row.version, "flag": row.flag}
                self.results.append(seen)
            case "$delete":
                self.state = None
                self.results.append({})
            case "$lock" | "$unlock" if isinstance(message, Operate) and message.by is not None:
                self.row = replace(row, flag=message.by if call.operation == LOCK else None)
                self.results.append({"flag": self.row.flag})
            case _:
                return refusal(BAD_OPERATION, f"no entity does {call.operation!r:.80} here")
        return None

    def take(self, answer: JSON) -> Failure | None:
        """Takes in what an operation has made; or why that may not be."""
        made = boxed(answer)
        state = made.get("state", self.state)
        if not self.upgraded:
            self.state, self.schema = state, self.settings.version
            return None
        call = self.calls.popleft()
        if call.read and state != self.state:
            text = f"the operation {call.operation!r} is called to read, and changes the state"
            return refusal(BAD_OPERATION, text)
        limit = self.settings.state_bytes
        if state is not self.state and measured(state, limit) > limit:
            return refusal(STATE_TOO_LARGE, f"the state would take more than {limit} bytes")
        result = boxed(made.get("result", {}))
        if (
            "error" in result
        ):  # whoever asks would take it for a failure, and that must have no effect
            return Failure(APPLICATION_ERROR, result["error"])
        self.room -= measured(result, self.room)
        if self.room < 0:
            return refusal(BAD_OPERATION, "the results take more than a message may have")
        self.state, self.schema = state, self.settings.version
        self.results.append(result)
        return None


def reads(call: Call) -> bool:
    """Whether a call leaves the state as it is."""
    return call.operation == GET or (call.read and not call.operation.startswith("$"))
