"""The failures of actions and executions, as a program that waits for them catches them."""

from __future__ import annotations

from ...composer import CANCELLED, RUN_TIMED_OUT, TIMEOUT, Error, Failure

TERMINATED = "terminated"  # the message of an execution that was ended at once


class ActionError(Error):
    """An invoked action has failed; `failure` has its code, its error and the classes of its exception."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class ActionCancelledError(ActionError):
    """The execution was cancelled."""


class ActionTerminatedError(ActionCancelledError):
    """The execution was ended at once, without its finalizers."""


class ActionTimedOutError(ActionError):
    """The execution, or a step that it needs, took longer than its timeout."""


LATE = "update '{name}' of execution {id} was not answered in time; it goes on"


def failed(failure: Failure) -> ActionError:
    """The error that tells a caller of a failure."""
    if failure.code in (TIMEOUT, RUN_TIMED_OUT):
        return ActionTimedOutError(failure)
    if failure.code != CANCELLED:
        return ActionError(failure)
    if isinstance(failure.error, dict) and failure.error.get("message") == TERMINATED:
        return ActionTerminatedError(failure)
    return ActionCancelledError(failure)
