"""The origin of an execution: its action, its namespace, and the execution or the call that started it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...actions import PLAIN, StartOptions
from ...composer import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...actions import Action
    from ...composer import JSON
    from .unwaited import Unwaited


@dataclass(frozen=True, slots=True)
class Parent:
    """The step of another execution that this execution is."""

    execution: str
    fiber: str
    turn: int

    @classmethod
    def from_json(cls, doc: Sequence[Any]) -> Parent:
        """Reads what `to_json` wrote."""
        execution, fiber, turn = doc
        return cls(execution, fiber, turn)

    def to_json(self) -> list[JSON]:
        return [self.execution, self.fiber, self.turn]


@dataclass(frozen=True, slots=True)
class Source:
    """The run whose history an execution began with, after a reset or as a fork.

    `generation` is the one that it began as: redrives are counted from there.
    """

    how: str
    run: str
    entry: int
    generation: int

    @classmethod
    def from_json(cls, doc: Sequence[Any]) -> Source:
        """Reads what `to_json` wrote."""
        return cls(*doc)

    def to_json(self) -> list[JSON]:
        return [self.how, self.run, self.entry, self.generation]


@dataclass(frozen=True, slots=True)
class Chain:
    """The place of a run in its chain: the first run, and the run before it."""

    first: str
    previous: str

    @classmethod
    def from_json(cls, doc: Sequence[Any]) -> Chain:
        """Reads what `to_json` wrote."""
        return cls(*doc)

    def to_json(self) -> list[JSON]:
        return [self.first, self.previous]


@dataclass(slots=True)
class Account:
    """The steps that a conductor action's composition has used, together with those nested in it."""

    components: int = 0
    consultations: int = 0


@frozen
class Origin:
    """The origin of an execution; it never changes.

    Args:
        action: the action as it was when the execution began.
        owner: the namespace of that action, by whatever name it was called.
        namespace: the namespace that the execution is in.
        started_ms: the instant at which it began.
        root: the id of the execution at the top of those that started this one, or its own; of a chain of runs,
            that of the first run.
        parent: the step of another execution that waits for this one.
        depth: the number of executions above it.
        express: True if it is in memory only, until its end.
        solo: True if it runs a single action: it has no history, and its activation is the step's.
        account: the steps that a conductor action's composition has used.
        trace: the id of the trace that it belongs to.
        about: members that a wing keeps of it; see `hooks`.
        unwaited: how it was called, if nobody waits for it.
        options: what its caller has said of it.
        source: the run whose history it began with, if it was reset or forked.
        chain: its place in its chain, if another run has continued as this one.
        hops: the number of CloudEvents, each emitted because of the one before, that have led to it.
    """

    action: Action
    owner: str
    namespace: str
    started_ms: int
    root: str
    parent: Parent | None = None
    depth: int = 0
    express: bool = False
    solo: bool = False
    account: Account | None = None
    trace: str = ""
    about: dict[str, JSON] | None = None
    unwaited: Unwaited | None = None
    options: StartOptions = PLAIN
    source: Source | None = None
    chain: Chain | None = None
    hops: int = 0

    def chain_of(self, execution: str) -> str:
        """The first run of the chain of the execution with this origin: the whole chain is known by it."""
        return execution if self.chain is None else self.chain.first

    @property
    def apart(self) -> str:
        """The kind of an execution that is not told, updated or paused; "" for all others."""
        if self.express:
            return "an express execution"
        return "a single action" if self.solo else ""

    def is_call(self, execution: str) -> bool:
        """True if the execution with this origin was called from outside: no other execution started it."""
        return self.parent is None and self.root == self.chain_of(execution)

    def beyond_defaults(self, execution: str) -> dict[str, JSON]:
        """The members of the execution's row that most rows leave out, because they have the defaults."""
        places: dict[str, JSON] = {"depth": self.depth, "solo": self.solo, "hops": self.hops}
        doc: dict[str, JSON] = {name: value for name, value in places.items() if value}
        if self.root != execution:
            doc["root"] = self.root
        if self.owner != self.action.listed_as.namespace:
            doc["owner"] = self.owner
        if self.about is not None:
            doc["machine"] = self.about
        if self.unwaited is not None:
            doc["unwaited"] = self.unwaited.to_json()
        if self.options is not PLAIN and (options := self.options.to_json()):
            doc["options"] = options
        if self.source is not None:
            doc["source"] = self.source.to_json()
        if self.chain is not None:
            doc["chain"] = self.chain.to_json()
        if self.trace != execution:
            doc["trace"] = self.trace
        if self.parent is not None:
            doc["parent"] = self.parent.to_json()
        return doc
