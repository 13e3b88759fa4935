"""The participants of a two-phase commit, as their coordinator records them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...freezing import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...values import JSON
    from ..stored import Document


@frozen
class Call:
    """A call of a declared transaction.

    Args:
        index: its place in the result of the transaction.
        request: the message to an entity: `{"operation", "params", "read"?}`. Empty for other participants.
    """

    index: int
    request: dict[str, JSON]

    def to_json(self) -> dict[str, JSON]:
        return {"index": self.index, **self.request}

    @classmethod
    def from_json(cls, doc: Document) -> Call:
        return cls(doc["index"], {name: doc[name] for name in doc if name != "index"})


@frozen
class Participant:
    """A participant.

    Args:
        actions: the actions for `prepare`, `commit` and `abort`; of an entity, one for all three.
        key: the key of an entity; None for any other participant.
        params: sent with each message to a participant that is not an entity.
        calls: the calls of a declared transaction.
        count: how many operations it has been sent to work on so far.
        read: true if it has nothing to write.
        vote: its last: "", "asked", "yes", "read", "no", "committed", "done".
        results: the results of its calls.
    """

    actions: tuple[str, ...]
    key: str | None
    params: JSON = None
    calls: tuple[Call, ...] | None = None
    count: int = 0
    read: bool = True
    vote: str = ""
    results: list[JSON] | None = None

    @property
    def share(self) -> dict[str, JSON]:
        """An entity's part in a message that asks for the whole transaction."""
        share: dict[str, JSON] = {"action": self.actions[0], "key": self.key}
        if self.calls is None:
            share["number"] = self.count
        else:
            share["operations"] = [call.request for call in self.calls]
        return share

    def to_json(self) -> list[JSON]:
        calls: list[JSON] | None
        calls = None if self.calls is None else [call.to_json() for call in self.calls]
        return [
            list(self.actions), self.key, self.params, calls, self.count, self.read, self.vote,
            self.results,
        ]  # fmt: skip

    @classmethod
    def from_json(cls, doc: Sequence[Any]) -> Participant:
        actions, key, params, calls, *rest = doc
        made = None if calls is None else tuple(map(Call.from_json, calls))
        return cls(tuple(actions), key, params, made, *rest)
