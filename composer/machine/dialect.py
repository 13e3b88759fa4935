"""The port between a language and the machine, and the languages that a program may be in.

The machine advances fibers; it knows no language. A language brings instructions and frames of its own, and
defines the meaning of the machine's moments: a step was accepted, has completed, has failed, branches have
joined, a deadline has passed. Everything else belongs to the machine: turns, stale events, joins, retries and
handlers of its own frames, cancellation, limits, storage and redrive.

Signals, events, messages and verdicts that outsiders send to a running execution have no wait and no
event yet. They need one of each, for all languages, in `fiber.Wait` and `events.Event`; a dialect will
then say by a method of this port what their arrival means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ..errors import ProgramError
from ..freezing import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal

    from ..values import JSON, Failure, Outcome
    from .commands import Invoke
    from .cursor import Cursor, NarratedEvent, Reaction
    from .events import Accepted, Completed, Event, Failed, Joined
    from .frames import Deadline, Frame, OwnFrame
    from .history import StoredEntry
    from .instructions import Instruction
    from .stored import Document
    from .unwind_reasons import UnwindReason
    from .waits import Joining

Operation: TypeAlias = "Callable[[Cursor, Any], Reaction]"
"""Runs an instruction, with the program counter already on the next one; see `operations`."""

CommandMaker: TypeAlias = "Callable[[Cursor, Any, int], Invoke | Failure]"
"""Makes the command of an instruction for the wait of a turn; the same again after a crash."""

FrameUnwinder: TypeAlias = "Callable[[Cursor, Any, UnwindReason], UnwindReason | None]"
"""Unwinds a frame that has just been popped. Returns the reason that goes on, or None if unwinding stops."""


@frozen
class Iterations:
    """The bounds of a language's own fork: how many members run at once, and how many may fail.

    If `tolerated` is None, the first failure decides. Otherwise the members are counted by how they end, they
    have events of their own, and `exceeded` is the outcome when too many have failed.
    """

    to: int
    concurrency: int | None
    tolerated: int | None
    exceeded: Failure

    @property
    def errors(self) -> Literal["fail", "wait"]:
        return "fail" if self.tolerated is None else "wait"

    @property
    def counted(self) -> bool:
        """True if failures are counted."""
        return self.tolerated is not None


BoundsReader: TypeAlias = "Callable[[Any, JSON], Iterations]"
"""Reads the bounds of a fork from its instruction and the value of its fiber."""


# --- the moments of an execution that a language may narrate ---------------------------------------


@frozen
class Started:
    """The execution begins, with these frames."""

    frames: tuple[Frame, ...]


@frozen
class Redriven:
    """The execution is redriven, for the `generation`th time."""

    generation: int


@frozen
class AskedAgain:
    """A redrive asks again for the step that the cursor stands at."""

    cursor: Cursor


@frozen
class MemberFailed:
    """A member of a fork has failed: the one at `index`, forked by `instruction` of a fiber with `frames`."""

    instruction: Instruction
    index: int
    frames: tuple[Frame, ...]


@frozen
class Ended:
    """The execution has ended."""

    outcome: Outcome


Moment: TypeAlias = Started | Redriven | AskedAgain | MemberFailed | Ended


@frozen
class Narration:
    """The words for a moment: numbered events, and members for the detail of its history entry."""

    events: tuple[NarratedEvent, ...] = ()
    detail: tuple[tuple[str, JSON], ...] = ()


SILENT = Narration()


# --- the port --------------------------------------------------------------------------------------


class Dialect(Protocol):
    """The port of a language: its instructions, its frames, and its rules for the machine's moments.

    Attributes:
        name: the language's name; a program stores it.
        mark: the instruction that every program of the language has, if programs were stored before they
            named a language. Such programs do not name it, so that their hashes stay as they are.
        operations: every instruction that its programs may have, the machine's and its own, each with its
            operation.
        commands: every instruction that asks for something, each with the command it makes. Such an
            instruction stands just before the program counter while its fiber waits, and has a `path`.
        forks: its own instructions that fork, each with how its members are awaited. The value of the
            fiber then holds the `items` that the members start with, and the bounds that an operator may
            change; the instruction has a `to`, and the members begin at the instruction after it.
        frames: the frames it adds, each with how it is unwound.
        numbers: its history consists of numbered events. Then nothing of a fiber is held back, and no
            step stands in the history only, because a number must never be given twice.
        introduces: its executions have a name and a pinned definition, and begin with a context object
            (`begun`).
        integrates: its steps may ask for integrations of this service.

    Laws:
        Pure: no clock, no chance, no I/O. What a method does depends on its arguments only, so that
        after a crash the same events make the same fiber.
        An operation, and the unwinding of a frame by a failure, may stop for lack of steps: it counts the
        steps that it evaluates in `cursor.work`, and raises OverlongError when it would take more than
        `cursor.at_once`. The machine then leaves the fiber before it, and runs it again with any number
        of steps; see `stretches`. Commands and forks are made again after a crash, and never raise it.
        Any other method that raises it is run again at once.
        A method changes nothing but its cursor, writes history through `cursor.note`, and never unwinds
        by itself: it returns why to unwind.
        The names of its instructions are not those of the machine's; the names of its frames are those
        of no other frame of any language, because rows of fibers name frames and no language.
        Frames and instructions survive `to_json` and `from_json` unchanged.
        A dialect that `numbers` gives consecutive numbers that begin with 1, in the order of the history;
        any other dialect writes no events.
        A history that is replayed gives the same fibers: `replayed` reads what was written.
    """

    name: str
    mark: type[Any] | None
    operations: Mapping[type[Any], Operation]
    commands: Mapping[type[Any], CommandMaker]
    forks: Mapping[type[Any], BoundsReader]
    frames: Mapping[type[OwnFrame], FrameUnwinder]
    numbers: bool
    introduces: bool
    integrates: bool

    def begun(self, context: dict[str, JSON]) -> tuple[Frame, ...]:
        """The frames that an execution begins with, given its context object; none if it needs no context."""

    def accepted(self, cursor: Cursor, event: Accepted) -> None:
        """Writes the history of a step that was accepted and will be answered later."""

    def completed(self, cursor: Cursor, event: Completed) -> Failure | None:
        """Takes the result of a step, or returns the failure that it is. Writes the history of either."""

    def failed(self, cursor: Cursor, event: Failed) -> Failure:
        """Writes the history of a step that has failed. Returns the failure in the language's form."""

    def joined(self, cursor: Cursor, event: Joined, wait: Joining) -> Reaction:
        """Counts the steps of the members of a fork, which have ended, and takes their outcome.

        Returns why to unwind: the reason that `wait` holds back, if there is one, or what the outcome
        comes to. Sets the cursor's `origin` if that is what a redrive must take up again.
        """

    def expired(self, cursor: Cursor, deadline: Deadline) -> Failure:
        """The failure for a deadline that has passed. Its frame was just popped."""

    def narrate(self, moment: Moment) -> Narration:
        """The words for a moment of an execution."""

    def replayed(self, entry: StoredEntry) -> Event | Started | None:
        """The event for which this history entry was written; None if the entry only tells of a consequence."""


