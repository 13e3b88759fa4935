"""The documents that a worker is sent: its code, and each request to run it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..lambdas import handler_request

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ...composer import JSON, Again, Failure
    from ..model import Action
    from .assignments import Assignment
    from .packages import Packages


FAILURE_CHARS = 8192  # of the last failure in an environment, which has little room
MESSAGE_CHARS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """The settings that all workers share.

    Args:
        result_bytes: the longest result.
        directory: the parent of the workers' directories; None for the system's temporary one.
        environment: variables such as the API host.
        packages: provides code with the packages that it needs; None to provide none.
        action_key: makes credentials of a namespace that are valid until an instant, in ms.
    """

    result_bytes: int = 1 << 20
    directory: Path | None = None
    environment: dict[str, str] = field(default_factory=dict)
    packages: Packages | None = None
    action_key: Callable[[str, int], str] | None = None


def loading(
    assignment: Assignment, settings: WorkerSettings, packages: Path | None
) -> dict[str, Any]:
    """The document that makes a worker load the code of an assignment, with the packages in a directory."""
    action, code = assignment.invocation.action, assignment.code
    return {
        "name": action.name.name,
        "code": code.text,
        "main": code.main,
        "binary": code.binary,
        "functions": code.functions,
        "packages": None if packages is None else str(packages),
        "memory_bytes": action.limits.memory_mb << 20,
        "logs_bytes": action.limits.logs_mb << 20,
        "result_bytes": settings.result_bytes,
        "concurrency": action.limits.concurrency,
        "env": {
            **settings.environment,
            "__OW_NAMESPACE": assignment.invocation.namespace,
            **_named(action),
        },
    }


def request(
    assignment: Assignment, settings: WorkerSettings, number: int, began_ms: int | None
) -> dict[str, JSON]:
    """The document that makes a worker run an assignment.

    Args:
        assignment: the assignment.
        settings: of the workers.
        number: by which the worker answers it.
        began_ms: the start of its time limit; None if others come first, so that the worker knows it.
    """
    invocation, make_key = assignment.invocation, settings.action_key
    timeout_ms = invocation.action.limits.timeout_ms
    deadline_ms = 0 if began_ms is None else began_ms + timeout_ms
    key = None  # also if None: the key of an earlier run of the same code must not stay
    if make_key is not None and invocation.action.marked("provide-api-key"):
        key = make_key(invocation.namespace, deadline_ms)
    params: JSON = invocation.params
    if assignment.function is not None:
        params = handler_request(invocation, assignment.function, deadline_ms)
    env: dict[str, JSON] = {
        **_named(invocation.action),  # several actions may have the same code
        "__OW_ACTIVATION_ID": invocation.activation,
        "__OW_TRANSACTION_ID": invocation.transaction,
        "__OW_API_KEY": key,
        "__OW_DEADLINE": str(deadline_ms),
        "__OW_IDEMPOTENCY_KEY": invocation.idempotency_key,
        "__OW_COMPLETION_TOKEN": invocation.token,
    }
    document: dict[str, JSON] = {"id": number, "params": params, "env": env}
    if invocation.again is not None:
        variables = told(invocation.again)
        document["env"] = {**env, **variables}
        document["untold"] = dict.fromkeys(variables)  # the next run must not be told of them
    if began_ms is None:
        document["waits_ms"] = timeout_ms
    if invocation.function is not None:
        document["function"] = invocation.function
        document["variables"] = invocation.variables
    return document


def told(again: Again) -> dict[str, JSON]:
    """The variables that tell an action of the earlier attempts of its step."""
    return {
        "__OW_ATTEMPT": str(again.attempt),
        "__OW_LAST_FAILURE": None if again.failure is None else last_failure(again.failure),
    }


def last_failure(failed: Failure) -> str:
    """A failure as an environment or a header has it: JSON with its `code` and its `error`, not too long."""
    text = json.dumps({"code": failed.name, "error": failed.error})
    if len(text) <= FAILURE_CHARS:
        return text
    return json.dumps({"code": failed.name, "error": failed.message[:MESSAGE_CHARS]})


def _named(action: Action) -> dict[str, JSON]:
    return {"__OW_ACTION_NAME": str(action.name), "__OW_ACTION_VERSION": action.version}
