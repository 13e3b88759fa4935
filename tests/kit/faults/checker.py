"""Finds in a history what no serial order explains, as Elle does (Kingsbury and Alvaro, 2020)."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import accumulate, pairwise, product
from math import inf
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence

    Values = tuple[Hashable, ...]
    Labels = tuple[str, ...]

LABELS = ("ww", "wr", "rw", "rw-realtime", "realtime")
FLOW, ANTI = LABELS[:2], LABELS[2:4]
CYCLES = [(("ww",), ("ww",)), (("wr",), FLOW), (("rw",), FLOW), (("rw",), (*FLOW, "rw"))]
TIMED = [(first, (*rest, "realtime")) for first, rest in CYCLES]
SEARCHES = [*CYCLES, *TIMED, (ANTI, (*FLOW, "realtime")), (ANTI, LABELS)]  # the worst first
TRIES = 50  # starts of a search for a short cycle; the latest, for theirs are the stale reads


@dataclass(frozen=True, slots=True)
class Append:
    key: str
    value: Hashable


@dataclass(frozen=True, slots=True)
class Read:
    key: str
    values: Values


@dataclass(frozen=True, slots=True)
class Put:
    key: str
    value: Hashable


@dataclass(frozen=True, slots=True)
class Get:
    key: str
    value: Hashable

    @property
    def values(self) -> Values:
        return () if self.value is None else (self.value,)


@dataclass(frozen=True, slots=True)
class Txn:
    """One transaction and when it ran; an unknown one may still run, whatever `ended` says."""

    id: str
    operations: tuple[Append | Read | Put | Get, ...]
    status: Literal["committed", "aborted", "unknown"]
    began: int
    ended: int


@dataclass(frozen=True, slots=True)
class Anomaly:
    kind: str
    text: str
    txns: tuple[str, ...]


def check_lists(history: Sequence[Txn], *, realtime: bool = True) -> list[Anomaly]:
    """What no serial order of these appends and reads explains, or none that keeps real time."""
    return _check(_Past(history, (Append, Read)), _order_list, realtime)


def check_registers(history: Sequence[Txn], *, realtime: bool = True) -> list[Anomaly]:
    """What no serial order of these puts and gets explains, or none that keeps real time."""
    return _check(_Past(history, (Put, Get)), _order_register, realtime)


def _check(past: _Past, order: Callable[..., None], realtime: bool) -> list[Anomaly]:
    graph = _Graph(past, realtime)
    for key in past.reads:
        order(past, graph, key)
    for knot in graph.knots(range(len(past.txns)), LABELS):
        graph.tell(knot)
    return list(dict.fromkeys(past.anomalies))


class _Past:
    """A history by key. A place is a transaction's, by when it began; `live` took effect."""

    def __init__(self, history: Sequence[Txn], workload: tuple[type, type]) -> None:
        self.txns = sorted(history, key=lambda txn: txn.began)
        self.ended = [inf if txn.status == "unknown" else txn.ended for txn in self.txns]
        self.anomalies: list[Anomaly] = []
        self.writer: dict[tuple[str, Hashable], int] = {}
        self.written: dict[str, dict[int, Values]] = defaultdict(lambda: defaultdict(tuple))
        self.reads: dict[str, list[tuple[int, Values]]] = defaultdict(list)
        self.updates: dict[tuple[str, Values], list[int]] = defaultdict(list)
        for place, txn in enumerate(self.txns):
            if self.ended[place] < txn.began:
                raise ValueError(f"{txn.id} ended at {txn.ended} and began at {txn.began}")
            for op in txn.operations:
                if not isinstance(op, workload):
                    raise ValueError(f"{txn.id}: {op} belongs to the other workload")
                if isinstance(op, Append | Put):
                    if op.value is None or (op.key, op.value) in self.writer:
                        raise ValueError(f"{txn.id}: {op} is not a new value")
                    self.writer[op.key, op.value] = place
                    self.written[op.key][place] += (op.value,)
        self.live: set[int] = set()
        self._find_live()
        for place in sorted(self.live):
            self._replay(place)
        for (key, _), places in self.updates.items():
            if len(places) > 1:
                self.tell("lost-update", f"{key} read alike and changed", *places)

    def tell(self, kind: str, text: str, *places: int) -> None:
        self.anomalies.append(Anomaly(kind, text, tuple(self.txns[place].id for place in places)))

    def _find_live(self) -> None:
        """Those that committed, and those unknown whose writes any of all these has read."""
        todo = [place for place, txn in enumerate(self.txns) if txn.status == "committed"]
        looked: dict[str, set[Hashable]] = defaultdict(set)
        while todo:
            self.live.add(place := todo.pop())
            for op in (op for op in self.txns[place].operations if isinstance(op, Read | Get)):
                fresh = [value for value in op.values if value not in looked[op.key]]
                looked[op.key].update(fresh)
                for value in fresh:
                    writer = self.writer.get((op.key, value))
                    if writer is None:
                        self.tell("unknown-value", f"{value!r} in {op.key} is nobody's", place)
                    elif self.txns[writer].status == "aborted":
                        self.tell("G1a", f"{value!r} in {op.key} was taken back", place, writer)
                    elif self.txns[writer].status == "unknown" and writer not in self.live:
                        todo.append(writer)

    def _replay(self, place: int) -> None:
        """Run a transaction on what it has itself seen and done; note its reads and updates."""
        known: dict[str, Values] = {}  # how each key ends, for all it knows
        whole: set[str] = set()  # the keys of which that is all
        for op in self.txns[place].operations:
            key, end = op.key, known.get(op.key, ())
            own = set(self.written[key].get(place, ()))
            if isinstance(op, Append | Put):
                known[key] = (*end, op.value) if isinstance(op, Append) else (op.value,)
                if key in whole and own.isdisjoint(end):
                    self.updates[key, end].append(place)
                continue
            values = op.values
            self.reads[key].append((place, values))
            before = () if key in whole else values[: max(0, len(values) - len(end))]
            if values != before + end or not own.isdisjoint(before):
                self.tell("internal", f"{key} read as {values} is not what it did", place)
            known[key] = values
            whole.add(key)
            last = self.writer.get((key, values[-1]), place) if values else place
            if last != place and last in self.live and self.written[key][last][-1] != values[-1]:
                self.tell("G1b", f"{key} read up to {values[-1]!r}, being written", place, last)


