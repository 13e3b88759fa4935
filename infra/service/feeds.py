"""The feeds of this service: alarms and webhooks, which fire triggers.

The store has a document for each trigger with a feed. An alarm fires and moves on in one commit, so that a
crash neither skips a time nor repeats one.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Self

from ...actions import (
    INTERNAL_ERROR,
    ONCE,
    Completion,
    ConflictError,
    Document,
    ForbiddenError,
    InDoubtError,
    InvalidError,
    NotFoundError,
    RefusedError,
    Rule,
    Schedule,
    Trigger,
    UnauthorizedError,
    UnavailableError,
    Write,
    scheduled,
)
from ...composer import APPLICATION_ERROR, Error, Failure, Name, Success
from ..engine import Timers
from .feed_records import SCHEDULE, WEBHOOK, Webhook, schedule_document, webhook_document

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from ...actions import Clock, Invocation
    from ...composer import JSON
    from ..engine import Engine
    from .feed_records import FeedRecords

log = logging.getLogger(__name__)

FEED = "feed"  # the kind of the feeds' actions
SIGNATURE = "x-hub-signature-256"
TOKEN_BYTES = 24
EVENTS = ("CREATE", "READ", "UPDATE", "DELETE", "PAUSE", "UNPAUSE")
DONE: dict[str, JSON] = {"status": "success"}


class Feeds:
    """Runs the actions of feeds, and fires triggers. An `Invoker`.

    Use it with `async with`, around the engine, and call `begin` once the engine runs.

    Args:
        records: the schedules and webhooks.
        engine: has the triggers.
        clock: the time.
        retry_ms: until an alarm is tried again that the store did not take.
    """

    kinds = frozenset({FEED})

    def __init__(
        self, records: FeedRecords, engine: Engine, clock: Clock, retry_ms: int = 1_000
    ) -> None:
        self._records, self._engine, self._clock = records, engine, clock
        self._retry_ms = retry_ms
        self._schedules, self._webhooks = records.schedules, records.webhooks
        self._timers = Timers(clock, self._due)
        self._tasks = asyncio.TaskGroup()
        self._running: set[asyncio.Task[None]] = set()
        self._begun = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        for task in self._running:  # the engine has stopped: nothing of theirs can be committed
            task.cancel()
        await self._tasks.__aexit__(None, None, None)

    async def begin(self) -> None:
        """Fires the triggers of the running engine, first those whose time was missed."""
        now_ms = self._clock.now_ms()
        removed = await self._records.load(self._engine.catalog)
        if removed:
            await self._commit(removed)
        for key, schedule in self._schedules.items():
            self._take(key, schedule.caught_up(now_ms))
        self._begun.set()

    def end(self) -> None:
        """Stops firing triggers."""
        self._timers.stop()

    async def _commit(self, documents: list[Document]) -> None:
        await self._engine.commit(Write(documents=documents))

    def _run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = self._tasks.create_task(_guarded(coroutine))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    # --- the port ----------------------------------------------------------------------------

    def invoke(self, invocation: Invocation, done: Callable[[Completion], None]) -> None:
        self._run(self._answered(invocation, done))

    def cancel(self, activation: str) -> None:
        """Does nothing: a feed's work ends at once."""

    async def _answered(self, invocation: Invocation, done: Callable[[Completion], None]) -> None:
        started_ms = self._clock.now_ms()
        outcome: Success | Failure
        try:
            await self._begun.wait()
            outcome = Success(await self._asked(invocation))
        except Error as error:
            outcome = Failure(APPLICATION_ERROR, str(error))
        except Exception:
            log.exception("the feed %s failed because of an internal error", invocation.action.name)
            outcome = Failure(
                INTERNAL_ERROR,
                "The feed failed because of an internal error; the server's log has the reason.",
            )
        done(Completion(outcome, started_ms, self._clock.now_ms()))

    async def _asked(self, invocation: Invocation) -> dict[str, JSON]:
        params, feed = invocation.params, invocation.action.name.name
        event = params.get("lifecycleEvent")
        if event not in EVENTS:
            raise InvalidError(f"'lifecycleEvent' must be one of {', '.join(EVENTS)}")
        key = self._trigger(params.get("triggerName"), invocation.namespace)
        if feed == WEBHOOK:
            return await self._webhook(event, key, params)
        return await self._alarm(event, key, feed, params)

    def _trigger(self, text: JSON, namespace: str) -> str:
        """The full name of the trigger that is meant, which must be the caller's own."""
        if not isinstance(text, str):
            raise InvalidError("'triggerName' must be the full name of a trigger")
        name = Name.parse(text).within(namespace)
        if name.namespace != namespace:
            raise ForbiddenError(f"{name.namespace}/{name.path}")
        self._engine.catalog.get(Trigger, name)
        return str(name)

    # --- alarms ------------------------------------------------------------------------------

    async def _alarm(
        self, event: str, key: str, feed: str, params: dict[str, JSON]
    ) -> dict[str, JSON]:
        now_ms, known = self._clock.now_ms(), self._schedules.get(key)
        if event == "CREATE":
            asked = scheduled(feed, params, now_ms)
            if known is None:
                await self._put(key, asked)
            elif (known.feed, known.params) != (feed, asked.params):  # else it was asked twice
                raise ConflictError(f"the trigger {key} has an alarm: delete or update that")
            return DONE
        if known is None or known.feed != feed:
            raise NotFoundError(f"the trigger {key} has no alarm of the feed '{feed}'")
        if event == "READ":
            return _shown(key, known)
        if event == "DELETE":
            del self._schedules[key]
            await self._commit([Document(kind=SCHEDULE, key=key, body=None)])
        elif event == "UPDATE":
            await self._put(key, scheduled(feed, {**known.params, **params}, now_ms))
        else:
            changed = known.suspended() if event == "PAUSE" else known.resumed(now_ms)
            await self._put(key, changed)
        return DONE

    async def _put(self, key: str, schedule: Schedule) -> None:
        self._schedules[key] = schedule
        await self._commit([schedule_document(key, schedule)])
        self._arm(key, schedule)

    def _take(self, key: str, schedule: Schedule) -> None:
        self._schedules[key] = schedule
        self._arm(key, schedule)

    def _arm(self, key: str, schedule: Schedule) -> None:
        if schedule.due_ms is not None and not schedule.paused:
            self._timers.arm(schedule.due_ms, key, str(schedule.due_ms))

    def _due(self, key: str, due: str) -> None:
        """A timer has come: it is stale when the schedule has changed meanwhile."""
        schedule = self._schedules.get(key)
        if schedule is not None and not schedule.paused and str(schedule.due_ms) == due:
            after = self._schedules[key] = schedule.fired()  # nothing else fires it meanwhile
            self._run(self._fire(key, schedule, after))

    async def _fire(self, key: str, schedule: Schedule, after: Schedule) -> None:
        name, documents = Name.parse(key), [schedule_document(key, after)]
        try:
            await self._engine.firing.fire(name, schedule.payload, documents)
        except InDoubtError:
            pass  # it fires when the store works again, and is fired by then
        except UnavailableError:
            if self._schedules.get(key) is after:
                self._schedules[key] = schedule  # nothing of it is kept: it is still due
                again_ms = self._clock.now_ms() + self._retry_ms
                self._timers.arm(again_ms, key, str(schedule.due_ms))
            return
        except RefusedError as error:
            log.warning("%s did not fire at its time: %s", key, error)
            await self._engine.firing.missed(name, schedule.payload, str(error), documents)
        if self._schedules.get(key) is not after:
            return
        if after.due_ms is not None:
            self._arm(key, after)
        elif schedule.feed == ONCE and schedule.params.get("deleteAfterFire"):
            await self._delete(name, rules=schedule.params["deleteAfterFire"] == "rules")

    async def _delete(self, name: Name, *, rules: bool) -> None:
        """Deletes a trigger that has fired for the only time, and its rules if that was asked for."""
        linked = self._engine.catalog.rules_of(name) if rules else []
        try:
            for rule in linked:
                await self._engine.registry.remove(Rule, rule.name)
            await self._engine.registry.remove(Trigger, name)
        except RefusedError as error:
            log.warning("%s was not deleted after it fired: %s", name, error)

    # --- webhooks ----------------------------------------------------------------------------

    async def _webhook(self, event: str, key: str, params: dict[str, JSON]) -> dict[str, JSON]:
        known = self._webhooks.get(key)
        if event == "CREATE":
            if known is not None:
                raise ConflictError(f"the trigger {key} has a webhook: delete or update that")
            token = secrets.token_urlsafe(TOKEN_BYTES)
            secret = _secret(params.get("secret"))
            await self._keep(key, Webhook(hash=_hash(token), secret=secret))
            return {**DONE, "path": f"/api/v1/webhooks/{token}"}
        if known is None:
            raise NotFoundError(f"the trigger {key} has no webhook")
        if event == "READ":
            signed = known.secret is not None
            return {"config": {"signed": signed}, "status": {"active": not known.paused}}
        if event == "DELETE":
            del self._webhooks[key]
            await self._commit([Document(kind=WEBHOOK, key=key, body=None)])
        elif event == "UPDATE":
            await self._keep(key, replace(known, secret=_secret(params.get("secret"))))
        else:
            await self._keep(key, replace(known, paused=event == "PAUSE"))
        return DONE

    async def _keep(self, key: str, webhook: Webhook) -> None:
        self._webhooks[key] = webhook
        await self._commit([webhook_document(key, webhook)])

    async def hear(self, token: str, headers: Mapping[str, str], body: bytes) -> str | None:
        """Fires the trigger of a webhook that was called. Returns the trigger's activation, if it has one.

        Raises:
            NotFoundError: no webhook has this token.
            UnauthorizedError: the body needs a signature with the webhook's secret.
            RefusedError: the trigger may not fire now, or the body is not valid JSON.
        """
        hash = _hash(token)
        found = [item for item in self._webhooks.items() if item[1].hash == hash]
        if not found or found[0][1].paused:
            raise NotFoundError
        key, webhook = found[0]
        if webhook.secret is not None:
            made = hmac.new(webhook.secret.encode(), body, "sha256").hexdigest()
            told = headers.get(SIGNATURE, "").encode()
            if not hmac.compare_digest(f"sha256={made}".encode(), told):
                raise UnauthorizedError(f"The header {SIGNATURE} does not match the body.")
        return await self._engine.firing.fire(Name.parse(key), _payload(body))


