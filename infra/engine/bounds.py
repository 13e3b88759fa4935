"""Bounds on live executions: those of one namespace, and those below one execution.

Each execution counts one, also while it only waits and is not in memory, and each branch of a fork counts one
more. Calls under way are counted with them: the executions that nothing else has started. All counts are kept
as executions begin, fork and end, and made anew from what the store has at a start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...composer import CANCELLED, LIMIT_EXCEEDED, Failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .lineage import Lineage
    from .live import LiveExecution
    from .shared import Parts


class Family:
    """A root execution and those below it that are live.

    `members` has the depth of each, `live` is what they count together. When it is `ending` nobody is
    added to it any more. When it is `full` nobody is until half have ended: what has met its bound once would
    else go on meeting it, for as long as it can fail and start again.
    """

    __slots__ = ("ending", "full", "live", "members")

    def __init__(self) -> None:
        self.members: dict[str, int] = {}
        self.live = 0
        self.ending = False
        self.full = False


class Bounds:
    """Counts live executions, and refuses those that are too many."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._families: dict[str, Family] = {}  # of roots below which something has been started
        self._wide: dict[
            str, int
        ] = {}  # the counts of executions that are not in memory, but for those that count one
        self._noted: set[str] | None = None

    # --- counting ----------------------------------------------------------------------------

    def note_begun(self, ids: set[str] | None) -> None:
        """Adds the ids of executions that begin from now on to a set; None ends it."""
        self._noted = ids

    def restored(self, live: Iterable[Lineage]) -> None:
        """Counts executions that were live when the server started, but for their families."""
        for one in live:
            usage = self._parts.used(one.namespace)
            usage.live += 1
            usage.running += one.is_call

    def related(self, found: Mapping[str, Lineage], below: Iterable[Lineage]) -> None:
        """Counts executions in their families, when all that were live at the start are `found`."""
        for one in below:
            root = one.root
            while root in found and found[root].root != root:
                root = found[root].root
            if root == one.execution:
                continue
            if root in found and root not in self._families:
                self._join(root, root, found[root].depth, 1)
            self._join(root, one.execution, one.depth, 1)

    def begun(self, run: LiveExecution) -> None:
        """Counts an execution that begins."""
        origin = run.origin
        self._stands(run)
        if origin.root != run.id:
            self._join(origin.root, run.id, origin.depth, 1)
        self._watch(run)

    def returned(self, run: LiveExecution) -> None:
        """Notes that an execution that is counted already has come back into memory."""
        run.width = self._wide.pop(run.id, 1)
        self.changed(run)
        self._watch(run)

    def redriven(self, run: LiveExecution) -> None:
        """Counts an execution that had ended, and is redriven."""
        origin = run.origin
        self._stands(run)
        if origin.root in self._families or origin.root != run.id:
            self._join(origin.root, run.id, origin.depth, 1)
        self.changed(run)
        self._watch(run)

    def changed(self, run: LiveExecution) -> None:
        """Counts its branches anew, unless it has ended."""
        width = len(run.execution.fibers) or 1
        if width != run.width and run.width:
            self._add(run, width - run.width)
            run.width = width

    def left(self, run: LiveExecution) -> None:
        """Notes that an execution has left memory, and is still live."""
        if run.width != 1:
            self._wide[run.id] = run.width

    def ended(self, run: LiveExecution) -> None:
        """Counts an execution no more."""
        if run.width and run.origin.is_call(run.id):
            self._parts.used(run.origin.namespace).running -= 1
        self._add(run, -run.width)
        run.width = 0
        family = self._families.get(run.origin.root)
        if family is not None:
            family.members.pop(run.id, None)
            if not family.members:
                del self._families[run.origin.root]

    def _stands(self, run: LiveExecution) -> None:
        if self._noted is not None:
            self._noted.add(run.id)
        run.width = 1
        usage = self._parts.used(run.origin.namespace)
        usage.live += 1
        usage.running += run.origin.is_call(run.id)

    def _add(self, run: LiveExecution, count: int) -> None:
        self._parts.used(run.origin.namespace).live += count
        family = self._families.get(run.origin.root)
        if family is not None:
            family.live += count

    def _join(self, root: str, id: str, depth: int, width: int) -> None:
        family = self._families.get(root)
        if family is None:
            family = self._families[root] = Family()
            top = self._parts.runs.get(root)
            if top is not None and root != id:  # it was alone until now
                family.members[root] = top.origin.depth
                family.live += top.width
        family.members[id] = depth
        family.live += width

    # --- asking ------------------------------------------------------------------------------

    @property
    def live(self) -> int:
        """The number of live executions and branches in all namespaces."""
        return sum(usage.live for usage in self._parts.usage.values())

    def family(self, root: str) -> Family | None:
        """The live executions below a root, and itself; None if it has started none that is live."""
        return self._families.get(root)

    def refused(self, run: LiveExecution) -> Failure | None:
        """The failure if an execution may not start another; None if it may."""
        return self._refused(run, 1)

    def _watch(self, run: LiveExecution) -> None:
        run.execution.room = _Room(self, run.id)

    def forking(self, id: str, standing: int, more: int) -> Failure | None:
        """The failure if an execution with so many fibers may not start so many more; None if it may."""
        run = self._parts.runs.get(id)
        return None if run is None else self._refused(run, standing - run.width + more)

    def _refused(self, run: LiveExecution, more: int) -> Failure | None:
        origin = run.origin
        family = self._families.get(origin.root)
        if family is not None and family.ending:
            return _failed(
                CANCELLED, f"The execution {origin.root}, which started this, was ended."
            )
        quotas = self._parts.settings.quotas(origin.namespace)
        limit = quotas.descendants
        below = (run.width if family is None else family.live) - 1 + more
        if family is not None and family.full and limit is not None:
            family.full = below > limit // 2
        if limit is not None and (below > limit or (family is not None and family.full)):
            if family is not None:
                family.full = True
            return _failed(
                LIMIT_EXCEEDED,
                f"The execution {origin.root} would have {max(below, limit + 1)} executions and branches "
                f"below it at the same time, and may have {limit}. Start fewer at a time (a map has "
                "'concurrency'), or ask the operator to raise the limit 'descendants'.",
            )
        live = self._parts.used(origin.namespace).live + more
        if quotas.live is not None and live > quotas.live:
            return _failed(
                LIMIT_EXCEEDED,
                f"The namespace {origin.namespace} would have {live} executions and branches at the "
                f"same time, and may have {quotas.live}. Wait until some have ended, terminate some, "
                "or ask the operator to raise the limit 'liveExecutions'.",
            )
        return None


class _Room:
    """The room of one execution. It is small: each execution in memory has one."""

    __slots__ = ("_bounds", "_id")

    def __init__(self, bounds: Bounds, id: str) -> None:
        self._bounds, self._id = bounds, id

    def __call__(self, standing: int, more: int) -> Failure | None:
        return self._bounds.forking(self._id, standing, more)


def _failed(code: str, text: str) -> Failure:
    return Failure(code, {"code": code, "message": text})
