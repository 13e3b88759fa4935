"""What the hosted conductor needs of a cloud: a table and an outbox. And what a bundle holds.

All that goes through them is JSON. Whoever implements them for a cloud holds to the laws written here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ....composer import DIALECTS, Program

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ....composer import JSON

DEFAULT_TIMEOUT_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """An action as the conductor knows it.

    timeout_ms: after which its host stops it.
    at_most_once: it is never sent again when no answer comes.
    parameters: its default parameters.
    """

    timeout_ms: int = DEFAULT_TIMEOUT_MS
    at_most_once: bool = False
    parameters: dict[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """What a bundle holds: programs by the composition's name, actions by theirs, both `/_/name`."""

    programs: dict[str, Program]
    actions: dict[str, Settings]

    @classmethod
    def from_json(cls, doc: JSON) -> Deployed:
        """Reads `{"programs": {name: program}, "actions": {name: settings}}`."""
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
    """An execution as the table has it.

    version: counts its transitions, from 1.
    about: what never changes: `{"composition", "program", "started_ms", "reply", "depth", "given"?}`; `given` is a
        digest of the parameters, where the id stands for a key of the caller's.
    fibers: by id, `{"fiber": {...}, "asked": ms, "tries": n}`; some that are gone may still be there.
    unsent: by version, `{"at": ms, "sends": [...]}`: what may not have been sent yet.
    outcome: `{"value": ...}` or `{"code": ..., "error": ...}` once it has ended, with `ended_ms`.
    """

    id: str
    version: int
    about: dict[str, JSON]
    fibers: dict[str, JSON] = field(default_factory=dict)
    unsent: dict[int, dict[str, JSON]] = field(default_factory=dict)
    outcome: dict[str, JSON] | None = None
    ended_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One transition of an execution, to be written as a whole.

    id, version: the table must have this execution at `version - 1`; with 1 it must not have it.
    about: with version 1, and never again.
    fibers: what takes the place of what was stored of them.
    dropped: fibers that are gone; removing them is best effort, and no part of the whole.
    unsent: goes under this version; `[]` when there is nothing to send.
    due_ms: when a sweep must look at it (a multiple of a minute); None when never.
    outcome, ended_ms: once it has ended; then all fibers are gone.
    """

    id: str
    version: int
    at_ms: int
    about: dict[str, JSON] | None = None
    fibers: dict[str, JSON] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    unsent: list[JSON] = field(default_factory=list)
    due_ms: int | None = None
    outcome: dict[str, JSON] | None = None
    ended_ms: int | None = None


class TooLargeError(Exception):
    """A change takes more than the table can write at once. Nothing has been written."""


class Table(Protocol):
    """Where executions are kept.

    Laws: `load` sees every `save` and `sent` that has returned. Of several saves of one version one
    succeeds. A save that raises may have been done, unless it raises TooLargeError. A fiber or an outcome
    of `writing.ROW_BYTES` fits, and so does `unsent` of `writing.SENDS_BYTES` beside it.
    """

    def load(self, id: str) -> Record | None:
        """An execution; None when there is none."""

    def save(self, change: Change) -> bool:
        """Writes all of it (at most `MAX_ROWS` fibers), or answers False and writes nothing."""

    def sent(self, id: str, version: int) -> None:
        """Forgets what was unsent under this version, and nothing else; done twice it is done once."""

    def due(self, now_ms: int) -> Iterable[str]:
        """The executions whose `due_ms` has come; may lag behind, but misses none for ever."""


MAX_ROWS = 90  # of one change: DynamoDB and Azure's tables write 100 at once


# --- the outbox --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """An action to run: `message` is what its wrapper takes, see `wrapping`."""

    action: str
    message: dict[str, JSON]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A message to this conductor, to be `receive`d once so many seconds have passed (at most 900)."""

    message: dict[str, JSON]
    delay_s: int = 0


class Outbox(Protocol):
    """Sends.

    Laws: what `send` returned from comes at least once, in any order; when it raises, any part of it
    may have been sent.
    """

    def send(self, sends: Sequence[Invocation | Note]) -> None:
        """Sends all of it, without waiting for what comes of it."""


class Clock(Protocol):
    """The time."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
