"""The ports of the hosted conductor, a table and an outbox, and the contents of a bundle.

Only JSON passes through them. An implementation for a cloud keeps the laws written here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ....composer import DIALECTS, Program

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ....composer import JSON

DEFAULT_TIMEOUT_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of an action.

    timeout_ms: its host stops it after this time.
    at_most_once: it is never invoked again if no answer comes.
    parameters: its default parameters.
    answers_later: its result comes by its completion token, and not as the value that it returns.
    """

    timeout_ms: int = DEFAULT_TIMEOUT_MS
    at_most_once: bool = False
    parameters: dict[str, JSON] = field(default_factory=dict)
    answers_later: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """The contents of a bundle: programs and actions by their names, `/_/name`."""

    programs: dict[str, Program]
    actions: dict[str, Settings]

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Deployed:
        """Reads `{"programs": {name: program}, "actions": {name: settings}}`, as the bundler wrote it."""
        return cls(
            programs={
                name: Program.from_json(program, DIALECTS)
                for name, program in doc["programs"].items()
            },
            actions={name: Settings(**settings) for name, settings in doc["actions"].items()},
        )


# --- the table ---------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class Record:
    """An execution in the table.

    version: counts its transitions, from 1.
    about: `records.About` as JSON; of a program that is stored, `{"program": ...}`.
    fibers: `records.Row` as JSON, by the fiber's id; some that are gone may still be there.
    unsent: `records.Unsent` as JSON, by version.
    outcome: `{"value": ...}` or `{"code": ..., "error": ...}` once it has ended, with `ended_ms`.
    """

    id: str
    version: int
    about: dict[str, JSON]
    fibers: dict[str, dict[str, JSON]] = field(default_factory=dict)
    unsent: dict[int, dict[str, JSON]] = field(default_factory=dict)
    outcome: dict[str, JSON] | None = None
    ended_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One transition of an execution, written as a whole.

    id, version: the table must have this execution at `version - 1`; for version 1 it must not have it.
    about: with version 1 only.
    fibers: these replace the stored rows.
    dropped: fibers that are gone; removing them is best effort, and not part of the whole.
    unsent: stored under this version; `[]` if there is nothing to send.
    due_ms: when a sweep must look at the execution (a multiple of a minute); None for never.
    outcome, ended_ms: once it has ended; then all fibers are gone.
    """

    id: str
    version: int
    at_ms: int
    about: dict[str, JSON] | None = None
    fibers: dict[str, dict[str, JSON]] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    unsent: list[JSON] = field(default_factory=list)
    due_ms: int | None = None
    outcome: dict[str, JSON] | None = None
    ended_ms: int | None = None


class TooLargeError(Exception):
    """A change is larger than the table can write at once. Nothing was written."""


class Table(Protocol):
    """Stores executions.

    Laws: `load` sees every `save` and `sent` that has returned. Of several saves of one version one
    succeeds. A save that raises may have been done, unless it raises TooLargeError. A fiber or an outcome
    of `changes.ROW_BYTES` fits, and so does `unsent` of `changes.SENDS_BYTES` beside it.
    """

    def load(self, id: str) -> Record | None:
        """Returns an execution; None if no execution has this id."""

    def save(self, change: Change) -> bool:
        """Writes the whole change (at most `MAX_ROWS` fibers), or returns False and writes nothing."""

    def sent(self, id: str, version: int) -> None:
        """Removes the unsent messages of this version, and nothing else. Idempotent."""

    def due(self, now_ms: int) -> Iterable[str]:
        """Returns the executions whose `due_ms` has passed; it may lag behind, but misses none forever."""


MAX_ROWS = 90  # of one change: DynamoDB and Azure's tables write 100 at once


# --- the outbox --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """An action to run; `message` is an `ActionMessage` as JSON.

    key: two sends with one key are one message; "" if there is none. An outbox may ignore it.
    """

    action: str
    message: dict[str, JSON]
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A message to this conductor, to be `receive`d after so many seconds.

    delay_s: at most the `longest_s` of the conductor.
    key: as in `Invocation`.
    """

    message: dict[str, JSON]
    delay_s: int = 0
    key: str = ""


class Outbox(Protocol):
    """Sends messages.

    Laws: when `send` has returned, all of them come at least once, in any order; when it raises, any part
    may have been sent.
    """

    def send(self, sends: Sequence[Invocation | Note]) -> None:
        """Sends all messages, without waiting for answers."""


class Clock(Protocol):
    """The time."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
