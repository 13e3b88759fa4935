"""The methods that the engine in your program and the client of a server share.

A program that is written for `Xingqiao` runs with either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from ...composer import NOTHING
from .batches import Batches
from .events import Events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Unpack

    from ...composer import JSON, Composition, Outcome
    from .entities import Entity
    from .listings import Document, Listing
    from .schedules import Schedule
    from .starting import StartArguments
    from .workers import Worker


Telling: TypeAlias = "tuple[str, JSON] | tuple[str, JSON, str]"
"""A message: its name, its payload, and perhaps an id by which it is taken once."""


class Execution(Protocol):
    """One execution of a composition, or one run of an action. It need not exist: each method says so.

    Each method raises NotFoundError if there is no such execution.
    """

    @property
    def id(self) -> str:
        """The id of the execution: the one that you gave it, or the id of its run."""

    @property
    def run(self) -> str | None:
        """The run that the handle was made for; None for the open run, else the newest."""

    @property
    def document(self) -> Document | None:
        """The execution as the list that it comes from has shown it; None if it comes from no list."""

    async def result(self, timeout: float | None = None) -> JSON:  # noqa: ASYNC109  the engine waits
        """Waits for the end of the execution. Returns its result.

        Args:
            timeout: seconds to wait; None for no limit.

        Raises:
            ActionError: the execution has failed; ActionTimedOutError, ActionCancelledError and
                ActionTerminatedError tell the other ways to end.
            TimeoutError: the execution has not ended within `timeout`. It goes on.
        """

    async def status(self) -> Document:
        """The state of the execution and of its fibers, as the HTTP API shows it."""

    def history(self, *, follow: bool = False) -> Listing[Document]:
        """The history entries so far. With `follow`, `async for` also waits for those to come."""

    async def query(self, name: str, *, reject: str = "") -> JSON:
        """Answers a query that the composition declares, or a built-in one such as `$variables`.

        Args:
            name: the name of the query.
            reject: `closed` to refuse if the execution has ended, `failed` to refuse if it has failed.

        Raises:
            NotFoundError: there is no such execution, or it has no such query.
            ConflictError: it has ended, and `reject` refuses that.
            GoneError: it has ended, and the answer was not kept.
        """

    async def cancel(self) -> None:
        """Asks the execution to stop: running steps are abandoned, finalizers and compensations run.

        Raises:
            ConflictError: it has ended.
        """

    async def terminate(self) -> None:
        """Ends the execution at once, without finalizers, and all executions below it.

        Raises:
            ConflictError: it has ended.
        """

    async def pause(self) -> None:
        """Begins no further step. Running steps end, and timers run on, until `resume`.

        Raises:
            ConflictError: it has ended, or is express, or is an action that was invoked by itself.
        """

    async def resume(self) -> None:
        """Lets a paused execution go on. If a failed step paused it, the step is retried.

        Raises:
            ConflictError: it is not paused.
        """

    async def redrive(self, composition: Composition | None = None) -> None:
        """Continues a failed execution from its failed steps, with a corrected composition if given.

        The actions that the composition defines are deployed first.

        Raises:
            ConflictError: it cannot be redriven; the text says why.
        """

    async def reset(
        self,
        to: int | str = "last",
        *,
        step: str | None = None,
        composition: Composition | None = None,
        reason: str = "",
        messages: str = "keep",
    ) -> Execution:
        """Begins the execution again at an entry of its history. Returns the new run; an open run ends.

        Args:
            to: number of the entry, `first` or `last` (the last step that was asked for).
            step: path of a step, or name of its action, instead: its last run counts.
            composition: corrected composition for the new run.
            reason: text for the history.
            messages: `keep` to tell the new run the messages that came after the entry, `drop` to forget them.

        Raises:
            ConflictError: it cannot be reset to this entry; the text says why.
        """

    async def fork(  # noqa: PLR0913  an entry has as many differences
        self,
        to: int | str = "last",
        *,
        step: str | None = None,
        composition: Composition | None = None,
        reason: str = "",
        messages: str = "keep",
        input: JSON = NOTHING,
        id: str = "",
    ) -> Execution:
        """Begins a new execution at an entry of this one's history; this one goes on. Returns the new one.

        Args:
            to: number of the entry, `first` or `last` (the last step that was asked for).
            step: path of a step, or name of its action, instead: its last run counts.
            composition: corrected composition for the new execution.
            reason: text for the history.
            messages: `keep` to tell the new one the messages that came after the entry, `drop` to forget them.
            input: other input for the step that the entry asks for.
            id: your id for the new execution.

        Raises:
            ConflictError: it cannot be forked at this entry, or the id is in use; the text says why.
        """

    async def annotate(
        self, attributes: dict[str, JSON] | None = None, *, memo: JSON = NOTHING
    ) -> Document:
        """Sets attributes of an execution, which may have ended. Returns its attributes and its memo.

        Args:
            attributes: by name; None removes one. Those that are not named stay as they are.
            memo: its new memo; it stays as it is if this is left out.

        Raises:
            InvalidError: an attribute is not declared, or a value does not fit.
            ConflictError: it is an express execution that has not ended.
        """

    async def tell(self, name: str, payload: JSON = None, *, id: str = "") -> bool:
        """Tells an execution a message. Returns False if one with this id was told before.

        Args:
            name: of the message.
            payload: any JSON.
            id: by which the message is taken once; "" to take it in any case.

        Raises:
            NotFoundError: there is no such execution.
            ClosedError: it has ended.
            TooManyMessagesError: too many messages wait for it.
        """

    async def update(
        self,
        name: str,
        payload: JSON = None,
        *,
        id: str = "",
        wait: str = "completed",
        timeout: float | None = None,  # noqa: ASYNC109  the server waits
    ) -> JSON:
        """Updates an execution. Returns the answer, or the id of the update if it waits for `accepted` only.

        Args:
            name: of the update, which the composition declares.
            payload: any JSON.
            id: by which the update is taken once: asked again, it has the same answer; "" for a new one.
            wait: `completed` to wait for the answer, `accepted` to return when the update is durable.
            timeout: seconds to wait; None for no limit.

        Raises:
            NoSuchUpdateError: the execution handles no such update.
            RejectedError: the validator of the composition rejects it.
            ClosedError: the execution, or the part that handles the update, has ended.
            TooManyUpdatesError: the execution has too many updates.
            NotFoundError: there is no such execution.
            ActionError: the update has failed; its code is `Closed` if the part that handles it ended before.
            TimeoutError: there is no answer within `timeout`. The update goes on.
        """

    async def update_answer(
        self,
        name: str,
        id: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109  the server waits
    ) -> JSON:
        """Waits for the answer to an update that was accepted, also after the execution has ended.

        Args:
            name: of the update.
            id: of the update.
            timeout: seconds to wait; None for no limit.

        Raises:
            NotFoundError: there is no such execution, or it has accepted no such update.
            ActionError: the update has failed.
            TimeoutError: there is no answer within `timeout`. The update goes on.
        """

    async def complete(self, result: JSON, *, step: str | None = None) -> None:
        """Answers a step that waits for its callback.

        Args:
            result: the result of the step.
            step: the step's fiber, or the name of its action; needed if several steps wait.

        Raises:
            ConflictError: no such step waits, or several do.
        """

    async def fail(self, error: JSON, *, step: str | None = None) -> None:
        """Fails a step that waits for its callback; arguments and errors as for `complete`."""


class Actions(Protocol):
    """Deploys actions and runs them."""

    async def deploy(self, name: str, composition: Composition) -> None:
        """Deploys a composition as an action, with the actions that it defines inline.

        A composition that is deployed already in this form gets no new version.

        Raises:
            RefusedError: a definition is malformed.
        """

    async def define(self, composition: Composition) -> None:
        """Deploys the actions that a composition defines inline, without the composition.

        Raises:
            RefusedError: a definition is malformed.
        """

    async def put(self, name: str, document: JSON) -> None:
        """Creates or updates an action from a document in the form of the HTTP API.

        Raises:
            RefusedError: the document is malformed.
        """

    async def invoke(
        self,
        name: str,
        params: dict[str, JSON] | None = None,
        **options: Unpack[StartArguments],
    ) -> JSON:
        """Runs an action to its end. Returns its result.

        Args:
            name: the action.
            params: its parameters.
            options: see `StartArguments`.

        Raises:
            RefusedError: no action has this name, or a limit refuses the call.
            TakenIdError: an execution has the id, and a policy refuses the start.
            ActionError: the action has failed.
        """

    async def run(
        self,
        name: str,
        params: dict[str, JSON] | None = None,
        **options: Unpack[StartArguments],
    ) -> tuple[str, Outcome]:
        """Runs an action to its end. Returns the activation's id and the outcome; arguments as for `invoke`.

        Raises:
            RefusedError: no action has this name, or a limit refuses the call.
        """

    async def start(
        self,
        name: str,
        params: dict[str, JSON] | None = None,
        **options: Unpack[StartArguments],
    ) -> Execution:
        """Starts an action without waiting. Returns its handle once the start is durable; arguments as for `invoke`.

        Raises:
            RefusedError: no action has this name, or a limit refuses the call.
        """

    async def tell_or_start(
        self, name: str, params: dict[str, JSON] | None = None, *, id: str, message: Telling
    ) -> Execution:
        """Tells the open execution with your id a message, or starts one that is told it first, in one commit.

        Args:
            name: the composition to start if no execution with the id is open.
            params: its parameters.
            id: your id for the execution.
            message: `(name, payload)`, or `(name, payload, message id)`: a message id is taken once.

        Returns:
            The handle of the run that is told.

        Raises:
            RefusedError: the composition does not exist, or the message is refused.
        """

    def worker(  # noqa: PLR0913  a worker has as many options
        self,
        queue: str,
        functions: Iterable[Callable[..., Any]],
        *,
        slots: int = 10,
        version: str = "",
        name: str = "",
        grace_s: float = 30.0,
    ) -> Worker:
        """Makes a worker, which takes tasks from a queue and runs functions on them: see `Worker`.

        `async with` starts the worker and stops it at the end of the block; `await worker.run()` works until `stop`.

        Args:
            queue: name of the queue.
            functions: functions marked `@composer.action`, or plain ones under their own names. A function that
                is not `async` runs in a thread; a parameter `step` gets the task's `Step`.
            slots: tasks at the same time.
            version: version of the worker; it gets the tasks for this version and those for any.
            name: name of the worker; "" for one made of the host and the process.
            grace_s: seconds in which functions may end when the worker stops.

        Raises:
            InvalidError: an argument is not valid. The text names it.
        """


class Xingqiao(Actions, Batches, Events, Protocol):
    """The engine, in your program (`xingqiao.embedded`) or on a server (`xingqiao.client`)."""

    def execution(self, id: str, run: str | None = None) -> Execution:
        """The handle of an execution, or of a run of an action that was invoked by itself.

        Args:
            id: the id of a run, or the one that you gave: then the open run, else the newest.
            run: another run of the execution with your id.
        """

    def executions(
        self,
        where: str = "",
        *,
        name: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        skip: int = 0,
    ) -> Listing[Execution]:
        """Executions of compositions: the newest first, or in the order that the filter says.

        `async for` goes over their handles, `await` returns documents (30 if there is no limit).

        Args:
            where: a filter, such as `customer = 'anna' and status = 'failed' order by started asc`.
            name: only those of this action.
            status: only those in this status.
            limit: the maximum number of executions.
            skip: the number of executions to leave out at the start; not with a filter.

        Raises:
            InvalidError: the filter is malformed, or `skip` is given with it.
        """

    async def count(
        self,
        where: str = "",
        *,
        name: str | None = None,
        status: str | None = None,
        group: str | None = None,
    ) -> Document:
        """Counts the executions that a filter finds.

        Args:
            where: a filter; "" for all executions.
            name: only those of this action.
            status: only those in this status.
            group: `status` to count those in each status too.

        Returns:
            `{"count"}`, with `groups` if asked.

        Raises:
            InvalidError: the filter is malformed, or there is no such group.
        """

    async def declare(self, name: str, type: str) -> None:
        """Declares an attribute by which executions are found.

        Args:
            name: of the attribute.
            type: `text`, `number`, `boolean`, `instant` or `keywords`.

        Raises:
            InvalidError: the name or the type is not valid.
            ConflictError: the attribute is declared with another type.
        """

    def history(self, id: str) -> Listing[Document]:
        """The history of an execution: see `Execution.history`."""

    def entity(self, type: str, key: str) -> Entity:
        """The handle of an entity."""

    def schedule(self, name: str) -> Schedule:
        """The handle of a schedule: to create, describe, pause, trigger or delete it."""

    def schedules(self) -> Listing[Schedule]:
        """The schedules by name: `async for` goes over their handles, `await` returns a line for each."""

    async def fire(self, trigger: str, payload: dict[str, JSON] | None = None) -> str | None:
        """Fires a trigger. Returns the id of its activation; None if no rule invokes its action.

        Raises:
            NotFoundError: no trigger has this name.
        """

    async def activation(self, id: str) -> Document:
        """The record of an activation that has ended: its result, its logs, its times.

        Raises:
            NotFoundError: there is none, or it has not ended.
        """

    def activations(
        self, *, name: str | None = None, limit: int | None = None, skip: int = 0
    ) -> Listing[Document]:
        """Activations, the newest first; of one action, if given. The records have no results and logs."""

    async def logs(self, id: str) -> list[str]:
        """The log lines of an activation that has ended.

        Raises:
            NotFoundError: there is none, or it has not ended.
        """
