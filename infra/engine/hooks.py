"""The ports through which wings add to executions of their languages, and to changes of the catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ...actions import Action, Change, Document
    from ...composer import JSON, Entry, Failure
    from .origins import Origin


class Hooks(Protocol):
    """The additions of a wing to executions of its language.

    The engine calls `introduced`, `definition` and `context` for a program whose dialect `introduces`, and
    `documents` for one whose dialect `numbers`. `about` is what a wing keeps of an execution: the engine
    stores it with the execution's row, gives it back, and reads two of its members: `name`, by which clients
    know the execution, and `express`, which is there if the execution cannot be found by that name.

    Laws:
        No method does I/O, waits or changes anything: an execution may be withdrawn after the call.
        `introduced` sets a `name`; without a given one, it is the id as a UUID.
        `address` depends on its arguments only, so an address is the same after a crash.
        `documents` depends on its arguments only: a transition may be made again after a crash.
        `definition` is None if and only if `revision` of the same execution is.
    """

    def introduced(self, id: str, origin: Origin, /) -> Origin:
        """Returns the origin of an execution that begins, with all that is kept of it in `about`."""

    def revision(self, about: Mapping[str, JSON], /) -> str | None:
        """The hash of the definition that an execution is pinned to; None if the execution is not pinned to one."""

    def definition(self, action: Action, /) -> str | None:
        """The text of the definition of an action; None if the action has no definition."""

    def context(self, id: str, origin: Origin, input: JSON, /) -> dict[str, JSON]:
        """The context that an execution begins with: see `Dialect.begun`."""

    def documents(self, id: str, origin: Origin, entries: Sequence[Entry], /) -> Iterable[Document]:
        """Documents that are committed together with history entries of an execution."""

    def address(self, id: str, path: str, about: Mapping[str, JSON], /) -> str:
        """The name by which clients know an execution of the action with this path, everywhere."""

    def timed_out(self, failure: Failure, /) -> bool:
        """True if the failure means that an execution's own time has passed."""

    def takes_unsigned(self, about: Mapping[str, JSON], /) -> bool:
        """True if an execution began when the tokens of its tasks were not signed yet."""


class NoHooks:
    """The `Hooks` of an engine without wings: it adds nothing, and an execution's address is its id."""

    def introduced(self, _: str, origin: Origin, /) -> Origin:
        return origin

    def revision(self, _: Mapping[str, JSON], /) -> str | None:
        return None

    def definition(self, _: Action, /) -> str | None:
        return None

    def context(self, _id: str, _origin: Origin, _input: JSON, /) -> dict[str, JSON]:
        return {}

    def documents(
        self, _id: str, _origin: Origin, _entries: Sequence[Entry], /
    ) -> Iterable[Document]:
        return ()

    def address(self, id: str, _path: str, _about: Mapping[str, JSON], /) -> str:
        return id

    def timed_out(self, _: Failure, /) -> bool:
        return False

    def takes_unsigned(self, _: Mapping[str, JSON], /) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Attachment:
    """Documents that are committed with a change to the catalog, or not at all.

    `applied` is called when the change is durable and the catalog has it.
    """

    documents: Sequence[Document] = ()
    applied: Callable[[], None] = lambda: None


Companion: TypeAlias = "Callable[[Change], Attachment]"
"""Keeps something beside the catalog's entities: says what goes with a change that others make."""
