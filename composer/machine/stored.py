"""The parts of a fiber that are stored: each part writes and reads its own JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Self

    from ..values import JSON

Document: TypeAlias = dict[str, Any]
"""A document that this project has written with `to_json` and reads back. Its shape is not checked again."""


class Part:
    """A frame or a wait: `frozen`, and stored with the name of its class, or with `stored_as`.

    The name is unique among the frames and waits of the machine and of all languages.
    """

    __slots__ = ()
    stored_as: ClassVar[str | None] = None
    if TYPE_CHECKING:
        __match_args__: ClassVar[tuple[str, ...]]

    @classmethod
    def stored_name(cls) -> str:
        """The name that a stored fiber has for it."""
        return cls.stored_as or cls.__name__

    def values(self) -> Iterable[JSON]:
        """The values that it holds."""
        return ()

    def refreshed(self, now_ms: int) -> Self:  # noqa: ARG002  others count from now
        """The part for a redrive: its attempts are counted anew, and its deadline counts from now."""
        return self

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:  # noqa: ARG002  others hold values
        """Its members as JSON; `keep` writes a value, or a reference to where it is stored."""
        return {name: getattr(self, name) for name in self.__match_args__}

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:  # noqa: ARG003  others hold values
        """Reads the members that `to_json` wrote; `load` reads a value that `keep` wrote."""
        return cls(**doc)
