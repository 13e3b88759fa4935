"""The inline functions of one program, run in the conductor's own process. They see copies: values are shared."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ....composer import Failed, Failure, copied
from .messages import event_of
from .running import define, run_inline

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....composer import JSON, Completed, Invoke, Program

HOST = "main__"  # where OpenWhisk's runtime, and a dataclass, look for user code
EXITED = "The action did not produce a valid response and exited unexpectedly."


class Functions:
    """Taken in at once, for a host that starts a process before it is asked for anything."""

    def __init__(self, program: Program) -> None:
        host = sys.modules.get(HOST)
        self._functions: dict[str, Callable[..., JSON]] = {
            hash: define(f"function-{hash[:8]}", code["code"], code["main"])
            for hash, code in program.functions.items()
        }
        if host is not None:  # it is being imported, and is looked for when that is done
            sys.modules[HOST] = host

    def run(self, command: Invoke) -> Completed | Failed:
        """Runs the function that a command names; what its fiber is to be told."""
        assert command.function is not None  # noqa: S101  it is one that names a function
        function, variables = self._functions[command.function], copied(command.variables or {})
        try:
            outcome = run_inline(function, copied(command.params), variables)
        except SystemExit:
            return Failed(command.turn, Failure("Crashed", EXITED))
        return event_of(command.turn, outcome)