def _longest(past: _Past, key: str) -> Values | None:
    """The longest list that was read of a key, if all that was read agrees with it."""
    told = len(past.anomalies)
    first, longest = max(past.reads[key], key=lambda read: len(read[1]))
    odd = {values: place for place, values in past.reads[key] if longest[: len(values)] != values}
    for values, place in odd.items():
        one, other = next(pair for pair in zip(values, longest, strict=False) if len({*pair}) > 1)
        past.tell("incompatible-order", f"{key}: {one!r} read where also {other!r}", place, first)
    for values, place in [(longest, first), *odd.items()]:
        for value in [value for value, count in Counter(values).items() if count > 1]:
            past.tell("duplicate", f"{value!r} is in {key} more than once", place)
    at = {value: index for index, value in enumerate(longest)}
    for writer, done in past.written[key].items():
        part = sorted((value for value in done if value in at), key=at.__getitem__)
        if writer in past.live and part != [*done[: len(part)]]:
            past.tell("incompatible-order", f"{key}: {done} read as {part}", first, writer)
    return longest if told == len(past.anomalies) else None


def _order_list(past: _Past, graph: _Graph, key: str) -> None:
    longest = _longest(past, key)
    order = [past.writer.get((key, value), -1) for value in longest or ()]
    if longest is None or not past.live.issuperset(order):
        return  # something else is wrong: the key has no one order
    seen = set(longest)
    unread = [w for w, done in past.written[key].items() if w in past.live and done[-1] not in seen]
    for earlier, later in pairwise(order):
        graph.edges("ww", key, [earlier], [later])
    graph.edges("ww", key, order[-1:], unread)
    for place, values in past.reads[key]:
        graph.edges("wr", key, order[: len(values)][-1:], [place])
        graph.edges("rw", key, [place], order[len(values) :][:1] or unread)