@frozen
class Dialects:
    """The languages that a program may be in.

    Args:
        plain: of a program that names none.
        languages: loads each, by name, when the first program needs it.
        marks: names of languages by the instruction that marks their programs; see `Dialect.mark`.
    """

    plain: Dialect
    languages: Mapping[str, Callable[[], Dialect]]
    marks: Mapping[str, str]

    def of(self, doc: Document) -> Dialect:
        """Returns the dialect of a program's JSON.

        Raises:
            ProgramError: if the program names an unknown dialect.
        """
        name = doc.get("dialect")
        if name is None:
            ops = (item.get("op") for item in doc["instructions"] if isinstance(item, dict))
            name = next(
                (self.marks[op] for op in ops if type(op) is str and op in self.marks), None
            )
        if name is None:
            return self.plain
        if type(name) is not str or name not in self.languages:
            raise ProgramError(
                f"the program is in the dialect {name!r:.80}, which is not known to this version"
            )
        return self.languages[name]()

    def frame(self, name: str) -> type[OwnFrame]:
        """Returns the frame of this name, of any language.

        Raises:
            ProgramError: if no language has such a frame.
        """
        for load in self.languages.values():
            for kind in load().frames:
                if kind.__name__ == name:
                    return kind
        raise ProgramError(f"no language has a frame {name!r:.80}")
