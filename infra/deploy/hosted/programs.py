"""The programs of executions, and the steps that the conductor does itself: inline functions.

The table stores a program by its hash, as a record that never goes on. So an execution finds the program that
it began with, also after another bundle has replaced the first.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ....composer import DIALECTS, LIMIT_EXCEEDED, Failed, Failure, Program, copied, failure
from .messages import event_of, variables_of
from .ports import Change
from .records import Part
from .user_code import BAD_RESPONSE, defined, run_inline

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....composer import JSON, Completed, Invoke
    from .ports import Clock, Deployed, Record, Table
    from .records import About, Begin

log = logging.getLogger(__name__)

NOT_FOUND = "NotFound"
NESTING = 16  # executions, each a step of the one before


class Programs:
    """The programs of a bundle and of executions that an earlier bundle began."""

    def __init__(self, deployed: Deployed, table: Table, clock: Clock) -> None:
        self._deployed, self._table, self._clock = deployed, table, clock
        self._kept: dict[str, Program] = {}  # in the table, by hash
        self._functions: dict[str, Callable[..., JSON]] = {}  # by hash

    def pinned(self, begin: Begin) -> str:
        """The hash of the program that is to begin; the table has the program."""
        if isinstance(begin.begins, Part):
            return begin.begins.program
        program = self._deployed.programs[begin.composition]
        if program.hash not in self._kept:
            about: dict[str, JSON] = {"program": program.to_json()}
            now_ms = self._clock.now_ms()
            self._table.save(Change(id=_id(program.hash), version=1, at_ms=now_ms, about=about))
            self._kept[program.hash] = program
        return program.hash

    def of(self, about: About) -> Program:
        """The program that an execution has begun with."""
        hash = about.program
        deployed = self._deployed.programs.get(about.composition)
        if deployed is not None and deployed.hash == hash:
            return deployed
        if hash not in self._kept:
            record = self._table.load(_id(hash))
            assert record is not None  # noqa: S101  it was written before the execution
            self._kept[hash] = Program.from_json(record.about["program"], DIALECTS)
        return self._kept[hash]

    def answers(self, about: About, command: Invoke) -> bool:
        """True if `answer` does a step: it runs nowhere else, or nests too deep to begin."""
        if command.action in self._deployed.programs:
            return about.depth >= NESTING
        return command.action not in self._deployed.actions

    def answer(self, program: Program, command: Invoke) -> Completed | Failed:
        """The outcome of an inline function, or of an action that does not exist."""
        if command.function is not None:
            return self._called(program, command.function, command)
        if command.action in self._deployed.programs:
            text = f"compositions nest more than {NESTING} deep, at {command.action}"
            return Failed(command.turn, failure(LIMIT_EXCEEDED, text))
        text = f"Failed to resolve action with name '{command.action}' during composition."
        return Failed(command.turn, Failure(NOT_FOUND, text))

    def _called(self, program: Program, hash: str, command: Invoke) -> Completed | Failed:
        try:
            if hash not in self._functions:
                code = program.functions[hash]
                self._functions[hash] = defined(hash, code)
        except Exception as error:  # the user's module
            log.exception("an inline function cannot be loaded")
            text = f"{type(error).__name__}: {error}"
            return Failed(command.turn, Failure(BAD_RESPONSE, text))
        params, variables = copied(command.params), variables_of(command)
        return event_of(command.turn, run_inline(self._functions[hash], params, variables))


def _id(hash: str) -> str:
    return hash[:32]


def is_program(record: Record) -> bool:
    """True for a program, false for an execution."""
    return "composition" not in record.about
