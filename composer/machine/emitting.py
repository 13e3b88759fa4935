"""CloudEvents that a composition emits. Each is committed with the transition that emits it, and never without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..cloudevents import DATA, MAX_EVENT_BYTES, VERSION, emission_flaw, timestamp
from ..freezing import changed, frozen
from ..values import (
    EXPRESSION_ERROR,
    LIMIT_EXCEEDED,
    MAX_DEPTH,
    Failure,
    failure,
    measured,
    nests_deeper,
)
from . import history, instructions
from .commands import Emit
from .history import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..values import JSON
    from .changes import Changes
    from .cursor import Cursor, Reaction
    from .history import StoredEntry


def _emit(cursor: Cursor, i: instructions.Emit) -> Reaction:
    made: Any = i.template.fill(cursor.scope())
    if type(made) is Failure:
        return made
    if why := emission_flaw(made):
        return failure(EXPRESSION_ERROR, f"emit: {why}")
    if nests_deeper(
        [made.get(DATA)]
    ):  # as the data of one from outside: it is a parameter of actions
        text = f"emit: the data nests deeper than {MAX_DEPTH - 1} levels"
        return failure(LIMIT_EXCEEDED, text)
    if measured(made, MAX_EVENT_BYTES) > MAX_EVENT_BYTES:
        return failure(
            LIMIT_EXCEEDED, f"emit: the CloudEvent takes more than {MAX_EVENT_BYTES} bytes"
        )
    if not cursor.count_steps():
        return None
    cursor.turn += 1
    activation = cursor.activation_of(cursor.turn)
    given: dict[str, JSON] = {name: value for name, value in made.items() if value is not None}
    content = {DATA: given.pop(DATA)} if DATA in given else {}
    attributes = {
        "specversion": VERSION, "id": activation, **given, "time": timestamp(cursor.now_ms),
    }  # fmt: skip
    cursor.commands.append(Emit(attributes, content))
    detail: dict[str, JSON] = {"path": i.path, "activation": activation, "emitted": given["type"]}
    cursor.note(history.EMITTED, detail, {**attributes, **content})
    return None


@frozen
class _Late:
    """An emission that the history does not have, of the part of it with this number."""

    part: int
    entry: Entry
    command: Emit


class Emissions:
    """The CloudEvents that a replay emits: those that its history lacks are emitted now, the others never again.

    A history lacks those of branches that ran no instruction before another one failed, of steps after the entry that a
    run is reset to, and of another program.

    Args:
        parts: the history, cut before each redrive.
    """

    def __init__(self, parts: Iterable[Sequence[StoredEntry]]) -> None:
        self.part = 0  # that is replayed
        self._known = {
            (entry.get("part", number), entry["fiber"], entry["turn"])
            for number, part in enumerate(parts)
            for entry in part
            if entry["type"] == history.EMITTED
        }
        self._late: list[_Late] = []

    def keep(self, changes: Changes) -> None:
        """Takes the emissions of replayed changes."""
        commands = [command for _, command in changes.commands if isinstance(command, Emit)]
        entries = [entry for entry in changes.entries if entry.kind == history.EMITTED]
        for entry, command in zip(entries, commands, strict=True):
            if (self.part, entry.fiber, entry.turn) not in self._known:
                self._late.append(_Late(self.part, entry, command))

    def add_to(self, changes: Changes, now_ms: int) -> None:
        """Adds the emissions that the history lacks to the changes that take the execution up."""
        for number, late in enumerate(self._late, 1):
            entry = late.entry
            attributes = {**late.command.attributes, "time": timestamp(now_ms)}
            command = changed(late.command, attributes=attributes)
            changes.commands.append((entry.fiber, command))
            detail = {**entry.detail, "part": late.part}
            value: JSON = {**attributes, **command.content}
            told = Entry(now_ms, entry.fiber, entry.turn, entry.kind, detail, value)
            changes.entries.insert(number, told)


EMITTING: dict[type[Any], Callable[[Cursor, Any], Reaction]] = {instructions.Emit: _emit}