def _order_register(past: _Past, graph: _Graph, key: str) -> None:
    """A version follows the one its writer had read; by real time, also what ended before."""
    writers = past.live & past.written[key].keys()
    after = _timeline(past, writers if graph.realtime else ())
    for place, values in past.reads[key]:
        writer = past.writer.get((key, values[0])) if values else None
        later = past.updates.get((key, values), []) if values else writers
        graph.edges("rw", key, [place], later)
        if writer in past.live and writer != place:
            graph.edges("wr", key, [writer], [place])
            graph.edges("ww", key, [writer], later)
            graph.edges("rw-realtime", key, [place], after(writer))


def _timeline(past: _Past, places: Iterable[int]) -> Callable[[int], list[int]]:
    """Who began first when one had ended; any other began when one of these had."""
    order = sorted(places)
    began = [past.txns[place].began for place in order]
    soonest = [*accumulate((past.ended[place] for place in order[::-1]), min, initial=inf)][::-1]

    def after(place: int) -> list[int]:
        low = bisect_right(began, past.ended[place])
        return order[low : bisect_right(began, soonest[low])]

    return after


class _Graph:
    """Who comes before whom, and why: for each label, from whom to whom by which key."""

    def __init__(self, past: _Past, realtime: bool) -> None:
        self.past, self.realtime = past, realtime
        self.next = {why: [dict[int, str]() for _ in past.txns] for why in LABELS}
        after = _timeline(past, past.live)
        for place in past.live if realtime else ():
            self.edges("realtime", "", [place], after(place))

    def edges(self, why: str, key: str, sources: Iterable[int], targets: Iterable[int]) -> None:
        for source, target in product(sources, targets):
            if source != target:
                self.next[why][source].setdefault(target, key)

    def tell(self, knot: set[int]) -> None:
        """Tell of a short cycle of the worst kind that is in a knot."""
        for first, rest in SEARCHES:
            for part in self.knots(knot, (*first, *rest)):
                starts = [node for node in sorted(part)[::-1] if self._steps(node, part, first)]
                ways = [self._way(node, part, first, rest) for node in starts[:TRIES]]
                if any(ways):
                    self._tell_cycle(min(filter(None, ways), key=len), first, rest)
                    return

    def _tell_cycle(self, cycle: list[int], first: Labels, rest: Labels) -> None:
        labels, text = "", "each before the next:"
        for here, there in pairwise(cycle):
            why = next(why for why in (rest if labels else first) if there in self.next[why][here])
            labels += f" {why}"
            text += f" {why}({self.next[why][here][there]})"
        kind = ("G1c" if "wr" in labels else "G0", "G-single", "G2")[min(2, labels.count("rw"))]
        self.past.tell(kind + "-realtime" * ("realtime" in labels), text, *cycle[:-1])

    def _way(self, goal: int, inside: set[int], first: Labels, rest: Labels) -> list[int]:
        """The shortest cycle through a node, if there is one."""
        queue = self._steps(goal, inside, first)
        came = dict.fromkeys(queue, goal)
        for node in queue:
            fresh = [step for step in self._steps(node, inside, rest) if step not in came]
            came.update(dict.fromkeys(fresh, node))
            queue += [] if goal in came else fresh
        way = [goal, came[goal]] if goal in came else []
        while way and way[-1] != goal:
            way.append(came[way[-1]])
        return way[::-1]

    def _steps(self, node: int, inside: Collection[int], labels: Labels) -> list[int]:
        return [to for why in labels for to in self.next[why][node] if to in inside]

    def knots(self, inside: Collection[int], labels: Labels) -> Iterator[set[int]]:
        """The strongly connected components of more than one (Tarjan, with a stack of its own)."""
        low, path = {-1: -1}, list[int]()
        work: list[tuple[int, Iterator[int]]] = [(-1, iter(inside))]
        while work:
            node, steps = work[-1]
            for target in steps:
                if target not in low:
                    low[target] = len(path)
                    path.append(target)
                    work.append((target, iter(self._steps(target, inside, labels))))
                    break
                low[node] = min(low[node], low[target])
            else:
                work.pop()
                at = low[node]
                if node in path[at : at + 1]:
                    knot = {*path[at:]}
                    del path[at:]
                    low.update(dict.fromkeys(knot, len(self.past.txns)))  # beyond the path
                    if len(knot) > 1:
                        yield knot
                elif work:
                    low[work[-1][0]] = min(low[work[-1][0]], at)
