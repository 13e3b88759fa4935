"""The instructions of states. `state` is the JSON of a state's definition, as `compiled.State` reads it."""

from __future__ import annotations

from dataclasses import dataclass

from ....machine.instructions import OwnInstruction


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginMachine(OwnInstruction):
    """Pushes what a machine's fiber stands on: its variables, and a deadline if it has one."""

    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginBranch(OwnInstruction):
    """A branch begins, with variables of its own; of a Map (`state`) with its item for the value."""

    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassState(OwnInstruction):
    """A state that waits for nothing, from its entry to its exit: Pass, Choice, Succeed, Fail."""

    state: str
    targets: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterState(OwnInstruction):
    """Pushes an InState frame; the value stays the raw input. It is left to one of `targets`."""

    state: str
    targets: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareState(OwnInstruction):
    """value := what the state works on. Here its retries begin again. A Wait waits."""

    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InvokeState(OwnInstruction):
    """Runs what a Task's resource names on the value; its result is the value.

    Of a distributed Map it is what reads its items, or writes its results.
    """

    state: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsState(OwnInstruction):
    """Prepares the items of a distributed Map, which have been read: the value has them."""

    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MapState(OwnInstruction):
    """Starts a fiber at the next instruction for each item that was prepared; then goes on at `to`."""

    state: str
    to: int
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveState(OwnInstruction):
    """Pops the InState frame: the value is the state's result, and becomes its output."""

    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndBranch(OwnInstruction):
    """The fiber has succeeded with the value, whatever it is; of a Map (`state`) its item is done."""

    state: str | None = None