async def _guarded(coroutine: Coroutine[Any, Any, None]) -> None:
    """Logs an error of ours: one feed must not end the others."""
    try:
        await coroutine
    except Exception:
        log.exception("a feed failed because of an internal error")


def _shown(key: str, schedule: Schedule) -> dict[str, JSON]:
    """As the alarms' package answers a READ."""
    name = Name.parse(key)
    params = {k: v for k, v in schedule.params.items() if k != "trigger_payload"}
    status: dict[str, JSON] = {
        "active": schedule.due_ms is not None and not schedule.paused,
        "dateChanged": schedule.changed_ms,
        "next": schedule.due_ms,
    }
    config: dict[str, JSON] = {
        "name": name.name,
        "namespace": name.namespace,
        "payload": schedule.payload,
    }
    return {"config": config | params, "status": status}


def _secret(value: JSON) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    raise InvalidError("the parameter 'secret' must be a non-empty string")


def _payload(body: bytes) -> dict[str, JSON]:
    from ..http import parse  # noqa: PLC0415  an embedded engine has no webhooks

    try:
        payload = parse(body) if body else {}
    except ValueError as error:
        raise InvalidError(f"The request content was malformed:\n{error}") from None
    return payload if isinstance(payload, dict) else {"value": payload}


def _hash(token: str) -> str:
    """Tokens are long and random, so one round of SHA-256 keeps them."""
    return sha256(token.encode()).hexdigest()
