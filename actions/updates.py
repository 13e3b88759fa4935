"""Updates of executions: the rules for ids, the records that callers see, and the errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..composer import MAX_MESSAGE_NAME, MAX_OPEN_UPDATES, MAX_UPDATES, Failure, Success, frozen
from .errors import InvalidError, NotFoundError, ThrottledError

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..composer import JSON, Outcome

STAGE_ACCEPTED, STAGE_COMPLETED, STAGE_FAILED = "accepted", "completed", "failed"
STAGES: Final = (STAGE_ACCEPTED, STAGE_COMPLETED)  # that a caller can wait for


class RejectedError(InvalidError):
    """The validator of the composition rejects the update. Nothing was recorded."""

    code = "Rejected"


class NoSuchUpdateError(NotFoundError):
    """The execution handles no update of this name. The text has the names that exist."""

    code = "NoSuchUpdate"

    def __init__(self, id: str, name: str, declared: Collection[str]) -> None:
        if name in declared:
            text = f"Execution {id} does not handle update '{name}' yet: ask again later, or wait longer."
        elif declared:
            text = f"Execution {id} has no update '{name:.80}': it has {', '.join(declared)}."
        else:
            text = f"Execution {id} has no update '{name:.80}': its composition declares none."
        super().__init__(text)


class TooManyUpdatesError(ThrottledError):
    """The execution has as many updates as it may have, under way or altogether."""

    code = "TooManyUpdates"


@frozen
class UpdateRecord:
    """An update as its caller sees it; the outcome is None while it is under way."""

    execution: str
    name: str
    id: str
    outcome: Outcome | None = None

    @property
    def status(self) -> str:
        """`accepted`, `completed` or `failed`."""
        if self.outcome is None:
            return STAGE_ACCEPTED
        return STAGE_COMPLETED if isinstance(self.outcome, Success) else STAGE_FAILED

    def to_json(self) -> dict[str, JSON]:
        """The record as a JSON document."""
        doc: dict[str, JSON] = {
            "executionId": self.execution, "name": self.name, "update": self.id, "status": self.status,
        }  # fmt: skip
        if isinstance(self.outcome, Success):
            doc["answer"] = self.outcome.value
        elif isinstance(self.outcome, Failure):
            doc |= {"errorCode": self.outcome.code, "error": self.outcome.error}
            if self.outcome.raised:
                doc["raised"] = [*self.outcome.raised]
        return doc


def check_update(id: str) -> None:
    """Checks the id that a caller gives an update; "" for none.

    Raises:
        InvalidError: it cannot be used; the text says why.
    """
    if len(id) > MAX_MESSAGE_NAME or not id.isprintable() or "/" in id:
        raise InvalidError(
            f"The id of an update must have 1 to {MAX_MESSAGE_NAME} printable characters without '/', "
            f"not {id!r:.100}."
        )


def check_stage(wait: str) -> None:
    """Checks the stage of an update that a caller waits for.

    Raises:
        InvalidError: there is no such stage.
    """
    if wait not in STAGES:
        raise InvalidError(f"'wait' must be {' or '.join(STAGES)}, not {wait!r:.80}.")


def check_room(id: str, under_way: int, accepted: int) -> None:
    """Checks that an execution may have one update more than these.

    Raises:
        TooManyUpdatesError: it may not.
    """
    if accepted >= MAX_UPDATES:
        raise TooManyUpdatesError(
            f"Execution {id} has accepted {MAX_UPDATES} updates, which is the most for one run: "
            "start another execution for the rest."
        )
    if under_way >= MAX_OPEN_UPDATES:
        raise TooManyUpdatesError(
            f"Execution {id} handles {MAX_OPEN_UPDATES} updates, which is the most at a time: "
            "ask again when one has ended."
        )
