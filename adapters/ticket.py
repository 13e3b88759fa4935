"""The ticket of a run on a cloud: all data that a server needs to poll for the run's result."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from .port import Fault

if TYPE_CHECKING:
    from ..actions import Stored
    from ..composer import JSON
    from .port import Done, Receipt


@dataclass(slots=True)
class Spent:
    """The cost of a run's attempts. A refused attempt costs nothing.

    `charged` counts the attempts that the cloud may bill, and `untold` those of them whose price it does not tell.
    """

    billed_ms: float = 0.0
    ran_ms: float = 0.0
    charged: int = 0
    untold: int = 0
    waited_ms: float = 0.0
    memory_mb: int | None = None

    def count(self, answer: Done | Fault) -> None:
        """Counts an attempt that has ended."""
        if isinstance(answer, Fault) and answer.may_have_run == "no":
            return
        report = answer.report
        self.charged += 1
        self.untold += report.billed_ms is None
        self.billed_ms += report.billed_ms or 0
        self.ran_ms += report.ran_ms or 0
        self.memory_mb = report.memory_mb or self.memory_mb


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A run that a cloud has accepted, as the store keeps it between two servers.

    Args:
        remote: the function as it was when the cloud accepted the run: `Remote.to_json`.
        owner: the namespace whose secrets authorize the requests.
        started_ms: the start of the run.
        deadline_ms: the instant at which the server stops polling.
        attempts: the number of requests that the run has taken.
        poll_from_ms: the earliest instant of the next poll.
        request: the cloud's own id of the request, if it told one.
        spent: the cost so far.
        receipt: identifies the run on its cloud.
    """

    remote: Stored
    owner: str
    started_ms: int
    deadline_ms: int
    attempts: int
    poll_from_ms: int
    request: str | None
    spent: Spent
    receipt: Receipt = field(repr=False)

    def to_json(self) -> dict[str, JSON]:
        return {
            "remote": dict(self.remote),
            "owner": self.owner,
            "started": self.started_ms,
            "deadline": self.deadline_ms,
            "attempts": self.attempts,
            "from": self.poll_from_ms,
            "request": self.request,
            "spent": asdict(self.spent),
            "ticket": self.receipt,
        }

    @classmethod
    def from_json(cls, doc: Stored) -> Ticket:
        """Reads what `to_json` wrote. Old tickets have no `spent`."""
        return cls(
            remote=doc["remote"],
            owner=doc["owner"],
            started_ms=doc["started"],
            deadline_ms=doc["deadline"],
            attempts=doc["attempts"],
            poll_from_ms=doc["from"],
            request=doc["request"],
            spent=Spent(**doc.get("spent", {})),
            receipt=doc["ticket"],
        )
