"""Limits that wait: which executions hold a slot of a limit, and which stand in line for one.

The truth is in the fibers: a fiber that holds a slot has a frame, and one that waits has its place in its wait. What
is kept here is an index of both, made again when executions come back into memory. A slot is free as soon as its
frame is gone; it goes to the next in line when that is durable.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ....actions import NotFoundError
from ....composer import UNBOUND, Acquired, LinedUp, asked
from ..named_settings import NamedSettings
from .lines import MANY, Lines, Name, Place, member_id
from .settings import LIMIT_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....composer import JSON, Acquire, Asked, Bound, Changes, WaitingLine
    from ..live import LiveExecution
    from ..shared import Parts
    from ..tick import Tick
    from .steps import StepLimits

OPEN_S = 60.0  # after which slots are given although not all executions have been recovered
SHOWN = 100  # members of a line that are listed


class Recovering(Protocol):
    """Recovery after a start: if it has not begun yet, and if it is done."""

    paused: bool
    settled: asyncio.Event


class _Member(NamedTuple):
    """A fiber that holds a slot or waits for one, in this turn."""

    execution: str
    fiber: str
    turn: int
    limit: str
    number: int

    @property
    def id(self) -> str:
        return member_id(self.execution, self.fiber, self.turn)


class Limits:
    """The limits of compositions.

    Args:
        parts: of the engine.
        tick: commits what happens.
        deliver: hands an event to a fiber of an execution, which may have to come into memory.
    """

    def __init__(
        self, parts: Parts, tick: Tick, deliver: Callable[[str, str, Acquired], None]
    ) -> None:
        self._tick, self._deliver = tick, deliver
        self.settings = NamedSettings(LIMIT_SETTINGS, parts.store, tick)
        self._lines = Lines(parts.clock, self._admit, self._bound, parts.settings.pacing.look_s)
        self._members: dict[str, _Member] = {}
        self._coded: dict[Name, tuple[int, Bound]] = {}  # the last definitions, and whose they are
        self._kept = 0  # of these, when they were last looked through

    # --- its life ----------------------------------------------------------------------------

    async def begin(self, recovery: Recovering, steps: StepLimits) -> None:
        """Gives slots once all that was under way has been recovered: who holds them must be known.

        The same holds for the steps of actions with limits.

        Nobody gets one while the server is paused.
        """
        waits = True
        while waits:
            with suppress(TimeoutError):
                async with asyncio.timeout(OPEN_S):
                    await recovery.settled.wait()
            waits = recovery.paused
        self._lines.open()
        steps.open()

    def close(self) -> None:
        """Gives no more slots."""
        self._lines.close()

    def gauges(self) -> dict[str, int]:
        """The slots that are held, the executions that wait for one, and for how long the first has waited."""
        lines = [line for _, line in self._lines]
        return {
            "limit_slots_held": sum(len(line.holders) for line in lines),
            "limit_waiting": sum(len(line) for line in lines),
            "limit_waiting_longest_s": max(map(self._oldest_ms, lines), default=0) // 1000,
        }

    # --- executions --------------------------------------------------------------------------

    def ask(self, run: LiveExecution, fiber: str, command: Acquire) -> Acquired | LinedUp:
        """A fiber asks for a slot. The answer is for the commit in which it asks."""
        limit = command.name or _own_name(run, command.path)
        place = Place(run.origin.namespace, limit, command.key)
        member = _Member(run.id, fiber, command.turn, limit, self._lines.number())
        self._note(run, member)
        self._define(place.name, member.number, command.bound)
        if self._lines.ask(place, member.id, member.number):
            return Acquired(command.turn, limit, member.number)
        return LinedUp(command.turn, limit, member.number, self._lines.before(member.id))

    def follow(self, run: LiveExecution, changes: Changes) -> None:
        """Takes back the slots that an execution's changes have freed. Call it if the run has any `slots`."""
        slots = run.slots or {}
        over = changes.outcome is not None
        touched = {*changes.fibers, *(entry.fiber for entry in changes.entries)} & slots.keys()
        for parent, turn in changes.dropped:
            touched |= {fiber for fiber in slots if fiber.startswith(f"{parent}/{turn}.")}
        for fiber in slots.copy() if over else touched:
            for place in self._left(run, fiber, over=over):
                self._tick.gathering.effects.append(partial(self._lines.look, place))

    def gone(self, run: LiveExecution) -> None:
        """An execution was never stored: it gives back all that it has."""
        for fiber in (run.slots or {}).copy():
            for place in self._left(run, fiber, over=True):
                self._tick.later(run.origin.namespace, partial(self._lines.look, place))

    def arrived(self, run: LiveExecution) -> None:
        """An execution comes into memory: its fibers say what it holds and waits for."""
        for fiber in run.execution.fibers.values():
            if fiber.limited:
                for each in asked(run.execution.program, fiber):
                    self._restore(run, fiber.id, each)

    def before(self, execution: str, fiber: str, turn: int) -> int:
        """The number of those that go before a fiber that waits."""
        return self._lines.before(member_id(execution, fiber, turn))

    def _restore(self, run: LiveExecution, fiber: str, each: Asked) -> None:
        if not each.limit:
            return  # a redrive has it ask again
        member = _Member(run.id, fiber, each.turn, each.limit, each.place)
        self._note(run, member)
        if member.id in self._lines:
            return
        place = Place(run.origin.namespace, each.limit, each.key)
        self._define(place.name, each.place, each.bound)
        self._lines.restored(place, member.id, each.place, holds=each.holds)

    def _note(self, run: LiveExecution, member: _Member) -> None:
        if run.slots is None:
            run.slots = {}
        run.slots.setdefault(member.fiber, set()).add(member.turn)
        self._members[member.id] = member

    def _left(self, run: LiveExecution, name: str, *, over: bool) -> list[Place]:
        """Removes what a fiber does not hold or wait for any more. Returns the lines that it has left."""
        slots, fiber = run.slots or {}, None if over else run.execution.fibers.get(name)
        stand: set[int] = set()
        if fiber is not None and fiber.outcome is None:
            stand = {each.turn for each in asked(run.execution.program, fiber)}
        gone = [member_id(run.id, name, turn) for turn in slots[name] - stand]
        slots[name] &= stand
        if not slots[name]:
            del slots[name]
        for id in gone:
            self._members.pop(id, None)
        return [place for id in gone if (place := self._lines.leave(id)) is not None]

    def _admit(self, id: str) -> None:
        member = self._members[id]
        event = Acquired(member.turn, member.limit, member.number)
        self._deliver(member.execution, member.fiber, event)

    # --- numbers -----------------------------------------------------------------------------

    def _bound(self, name: Name) -> Bound:
        set_by_operator = self.settings.get(*name)
        if set_by_operator is not None:
            return set_by_operator
        known = self._coded.get(name)
        return UNBOUND if known is None else known[1]

    def _define(self, name: Name, number: int, bound: Bound) -> None:
        """Notes the numbers of a composition: those of the one that asked last count."""
        known = self._coded.get(name)
        if known is not None and known[0] > number:
            return
        if known is None and len(self._coded) >= max(MANY, 2 * self._kept):
            used = {place.name for place, _ in self._lines}
            self._coded = {each: coded for each, coded in self._coded.items() if each in used}
            self._kept = len(self._coded)
        self._coded[name] = number, bound
        if known is not None and known[1] != bound:
            self._tick.gathering.effects.append(partial(self._lines.look_all, name))

    # --- operators ---------------------------------------------------------------------------

    def listed(self, namespace: str) -> list[dict[str, JSON]]:
        """The limits of a namespace that are in use, or that an operator has set."""
        used = {place.limit for place, _ in self._lines if place.namespace == namespace}
        names = sorted(used | self.settings.named(namespace))
        lines: dict[str, list[WaitingLine]] = {name: [] for name in names}
        for place, line in self._lines:
            if place.namespace == namespace:
                lines[place.limit].append(line)
        return [self._shown((namespace, name), lines[name]) for name in names]

    def shown(self, namespace: str, limit: str) -> dict[str, JSON]:
        """A limit: its numbers, and for each key who holds a slot and who waits, at most 100 of both.

        Raises:
            NotFoundError: nobody uses it, and no operator has set it.
        """
        name = (namespace, limit)
        lines = {place.key: line for place, line in self._lines if place.name == name}
        if not lines and self.settings.get(*name) is None:
            raise NotFoundError
        keys: dict[str, JSON] = {
            key: {
                "holders": len(line.holders),
                "waiting": len(line),
                "held": [self._told(id) for id in sorted(line.holders)[:SHOWN]],
                "line": [self._told(id) for id in line.waiting[:SHOWN]],
            }
            for key, line in sorted(lines.items())[:SHOWN]
        }
        return {**self._shown(name, [*lines.values()]), "keys": keys}

    async def configure(self, namespace: str, limit: str, doc: JSON) -> None:
        """Sets the numbers of a limit, which then count in place of those of compositions; None removes them.

        Raises:
            InvalidError: the name or a member is malformed. The message names it.
            NotFoundError: there is nothing to remove.
        """
        if doc is not None:
            await self.settings.put(namespace, limit, doc)
        elif not await self.settings.remove(namespace, limit):
            raise NotFoundError
        self._lines.look_all((namespace, limit))

    def _shown(self, name: Name, lines: list[WaitingLine]) -> dict[str, JSON]:
        by_operator = self.settings.get(*name) is not None
        waiting = sum(len(line) for line in lines)
        return {
            "name": name[1],
            **self._bound(name).to_json(),
            "setBy": "operator" if by_operator else "composition",
            "holders": sum(len(line.holders) for line in lines),
            "waiting": waiting,
            "oldestMs": max(map(self._oldest_ms, lines)) if waiting else None,
        }

    def _oldest_ms(self, line: WaitingLine) -> int:
        if line.first is None:
            return 0
        return max(0, self._lines.time.now_ms() - self._lines.since_ms(line.first))

    def _told(self, id: str) -> dict[str, JSON]:
        member = self._members[id]
        since: JSON = self._lines.since_ms(id)
        return {"execution": member.execution, "fiber": member.fiber, "since": since}


def _own_name(run: LiveExecution, path: str) -> str:
    """The name of a limit that only one part of a composition has."""
    action = run.origin.action.listed_as.path.replace("/", ":")
    return f"{action}:{path}" if path else action
