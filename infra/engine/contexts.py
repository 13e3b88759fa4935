"""What rules remember from one fire to the next: written in the commit of the fire that changes it.

All of it is in memory. In the store a rule has a document for each context, and one for each member of a join
that is not complete yet: rewriting the whole set with each member would write n^2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import orjson

from ...actions import (
    Document,
    Member,
    Members,
    Rule,
    RuleState,
    Verdict,
    begun,
    judge,
    lapsed,
    place_of,
)
from ...composer import Name
from .hooks import Attachment

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...actions import Change, Place
    from ...composer import JSON
    from .shared import Parts
    from .tick import Tick

Row: TypeAlias = tuple[str, str]  # the kind and the key of a document
Rows: TypeAlias = dict[Row, bytes | None]

CONTEXT, JOINED = "rulecontext", "joined"  # the kinds of its documents
SPENT = "spent"  # the place of the mark that a transient rule has fired
ROW_BYTES = 256  # that a document takes besides its body
FORGOTTEN = 100  # contexts that are looked at for one that may be forgotten
SHOWN = 100  # contexts, and members of a join
FULL = (
    "the rules of the namespace remember {bytes} bytes, and may not remember more: "
    "delete a rule, or update one with a 'context', so that it begins anew"
)


@dataclass(slots=True)
class Memory:
    """What one rule remembers: states and members of joins by place, and the size of each document."""

    states: dict[str, RuleState] = field(default_factory=dict)
    members: dict[str, Members] = field(default_factory=dict)
    sizes: dict[Row, int] = field(default_factory=dict)
    spent: bool = False


class Contexts:
    """Judges the fires of rules, and keeps what they remember.

    Args:
        deactivate: has a rule become inactive, soon and durably.
    """

    def __init__(self, parts: Parts, tick: Tick, deactivate: Callable[[Name], None]) -> None:
        self._parts, self._tick, self._deactivate = parts, tick, deactivate
        self._rules: dict[str, Memory] = {}
        self._bytes: dict[str, int] = {}  # of the documents of each namespace

    # --- its life ----------------------------------------------------------------------------

    async def load(self) -> None:
        """Reads what the rules remember. The catalog is loaded before."""
        joined: dict[tuple[str, str], dict[int, tuple[str, Member]]] = {}
        async for document in self._parts.store.documents(CONTEXT):
            rule, place = document.key.rsplit("/", 1)
            memory = self._noted(rule, document)
            if place == SPENT:
                memory.spent = True
            else:
                memory.states[place] = RuleState.from_json(orjson.loads(document.body or b""))
        async for document in self._parts.store.documents(JOINED):
            rule, place, key = document.key.rsplit("/", 2)
            self._noted(rule, document)
            doc = orjson.loads(document.body or b"")
            joined.setdefault((rule, place), {})[doc["at"]] = (key, Member.from_json(doc))
        for (rule, place), numbered in joined.items():
            members = self._rules[rule].members[place] = Members()
            for number in sorted(numbered):
                members.add(*numbered[number])

    def begin(self) -> None:
        """Finishes what a crash has interrupted."""
        for text, memory in [*self._rules.items()]:
            name = Name.parse(text)
            if (
                self._parts.catalog.find(Rule, name) is None
            ):  # a fire was judged as the rule was deleted
                self._forgotten([name])
            elif memory.spent:
                self._deactivate(name)

    def _noted(self, rule: str, document: Document) -> Memory:
        memory = self._rules.setdefault(rule, Memory())
        size = memory.sizes[document.kind, document.key] = _size(document.body or b"")
        namespace = Name.parse(rule).namespace
        self._bytes[namespace] = self._bytes.get(namespace, 0) + size
        return memory

    # --- judging -----------------------------------------------------------------------------

    def judge(self, rule: Rule, event: dict[str, JSON], now_ms: int) -> Verdict:
        """Judges a fire. What changes by it is written in the unit that gathers now, which is then never withdrawn.

        Args:
            rule: an active rule of the trigger.
            event: the JSON format of the CloudEvent, or `{"data": payload}`.
            now_ms: the instant.
        """
        if rule.condition is None and rule.assign is None and not rule.transient:
            return Verdict(fires=True, after=begun(rule))
        memory = self._rules.get(str(rule.name)) or Memory()
        if memory.spent and rule.transient:
            return Verdict(fires=False, after=begun(rule))
        place = place_of(rule, event)
        if isinstance(place, str):
            return Verdict(fires=False, after=begun(rule), why=place)
        before = memory.states.get(place.key) or begun(rule, place)
        members = memory.members.get(place.key) or Members()
        verdict = judge(rule, before, members, event, now_ms)
        rows = _rows(rule, memory, place, verdict)
        if not self._has_room(rule, memory, rows, now_ms):
            full = FULL.format(bytes=self._parts.settings.events.remembered_bytes)
            return Verdict(fires=False, after=before, why=full)
        if rows:
            self._rules[str(rule.name)] = memory
            self._keep(rule, memory, place, verdict, rows)
        return verdict

    def _keep(self, rule: Rule, memory: Memory, place: Place, verdict: Verdict, rows: Rows) -> None:
        for row, body in rows.items():
            self._write(rule.name.namespace, memory, row, body)
        row = _context_row(rule, place.key)
        if row in rows:
            memory.states.pop(place.key, None)  # the one that changed last is the last
            if rows[row] is not None:
                memory.states[place.key] = verdict.after
        if verdict.after.done:
            memory.members.pop(place.key, None)
        elif verdict.joined is not None:
            memory.members.setdefault(place.key, Members()).add(*verdict.joined)
        if _context_row(rule, SPENT) in rows:
            memory.spent = True
            self._tick.gathering.effects.append(partial(self._deactivate, rule.name))

    # --- forgetting --------------------------------------------------------------------------

    def attachment(self, change: Change) -> Attachment:
        """What rules forget goes in the commit of the change that makes them forget it. A `Companion`."""
        gone = [rule.name for rule in change.gone if isinstance(rule, Rule)]
        names = [*gone, *change.anew]
        rows = [row for name in names for row in self._rules.get(str(name), Memory()).sizes]
        documents = [Document(kind=kind, key=key, body=None) for kind, key in rows]
        return Attachment(documents, partial(self._forgotten, names))

    def _forgotten(self, names: list[Name]) -> None:
        """Rules have forgotten all. What they have heard since the change began is deleted, too."""
        for name in names:
            memory = self._rules.pop(str(name), Memory())
            for row in [*memory.sizes]:
                self._write(name.namespace, memory, row, None)

    # --- showing -----------------------------------------------------------------------------

    def shown(self, rule: Rule) -> list[JSON]:
        """What a rule remembers: SHOWN contexts at most, the one that changed last first.

        Each has `context`, and, as the condition needs them, `by`, `counted`, `fired_ms` and `done`. For a join that
        is not complete it has `joined`, the number of members that have come, `seen` and `missing`: lists of
        SHOWN members at most.
        """
        memory = self._rules.get(str(rule.name), Memory())
        latest = islice(reversed(memory.states.items()), SHOWN)
        return [_shown(rule, state, memory.members.get(place)) for place, state in latest]

    # --- documents ---------------------------------------------------------------------------

    def _has_room(self, rule: Rule, memory: Memory, rows: Rows, now_ms: int) -> bool:
        """True if these rows may be written; contexts that may be forgotten make room."""
        namespace, bound = rule.name.namespace, self._parts.settings.events.remembered_bytes
        more = sum(_size(body) - memory.sizes.get(row, 0) for row, body in rows.items() if body)
        for place, state in [*islice(memory.states.items(), FORGOTTEN)]:
            if more <= 0 or self._bytes.get(namespace, 0) + more <= bound:
                break
            row = _context_row(rule, place)
            if row not in rows and lapsed(rule, state, now_ms):
                del memory.states[place]
                self._write(namespace, memory, row, None)
        return more <= 0 or self._bytes.get(namespace, 0) + more <= bound

    def _write(self, namespace: str, memory: Memory, row: Row, body: bytes | None) -> None:
        size = 0 if body is None else _size(body)
        self._bytes[namespace] = self._bytes.get(namespace, 0) + size - memory.sizes.pop(row, 0)
        if body is not None:
            memory.sizes[row] = size
        kind, key = row
        gathering = self._tick.gathering
        gathering.alone = False  # what is in memory must come into the store
        gathering.write.documents.append(Document(kind=kind, key=key, body=body))
        self._tick.wake()


def _size(body: bytes) -> int:
    return len(body) + ROW_BYTES


def _context_row(rule: Rule, place: str) -> Row:
    return CONTEXT, f"{rule.name}/{place}"


def _rows(rule: Rule, memory: Memory, place: Place, verdict: Verdict) -> Rows:
    """The documents that a verdict changes, with their bodies; None for those that go."""
    rows: Rows = {}
    after, members = verdict.after, memory.members.get(place.key, Members())
    at = f"{rule.name}/{place.key}"
    if after.done:
        rows |= {(JOINED, f"{at}/{key}"): None for key in members.by_key}
    elif verdict.joined is not None:
        key, member = verdict.joined
        doc = {**member.to_json(), "at": len(members.by_key)}
        rows[JOINED, f"{at}/{key}"] = orjson.dumps(doc)
    before = memory.states.get(place.key)
    if after != begun(rule, place) or verdict.joined is not None or members.by_key:
        if after != before:
            rows[CONTEXT, at] = orjson.dumps(after.to_json())
    elif before is not None:
        rows[CONTEXT, at] = None
    if verdict.fires and rule.transient:
        rows[_context_row(rule, SPENT)] = b"{}"
    return rows


def _shown(rule: Rule, state: RuleState, members: Members | None) -> JSON:
    doc: dict[str, JSON] = {"context": state.context}
    doc |= {"by": state.value} if rule.condition is not None and rule.condition.by else {}
    doc |= {"counted": state.counted} if state.counted else {}
    doc |= {} if state.fired_ms is None else {"fired_ms": state.fired_ms}
    doc |= {"done": True} if state.done else {}
    if members is not None:
        come = members.by_key
        doc["joined"] = len(come)
        doc["seen"] = [member.value for member in islice(come.values(), SHOWN)]
        of = rule.condition.join.of if rule.condition and rule.condition.join else None
        missing = (value for key, value in (of or {}).items() if key not in come)
        doc |= {} if of is None else {"missing": [*islice(missing, SHOWN)]}
    return doc
