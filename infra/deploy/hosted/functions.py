"""Runs the inline functions of one program in the conductor's own process, with copies of the values."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ....composer import Failed, Failure, copied
from .messages import event_of, variables_of
from .user_code import defined, run_inline

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....composer import JSON, Completed, Invoke, Program

HOST = "main__"  # where OpenWhisk's runtime, and a dataclass, look for user code
EXITED = "The action did not produce a valid response and exited unexpectedly."


class Functions:
    """Loads all functions at once, for a host that starts a process before the first request."""

    def __init__(self, program: Program) -> None:
        host = sys.modules.get(HOST)
        self._functions: dict[str, Callable[..., JSON]] = {
            hash: defined(hash, code) for hash, code in program.functions.items()
        }
        if host is not None:  # it is being imported, and is looked for when that is done
            sys.modules[HOST] = host

    def run(self, command: Invoke) -> Completed | Failed:
        """Runs the function that a command names. Returns the event for its fiber."""
        assert command.function is not None  # noqa: S101  it is one that names a function
        function, variables = self._functions[command.function], variables_of(command)
        try:
            outcome = run_inline(function, copied(command.params), variables)
        except SystemExit:
            return Failed(command.turn, Failure("Crashed", EXITED))
        return event_of(command.turn, outcome)
