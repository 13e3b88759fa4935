"""Which waiting task of a queue is handed out next: priority, shares by key, and limits that wait.

The highest priority goes first. Within a priority each key has its turn, for as many tasks as its weight
(deficit round robin, Shreedhar and Varghese 1995; a task costs one), and a key's own tasks go in order. A task
whose limit is reached waits, and does not hold up the tasks of other keys. No clock: the caller gives the time.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from typing import TYPE_CHECKING, TypeAlias

from ..composer import UNBOUND, Bound, Gate, frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HIGHEST, USUAL, LOWEST = 1, 3, 5
MANY = 1_000  # gates, before idle ones are looked for

Group: TypeAlias = tuple[str, str]
"""The tasks that wait for each other: a key, and the action if the action has a limit."""


@frozen
class Waiting:
    """A task that waits to be handed out.

    Args:
        id: of the task.
        order: its place among all tasks; a smaller number goes first.
        priority: from 1, the highest, to 5.
        key: tasks with the same key share a turn, and the limits for each key.
        version: of the only workers that may take it; "" for all.
        action: whose limit it counts against.
        bound: the limit of the action.
        keyed: the action's limit is one for each key.
    """

    id: str
    order: int
    priority: int = USUAL
    key: str = ""
    version: str = ""
    action: str = ""
    bound: Bound = UNBOUND
    keyed: bool = False

    @property
    def group(self) -> Group:
        return self.key, "" if self.bound == UNBOUND else self.action


@frozen
class Rules:
    """The rules of a queue.

    Args:
        bound: the limit of the queue.
        each_key: the limit of each key.
        weights: tasks of a key in one of its turns; 1 for keys that are not here.
    """

    bound: Bound = UNBOUND
    each_key: Bound = UNBOUND
    weights: Mapping[str, int] | None = None

    def weight(self, key: str) -> int:
        return 1 if self.weights is None else self.weights.get(key, 1)


class _Turns:
    """The groups of one priority, for workers of one version. Those whose limit is reached are not in `order`."""

    __slots__ = ("groups", "left", "order")

    def __init__(self) -> None:
        self.groups: dict[Group, list[tuple[int, str]]] = {}  # heaps
        self.order: OrderedDict[Group, None] = OrderedDict()
        self.left: dict[Group, int] = {}  # tasks in the turn that is under way


class Backlog:
    """The waiting tasks of a queue, and what is used of its limits."""

    def __init__(self, rules: Rules | None = None) -> None:
        self._rules = rules or Rules()
        self._waiting: dict[str, Waiting] = {}
        self._under_way: dict[str, Waiting] = {}
        self._lanes: dict[str, tuple[_Turns, ...]] = {}
        self._gates: dict[tuple[str, ...], Gate] = {}
        self._due: list[tuple[int, tuple[str, ...]]] = []  # gates that time opens
        self._swept = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def under_way(self) -> int:
        """The number of tasks that are handed out."""
        return len(self._under_way)

    @property
    def next_ms(self) -> int | None:
        """The instant at which a rate may let a task pass that waits for it."""
        return self._due[0][0] if self._due else None

    def change(self, rules: Rules, now_ms: int) -> None:
        """Replaces the rules. Tasks under way count against the new ones, and all that wait are looked at again."""
        self._rules = rules
        for gate in self._gates.values():
            gate.reset()
            self._open(gate)
        for task in self._under_way.values():
            for gate in self._passed(task, now_ms):
                gate.enter(now_ms, counted=False)

    # --- tasks -------------------------------------------------------------------------------

    def add(self, task: Waiting) -> None:
        """Adds a task that waits, or adds it again."""
        self._waiting[task.id] = task
        lane = self._lanes.get(task.version)
        if lane is None:
            lane = self._lanes[task.version] = tuple(_Turns() for _ in range(LOWEST))
        turns, group = lane[task.priority - 1], task.group
        if group in turns.groups:
            heapq.heappush(turns.groups[group], (task.order, task.id))
        else:
            turns.groups[group] = [(task.order, task.id)]
            turns.order[group] = None

    def remove(self, id: str) -> None:
        """Forgets a task, be it waiting or under way."""
        self._waiting.pop(id, None)
        self.ended(id)

    def resumed(self, task: Waiting, now_ms: int) -> None:
        """Counts a task that was handed out before a restart."""
        self._under_way[task.id] = task
        for gate in self._passed(task, now_ms):
            gate.enter(now_ms, counted=False)

    def ended(self, id: str) -> None:
        """Frees what a task under way has used of limits."""
        task = self._under_way.pop(id, None)
        if task is None:
            return
        for name, _ in self._limits(task):
            gate = self._gates[name]
            gate.leave()
            self._open(gate)

    def take(self, now_ms: int, version: str = "") -> Waiting | None:
        """Hands out the next task for a worker of this version; None if none may go now."""
        self._open_due(now_ms)
        if self._rules.bound != UNBOUND and self._shut(("queue",), self._rules.bound, now_ms):
            return None
        lanes = [self._lanes[of] for of in dict.fromkeys(("", version)) if of in self._lanes]
        for priority in range(LOWEST):
            fronts = [(lane[priority], self._front(lane[priority], now_ms)) for lane in lanes]
            found = [
                (task.order, n, task) for n, (_, task) in enumerate(fronts) if task is not None
            ]
            if found:
                _, n, task = min(found)
                self._pass(fronts[n][0], task, now_ms)
                return task
        return None

    def _front(self, turns: _Turns, now_ms: int) -> Waiting | None:
        """The next task of a priority. Groups whose limit is reached leave their turn."""
        while turns.order:
            group = next(iter(turns.order))
            task = self._head(turns, group)
            if task is None:
                continue
            for name, bound in self._limits(task):
                if name[0] != "queue" and (gate := self._shut(name, bound, now_ms)) is not None:
                    del turns.order[group]
                    turns.left.pop(group, None)
                    gate.parked.append((turns, group))
                    break
            else:
                return task
        return None

    def _head(self, turns: _Turns, group: Group) -> Waiting | None:
        """The first task of a group; None, and the group is gone, if all have been removed."""
        heap = turns.groups[group]
        while heap:
            order, id = heap[0]
            task = self._waiting.get(id)
            if task is not None and task.order == order:
                return task
            heapq.heappop(heap)
        self._drop(turns, group)
        return None

    def _drop(self, turns: _Turns, group: Group) -> None:
        del turns.groups[group]
        del turns.order[group]
        turns.left.pop(group, None)

    def _pass(self, turns: _Turns, task: Waiting, now_ms: int) -> None:
        """Takes a task out of its group, whose turn may be over."""
        group = task.group
        heapq.heappop(turns.groups[group])
        del self._waiting[task.id]
        self._under_way[task.id] = task
        for gate in self._passed(task, now_ms):
            gate.enter(now_ms)
        left = turns.left.get(group, self._rules.weight(task.key)) - 1
        if not turns.groups[group]:
            self._drop(turns, group)
        elif left > 0:
            turns.left[group] = left
        else:
            turns.left.pop(group, None)
            turns.order.move_to_end(group)

    # --- limits ------------------------------------------------------------------------------

    def _limits(self, task: Waiting) -> list[tuple[tuple[str, ...], Bound]]:
        """The limits that a task counts against, by the names of their gates."""
        rules = self._rules
        found: list[tuple[tuple[str, ...], Bound]] = []
        if rules.bound != UNBOUND:
            found.append((("queue",), rules.bound))
        if rules.each_key != UNBOUND:
            found.append((("key", task.key), rules.each_key))
        if task.bound != UNBOUND:
            name = ("action", task.action, task.key) if task.keyed else ("action", task.action)
            found.append((name, task.bound))
        return found

    def _gate(self, name: tuple[str, ...], bound: Bound, now_ms: int) -> Gate:
        gate = self._gates.get(name)
        if gate is None:
            self._sweep(now_ms)
            gate = self._gates[name] = Gate(bound, now_ms)
        gate.bound = bound
        return gate

    def _passed(self, task: Waiting, now_ms: int) -> Iterator[Gate]:
        """The gates of a task, to be entered one by one: one that nobody has entered may be swept."""
        for name, bound in self._limits(task):
            yield self._gate(name, bound, now_ms)

    def _shut(self, name: tuple[str, ...], bound: Bound, now_ms: int) -> Gate | None:
        """The gate if nothing may pass it now."""
        gate = self._gate(name, bound, now_ms)
        opens_ms = gate.opens_ms(now_ms)
        if opens_ms is not None and opens_ms <= now_ms:
            return None
        if opens_ms is not None and gate.due_ms is None:
            gate.due_ms = opens_ms
            heapq.heappush(self._due, (opens_ms, name))
        return gate

    def _open_due(self, now_ms: int) -> None:
        while self._due and self._due[0][0] <= now_ms:
            _, name = heapq.heappop(self._due)
            gate = self._gates[name]
            gate.due_ms = None
            self._open(gate)

    def _open(self, gate: Gate) -> None:
        """Gives those that wait for a gate their turns back."""
        parked, gate.parked = gate.parked, []
        for turns, group in parked:
            turns.order[group] = None

    def _sweep(self, now_ms: int) -> None:
        """Forgets gates that nothing uses, when there are many."""
        if len(self._gates) < max(MANY, 2 * self._swept):
            return
        self._gates = {n: gate for n, gate in self._gates.items() if not gate.idle(now_ms)}
        self._swept = len(self._gates)
