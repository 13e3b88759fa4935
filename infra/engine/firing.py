"""Triggers fire: each active rule invokes its action, and one commit holds all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ...actions import (
    GIVEN,
    PLAIN,
    ActivationRow,
    RefusedError,
    Trigger,
    about_trigger,
    check_payload,
    closed_trigger,
    fired,
    merged,
    not_fired,
)
from ...composer import CloudEvent, changed, frozen
from .emitting import hops_after
from .inbox.pending import called
from .unwaited import ALARM, Unwaited
from .unwaited import TRIGGER as BY_TRIGGER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...actions import Document, Rule, Verdict
    from ...composer import JSON, Name
    from .contexts import Contexts
    from .dead_letter_records import DeadLetterRecords
    from .inbox.inbox import Inbox
    from .shared import Parts
    from .tick import Tick

TRIGGER = "trigger"  # the kind of its activation


@frozen
class Fired:
    """What came of a fire of a trigger with active rules.

    Args:
        activation: of the trigger; None if no rule has invoked its action, because of their conditions.
    """

    activation: str | None


def _judged(payload: dict[str, JSON] | CloudEvent) -> dict[str, JSON]:
    """What conditions of rules see of a fire."""
    return payload.to_json() if isinstance(payload, CloudEvent) else {"data": payload}


class Firing:
    """Fires triggers."""

    def __init__(
        self,
        parts: Parts,
        tick: Tick,
        inbox: Inbox,
        letters: DeadLetterRecords,
        contexts: Contexts,
    ) -> None:
        self._parts, self._tick, self._inbox, self._letters = parts, tick, inbox, letters
        self._contexts = contexts

    async def fire(
        self,
        name: Name,
        payload: dict[str, JSON] | CloudEvent,
        documents: Sequence[Document] = (),
        beside: Callable[[], None] | None = None,
    ) -> str | None:
        """Fires a trigger; returns when that is durable.

        Args:
            name: of the trigger.
            payload: goes over its parameters, to each action. Conditions of rules see it as the event's data.
            documents: committed together with it, whether a rule is active or not.
            beside: adds more to the commit, the same.

        Returns:
            The id of its activation; None when no rule is active or invokes its action: then there is none.

        Raises:
            RefusedError: when there is no such trigger, or it may not fire now.
        """
        trigger, rules, params = self._prepared(name, payload)
        event = _judged(payload)
        if not rules and not documents and beside is None:
            return None
        self._tick.ensure()
        now_ms = self._admitted(name, rules)
        with self._tick.apart() as unit:
            accepted = self._tick.durable()
            unit.write.documents += documents
            if beside is not None:
                beside()
            id = self._record(trigger, self._verdicts(rules, event, now_ms), params, now_ms)
        await accepted
        return id

    def gather(self, name: Name, event: CloudEvent) -> Fired | None:
        """Fires a trigger because of a CloudEvent, in the unit that gathers now.

        Returns:
            What came of it; None when no rule is active.

        Raises:
            RefusedError: when there is no such trigger, or it may not fire now: then nothing has gathered.
        """
        trigger, rules, params = self._prepared(name, event)
        if not rules:
            return None
        now_ms = self._admitted(name, rules)
        verdicts = self._verdicts(rules, _judged(event), now_ms)
        return Fired(self._record(trigger, verdicts, params, now_ms, hops_after(event)))

    def _prepared(
        self, name: Name, payload: dict[str, JSON] | CloudEvent
    ) -> tuple[Trigger, list[Rule], dict[str, JSON]]:
        """The trigger, its active rules, and what they invoke their actions with."""
        trigger = self._parts.catalog.get(Trigger, name)
        given = payload.params if isinstance(payload, CloudEvent) else payload
        params = merged(trigger.parameters, given)
        check_payload(len(orjson.dumps(params)), self._parts.settings.quotas(name.namespace))
        rules = [rule for rule in self._parts.catalog.rules_of(name) if rule.active]
        return trigger, rules, params

    def _admitted(self, name: Name, rules: Sequence[Rule]) -> int:
        """Counts a fire, if it has rules. Returns the time."""
        now_ms = self._parts.clock.now_ms()
        if rules:
            quotas = self._parts.settings.quotas(name.namespace)
            self._parts.used(name.namespace).admit_fire(quotas, now_ms)
        return now_ms

    async def missed(
        self, name: Name, payload: JSON, why: str, documents: Sequence[Document]
    ) -> None:
        """Keeps as a dead letter that an alarm could not fire its trigger, with the documents in one commit."""
        with self._tick.apart() as unit:
            accepted = self._tick.durable()
            unit.write.documents += documents
            self._letters.refused(name.namespace, str(name), Unwaited(ALARM), payload, why)
        await accepted

    def _verdicts(
        self, rules: Sequence[Rule], event: dict[str, JSON], now_ms: int
    ) -> list[tuple[Rule, Verdict]]:
        """The rules that invoke their actions, and those that could not be judged."""
        verdicts = [(rule, self._contexts.judge(rule, event, now_ms)) for rule in rules]
        return [(rule, verdict) for rule, verdict in verdicts if verdict.fires or verdict.why]

    def _record(
        self,
        trigger: Trigger,
        verdicts: Sequence[tuple[Rule, Verdict]],
        params: dict[str, JSON],
        now_ms: int,
        hops: int = 0,
    ) -> str | None:
        """Invokes actions, and keeps the activation of the trigger. Returns its id; None if there is nothing to tell."""
        if not verdicts:
            return None
        id, namespace = self._parts.ids.execution_id(now_ms), trigger.name.namespace
        logs = [
            not_fired(rule, verdict.why)
            if verdict.why is not None
            else self._invoke(rule, {**params, **verdict.params}, now_ms, hops)
            for rule, verdict in verdicts
        ]
        text = orjson.dumps(params)
        body = {
            "about": about_trigger(trigger),
            "closed": [*closed_trigger(logs)],
            "execution": id,
            "size": len(text),
            "result": {"v": orjson.Fragment(text)},
        }
        row = ActivationRow(
            id, namespace, trigger.name.name, now_ms, 0, None, orjson.dumps(body), TRIGGER
        )
        self._tick.gathering.write.activations.append(row)
        return id

    def _invoke(self, rule: Rule, params: dict[str, JSON], now_ms: int, hops: int) -> str:
        """Begins a rule's action. Returns the line that tells what came of it."""
        namespace = rule.name.namespace
        unwaited = Unwaited(BY_TRIGGER, str(rule.name))
        try:
            action = self._parts.catalog.resolve(rule.action, namespace)
            quotas = self._parts.settings.quotas(namespace)
            if GIVEN in params:  # the results of a join make them larger than those of the fire
                check_payload(len(orjson.dumps(params)), quotas)
            self._parts.used(namespace).admit(quotas, now_ms)
        except RefusedError as error:
            self._letters.refused(namespace, str(rule.action), unwaited, params, str(error))
            return not_fired(rule, str(error))
        id = self._parts.ids.execution_id(now_ms)
        beginning = called(action, params, namespace, unwaited=unwaited)
        options = changed(PLAIN, hops=hops) if hops else PLAIN
        self._inbox.begin(id, changed(beginning, options=options))
        return fired(rule, id)
