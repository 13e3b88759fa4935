"""Activities: work that a worker polls for, and answers by its token.

Waiting work is in memory only: after a crash the engine repeats the steps that no worker has taken. When a
worker takes a step, that is durable before the worker gets it, so that no other worker gets it too.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import orjson

from ...actions import (
    ActivityArn,
    Completion,
    Document,
    NotFoundError,
    UnavailableError,
    Write,
    parsed_arn,
)
from ...composer import Failure, Success

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ...actions import Clock, Invocation, Store
    from ...composer import JSON
    from ..engine import Engine

ACTIVITY = "activity"  # the kind of the action that hands out work, and of the documents
TAGS = "tags"  # a field of the configuration
RUNTIME = "States.Runtime"
POLL_S = 60.0  # a worker's wait for work, as on AWS


@dataclass(frozen=True, slots=True)
class Activity:
    """An activity: its name, and its tags and encryption in AWS' words as `configuration`."""

    namespace: str
    name: str
    created_ms: int
    configuration: dict[str, JSON] = field(default_factory=dict)

    @property
    def tags(self) -> dict[str, str]:
        tags = self.configuration.get(TAGS)
        return {key: str(value) for key, value in tags.items()} if isinstance(tags, dict) else {}


class Work(NamedTuple):
    """A step for a worker: its input, and the token to answer by."""

    token: str
    input: JSON


class _Task(NamedTuple):
    """A step that waits for a worker."""

    invocation: Invocation
    done: Callable[[Completion], None]


Gone: TypeAlias = "Callable[[], Awaitable[bool]]"


async def _here() -> bool:
    return False


class Activities:
    """Creates activities, and hands out their work. An `Invoker`.

    Args:
        store: store of the activities.
        clock: source of time.
        engine: runs the executions whose work is handed out.
        poll_s: time that a worker waits for work.
    """

    kinds = frozenset({ACTIVITY})

    def __init__(self, store: Store, clock: Clock, engine: Engine, poll_s: float = POLL_S) -> None:
        self._store, self._clock, self._engine, self._poll_s = store, clock, engine, poll_s
        self._created: dict[tuple[str, str], Activity] = {}
        self._tasks: dict[tuple[str, str], deque[_Task]] = {}
        self._workers: dict[tuple[str, str], deque[asyncio.Future[bool]]] = {}

    async def load(self) -> None:
        """Reads the activities from the store."""
        async for document in self._store.documents(ACTIVITY):
            activity = Activity(**orjson.loads(document.body or b""))
            self._created[activity.namespace, activity.name] = activity

    def close(self) -> None:
        """Ends the wait of all workers."""
        for workers in self._workers.values():
            for worker in workers:
                worker.cancel()

    # --- the activities ----------------------------------------------------------------------

    def get(self, namespace: str, name: str) -> Activity:
        """The activity of this name.

        Raises:
            NotFoundError: no activity has this name.
        """
        found = self._created.get((namespace, name))
        if found is None:
            raise NotFoundError
        return found

    def list(self, namespace: str) -> list[Activity]:
        """The activities of a namespace, in order of name."""
        found = [activity for activity in self._created.values() if activity.namespace == namespace]
        return sorted(found, key=lambda activity: activity.name)

    async def create(self, namespace: str, name: str, configuration: dict[str, JSON]) -> Activity:
        """Creates an activity. An existing one stays as it is."""
        known = self._created.get((namespace, name))
        if known is None:
            known = Activity(namespace, name, self._clock.now_ms(), configuration)
            await self._keep(namespace, name, orjson.dumps(asdict(known)))
            self._created[namespace, name] = known
        return known

    async def configure(self, activity: Activity, configuration: dict[str, JSON]) -> None:
        """Replaces the configuration of an activity."""
        changed = replace(activity, configuration=configuration)
        await self._keep(activity.namespace, activity.name, orjson.dumps(asdict(changed)))
        self._created[activity.namespace, activity.name] = changed

    async def delete(self, namespace: str, name: str) -> None:
        """Deletes an activity, if it exists. Its waiting work waits on, as on AWS."""
        if (namespace, name) in self._created:
            await self._keep(namespace, name, None)
            self._created.pop((namespace, name), None)

    async def _keep(self, namespace: str, name: str, body: bytes | None) -> None:
        document = Document(kind=ACTIVITY, key=f"/{namespace}/{name}", body=body)
        await self._store.commit([Write(documents=[document])])

    # --- the port ----------------------------------------------------------------------------

    def invoke(self, invocation: Invocation, done: Callable[[Completion], None]) -> None:
        """Queues a step for the activity that its `arn` names."""
        text = str(invocation.params.get("arn"))
        arn = parsed_arn(text)
        place = invocation.namespace, arn.name if isinstance(arn, ActivityArn) else ""
        if place not in self._created or not invocation.token:
            text = f"The activity {text} does not exist."
            self._fail(done, Failure(RUNTIME, {"Error": RUNTIME, "Cause": text}))
            return
        self._tasks.setdefault(place, deque()).append(_Task(invocation, done))
        self._call(place)

    def cancel(self, activation: str) -> None:
        """Withdraws a step that no worker has taken."""
        for tasks in self._tasks.values():
            for task in tasks:
                if task.invocation.activation == activation:
                    tasks.remove(task)
                    self._fail(task.done, Failure("Cancelled", "cancelled"))
                    return

    def _fail(self, done: Callable[[Completion], None], failure: Failure) -> None:
        now_ms = self._clock.now_ms()
        asyncio.get_running_loop().call_soon(partial(done, Completion(failure, now_ms, now_ms)))

    # --- work --------------------------------------------------------------------------------

    async def take(
        self, namespace: str, name: str, worker: str | None, gone: Gone = _here
    ) -> Work | None:
        """Waits for work and returns it; None if none arrives in time.

        Args:
            namespace: namespace of the activity.
            name: name of the activity.
            worker: name that the worker gives itself.
            gone: true if the worker has disconnected: then it gets nothing.

        Raises:
            NotFoundError: the activity does not exist.
            UnavailableError: the store does not commit.
        """
        self.get(namespace, name)
        if not self._engine.healthy:  # taken work must be durable
            raise UnavailableError(
                "The server cannot store anything at the moment: try again later."
            )
        place = namespace, name
        try:
            async with asyncio.timeout(self._poll_s):
                while not self._tasks.get(place):
                    await self._called(place)
                    if await gone():
                        self._call(place)
                        return None
        except TimeoutError:
            return None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return None  # by `close`
        tasks = self._tasks[place]
        invocation, done = tasks.popleft()
        if tasks:
            self._call(place)
        now_ms = self._clock.now_ms()
        taken: dict[str, JSON] = {} if worker is None else {"worker": worker}
        done(Completion(Success(taken), now_ms, now_ms))
        await self._engine.commit(Write())  # commits all pending writes, this one too
        return Work(invocation.token, invocation.params["input"])

    async def _called(self, place: tuple[str, str]) -> None:
        """Waits for a turn among the workers that poll the same activity."""
        waiting = self._workers.setdefault(place, deque())
        called: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        waiting.append(called)
        try:
            await called
        except asyncio.CancelledError:
            if called in waiting:
                waiting.remove(called)
            elif self._tasks.get(place):  # its turn goes to the next worker
                self._call(place)
            raise

    def _call(self, place: tuple[str, str]) -> None:
        """Gives the worker that has waited longest its turn."""
        waiting = self._workers.get(place)
        while waiting:
            called = waiting.popleft()
            if not called.done():
                called.set_result(True)
                return
