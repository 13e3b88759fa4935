"""The policies of a join: which members it awaits, and its outcome.

Success: all must succeed (results in order of the members, never of their ends), or the first one
decides. Errors, where all must succeed: `fail`, the first failure decides and the others are
cancelled; `wait`, all are awaited and the first failure in order of the members is the outcome;
`collect`, a failure is a result like any other (`{"error": ...}` in its place).

Once the join is decided, members under way are cancelled and awaited: their finalizers run before the join
is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ..values import CANCELLED, Failure, Outcome, Success, failure
from .dialect import Iterations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..values import JSON
    from .instructions import Each, Fork
    from .sagas.compensations import Log

ALL_FAILED = "AllFailed"

Room: TypeAlias = "Callable[[int, int], Failure | None]"
"""Returns why an execution that has so many fibers may not start so many more; None if it may."""


def unbounded(_standing: int, _more: int) -> Failure | None:
    """A `Room` for any number of fibers."""
    return None


class Join:
    """The tally of one fork. Ending a member costs the same for any width."""

    def __init__(
        self, spec: Fork | Each | Iterations, width: int, items: list[JSON] | None = None
    ) -> None:
        self.width = width
        self.steps = 0  # of the members, for the parent's count
        self._items = items
        self._spec = spec
        self._first = getattr(spec, "first", False)
        self._names: tuple[str, ...] = getattr(spec, "names", ())
        self._after: tuple[tuple[int, ...], ...] = getattr(spec, "after", ())
        self._limit = getattr(spec, "concurrency", None) or width
        self._logs: dict[int, Log] = {}
        self._outcomes: list[Outcome | None] = [None] * width
        self._missing = [len(needs) for needs in self._after]
        self._dependants = _inverted(self._after)
        self._next = 0  # without dependencies: members start in order
        self._passed = 0  # of those under way: members that had ended at this point of a replay
        self._live: set[int] = set()
        self._decided: Outcome | None = None
        self._failures = 0  # so far, where some are tolerated

    def restore(
        self, ended: dict[int, tuple[Outcome, int, Log]], stored: set[int], *, cancelled: bool
    ) -> None:
        """Restores the tally from the members that have ended (with their steps) and those stored.

        A member without a trace is under way if it must have been started. Once the join is decided, only
        members that still run finalizers are under way, and these are always stored.
        """
        for index, (outcome, steps, log) in sorted(ended.items(), key=_cancelled_last):
            self._outcomes[index] = outcome
            self._keep(index, log)
            self.steps += steps
            self._decided = self._decided or self._verdict(outcome)
            if self._after and isinstance(outcome, Success):
                for dependant in self._dependants[index]:
                    self._missing[dependant] -= 1
        if cancelled:
            self.cancel()
        begun = max(stored, default=-1) + 1  # members start in order
        self._next = max(begun, min(self.width, len(ended) + self._limit))
        candidates: Iterable[int] = range(self._next)
        if self._decided is not None:
            candidates = stored
        elif self._after:
            candidates = (index for index, missing in enumerate(self._missing) if not missing)
        self._live = {index for index in candidates if index not in ended}

    @property
    def live(self) -> Iterable[int]:
        """Members under way, in no particular order."""
        return self._live

    @property
    def over(self) -> bool:
        """True if no member is under way, and no other is to start."""
        return not self._live

    def begin(self) -> list[int]:
        """The members to start first."""
        if self._after:
            ready = [index for index, missing in enumerate(self._missing) if not missing]
            self._live.update(ready)
            return ready
        return self._admit()

    def pass_over(self) -> list[int]:
        """The members to start beside one that has failed and will be continued."""
        if self._after or self._spec.errors != "wait":
            return []
        self._passed += 1
        return self._admit()

    def reset_passed_over(self) -> None:
        """Counts the members that were passed over again: no other member starts until there is room."""
        self._passed = 0

    def _admit(self) -> list[int]:
        room = self._limit + self._passed - len(self._live)
        room = max(0, min(room, self.width - self._next))
        ready = list(range(self._next, self._next + room))
        self._next += room
        self._live.update(ready)
        return ready

    def cancel(self) -> list[int]:
        """Stops starting members. Returns the members to cancel."""
        self._decided = self._decided or failure(CANCELLED, "cancelled")
        return sorted(self._live)

    def rebound(self, spec: Iterations) -> tuple[list[int], list[int]]:
        """Gives it other bounds. Returns the members to start now, and those to cancel."""
        self._spec, self._limit = spec, spec.concurrency or self.width
        if self._decided is not None:
            return [], []
        if (spec.tolerated or 0) < self.tally["failed"]:
            self._decided = spec.exceeded
            return [], sorted(self._live)
        return self._admit(), []

    @property
    def counted(self) -> bool:
        """True if its fiber needs the `tally` of its members."""
        return isinstance(self._spec, Iterations) and self._spec.counted

    @property
    def tally(self) -> dict[str, int]:
        """The number of members by how they ended; members under way count as aborted."""
        failures = [outcome for outcome in self._outcomes if isinstance(outcome, Failure)]
        cancelled = sum(outcome.code == CANCELLED for outcome in failures)
        succeeded = sum(isinstance(outcome, Success) for outcome in self._outcomes)
        aborted = cancelled + len(self._live)
        return {"succeeded": succeeded, "failed": len(failures) - cancelled, "aborted": aborted}

    @property
    def logs(self) -> tuple[Log, ...]:
        """The logs of the members that have one, in order."""
        return tuple(self._logs[index] for index in sorted(self._logs))

    def _keep(self, index: int, log: Log) -> None:
        if log:
            self._logs[index] = log

    def end(
        self, index: int, outcome: Outcome, steps: int, log: Log = ()
    ) -> tuple[list[int], list[int]]:
        """Counts a member that has ended. Returns the members to start now, and those to cancel."""
        self._live.discard(index)
        self._keep(index, log)
        self._outcomes[index] = outcome
        self.steps += steps
        if self._decided is not None:
            return [], []
        self._decided = self._verdict(outcome)
        if self._decided is not None:
            return [], sorted(self._live)
        if not self._after:
            return self._admit(), []
        return self._released(index, outcome), []

    def _verdict(self, outcome: Outcome) -> Outcome | None:
        if self._first:
            return outcome if isinstance(outcome, Success) else None
        if isinstance(outcome, Success):
            return None
        if isinstance(self._spec, Iterations) and self._spec.tolerated is not None:
            self._failures += 1
            return None if self._failures <= self._spec.tolerated else self._spec.exceeded
        return outcome if self._spec.errors == "fail" else None

    def _released(self, index: int, outcome: Outcome) -> list[int]:
        if isinstance(outcome, Failure):
            return []
        for dependant in self._dependants[index]:
            self._missing[dependant] -= 1
        ready = [member for member in self._dependants[index] if not self._missing[member]]
        self._live.update(ready)
        return ready

    def input(self, index: int, value: JSON) -> JSON:
        """The value that a member starts with: its item, its dependencies' results by name, or the fork's value."""
        if self._items is not None:
            return self._items[index]
        if not self._after or not self._after[index]:
            return value
        needs = ((need, self._outcomes[need]) for need in self._after[index])
        return {self._names[need]: ended.value for need, ended in needs if ended is not None}

    def outcome(self) -> Outcome:
        """The joint outcome; the join must be over."""
        if self._decided is not None:
            return self._decided
        if self._first:
            return self._none_succeeded()
        if self._spec.errors == "wait" and not isinstance(self._spec, Iterations):
            for outcome in self._outcomes:
                if isinstance(outcome, Failure):
                    return outcome
        results: list[JSON] = [outcome.value for outcome in self._outcomes if outcome is not None]
        if self._names:
            return Success(dict(zip(self._names, results, strict=True)))
        return Success({"value": results})

    @property
    def members(self) -> tuple[Outcome, ...]:
        """The outcomes of the members of a language's fork, in order; empty for a fork of the machine."""
        if not isinstance(self._spec, Iterations):
            return ()
        return tuple(outcome for outcome in self._outcomes if outcome is not None)

    def _none_succeeded(self) -> Failure:
        if not self.width:
            return failure(ALL_FAILED, "there was nothing to race")
        errors: list[JSON] = [
            outcome.error for outcome in self._outcomes if isinstance(outcome, Failure)
        ]
        return failure(ALL_FAILED, f"all {self.width} branches failed", errors=errors)


def width_of(spec: Fork | Each | Iterations, items: list[JSON] | None) -> int:
    """The number of members of a fork."""
    branches = getattr(spec, "branches", None)
    return len(items or ()) if branches is None else len(branches)


def _cancelled_last(member: tuple[int, tuple[Outcome, int, Log]]) -> tuple[bool, int]:
    """The order in which members have ended: the one that decided the join was not cancelled by it."""
    index, (outcome, _, _) = member
    return isinstance(outcome, Failure) and outcome.code == CANCELLED, index


def _inverted(after: tuple[tuple[int, ...], ...]) -> list[list[int]]:
    dependants: list[list[int]] = [[] for _ in after]
    for dependant, needs in enumerate(after):
        for need in needs:
            dependants[need].append(dependant)
    return dependants
