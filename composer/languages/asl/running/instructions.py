"""The instructions of states. `state` is the JSON of a state's definition, as `compiled.State` reads it."""

from __future__ import annotations

from dataclasses import dataclass

from ....machine.instructions import OwnInstruction


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginMachine(OwnInstruction):
    """Pushes the frames of a machine: its variables, and its deadline if it has one."""

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
    """value := the effective input of the state. Its retries begin again here. A Wait waits."""

    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InvokeState(OwnInstruction):
    """Invokes a Task's resource on the value; the result becomes the value.

    For a distributed Map it reads the items, or writes the results.
    """

    state: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsState(OwnInstruction):
    """Prepares the items of a distributed Map that were read: the value has them."""

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
