"""A run ends, and the next run of its chain begins, in one commit.

`Starts.continued` and `composer.Handover` list what the next run is given. All else that knows of the run (its
id, its parents, its children, those who wait for it) is told here, or finds the chain by its first run.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import orjson

from ....actions import (
    INVALID_REQUEST,
    NOT_FOUND,
    NotFoundError,
    RefusedError,
    check_payload,
)
from ....composer import Failed, Failure, handover
from ..names import chain_document, id_documents, key_of
from ..offspring import forget_child, note_child
from ..targets import given, resolvable

if TYPE_CHECKING:
    from ....actions import Action
    from ....composer import Invoke
    from ..core import Core
    from ..live import LiveExecution
    from .beginning import Starts, Work

NO_COMPOSITION = "{name} is not a composition of this server, so no execution can continue as it: name a composition"


class Continuing:
    """Hands executions over to the next runs of their chains."""

    def __init__(self, core: Core, starts: Starts) -> None:
        self._parts, self._tick, self._starts = core.parts, core.tick, starts

    def handed_over(self, run: LiveExecution, fiber: str, command: Invoke) -> list[Work]:
        """The end of a run and the begin of the next one; or the failure of the step that asks for it."""
        now_ms = run.now_ms(self._parts.clock)
        made = run.execution.next_run(now_ms)  # updates may have changed variables since it asked
        if isinstance(made, Failure):
            return _refused(run, fiber, command.turn, made, now_ms)
        action = self._next(run, made)
        if isinstance(action, Failure):
            return _refused(run, fiber, command.turn, action, now_ms)
        passed = handover(run.execution)
        run.next = made.activation
        ended = run.execution.hand_over(run.next, now_ms)
        value = given(action, made.params)
        begun = self._starts.continued(run, action, value, passed)
        self._link(run, begun[0], passed.ids)
        return [(run, ended), begun]

    def _next(self, run: LiveExecution, command: Invoke) -> Action | Failure:
        """The composition of the next run; a failure if there is none, or its input is not allowed."""
        origin, catalog = run.origin, self._parts.catalog
        try:
            if command.action is None:
                action = self._own(run)
            else:
                action = catalog.resolve(
                    resolvable(command.action, origin.namespace), origin.namespace
                )
            if action.program is None or action.program.dialect.introduces:
                return Failure(INVALID_REQUEST, NO_COMPOSITION.format(name=action.name))
            quotas = self._parts.settings.quotas(origin.namespace)
            check_payload(len(orjson.dumps(command.params)), quotas)
        except RefusedError as error:
            code = NOT_FOUND if isinstance(error, NotFoundError) else INVALID_REQUEST
            return Failure(code, {"code": code, "message": str(error)})
        return action

    def _own(self, run: LiveExecution) -> Action:
        """The composition of a run as it is deployed now; as the run began if it is not deployed."""
        own, origin = run.origin.action, run.origin
        try:
            action = self._parts.catalog.resolve(own.listed_as, origin.namespace)
        except RefusedError:
            return own
        return own if action.program is None else action

    def _link(self, run: LiveExecution, next: LiveExecution, ids: frozenset[str]) -> None:
        """Has all who know the run by its id find the next one."""
        origin, write, now_ms = run.origin, self._tick.gathering.write, next.origin.started_ms
        self._parts.handed[run.id] = next.id
        write.documents.append(chain_document(origin.chain_of(run.id), next.id, now_ms))
        if id := origin.options.id:
            write.documents += id_documents(key_of(origin.namespace, id), next.id, now_ms)
        if above := origin.options.parent:
            forget_child(self._parts.offspring, above, run.id)
            note_child(self._parts.offspring, above, next.id, origin.options.close)
        if origin.parent is not None:
            parent, place = (
                self._parts.runs.get(origin.parent.execution),
                (origin.parent.fiber, origin.parent.turn),
            )
            if parent is not None and (active := parent.invocations.get(place)) is not None:
                active.child = next.id
                parent.adopted[f"{place[0]}:{place[1]}"] = next.id
                if parent.recorded:
                    write.executions.append(parent.row(parent.standing, None))
        next.doubtful = run.doubtful
        if ids:
            self._tick.gathering.effects.append(partial(_forget, next, ids))


def _refused(
    run: LiveExecution, fiber: str, turn: int, failure: Failure, now_ms: int
) -> list[Work]:
    refused = Failed(turn, failure, may_have_run="no")
    return [(run, run.execution.deliver(fiber, refused, now_ms))]


def _forget(run: LiveExecution, ids: frozenset[str]) -> None:
    """The ids of messages that a run was handed are durable: the store says that they were taken."""
    if run.execution.inbox is not None:
        run.execution.inbox.ids -= ids
