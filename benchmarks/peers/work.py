"""The work that every system does. The programs of all systems import this module: it needs only Python."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

KIBIBYTE = 1 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one execution does.

    shape: "sequence" (n steps, one after the other) or "fanout" (n steps at once, and all their results).
    text_bytes: the size of the payload that each step takes and returns; 0 for a payload of a few bytes.
    """

    shape: str
    n: int
    text_bytes: int = 0

    @property
    def name(self) -> str:
        """A name for the composition or workflow that does this work."""
        return f"{self.shape}-{self.n}"

    @property
    def payload(self) -> dict[str, Any]:
        """What each step takes and returns."""
        return {"text": "x" * self.text_bytes} if self.text_bytes else {"a": 1}

    @property
    def expected(self) -> Any:
        """What the execution returns."""
        return [self.payload] * self.n if self.shape == "fanout" else self.payload


ONE_STEP = Work(shape="sequence", n=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Executions of one kind of work for a time, some at once."""

    work: Work
    concurrency: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, doc: dict[str, Any]) -> Load:
        return cls(**{**doc, "work": Work(**doc["work"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Executions of slow steps, all started at once, whose system is killed when half of the steps have begun."""

    executions: int = 100
    steps: int = 10
    step_ms: int = 100
    marks: str = ""  # the file in which each step says that it begins and ends

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def payload(self, number: int) -> dict[str, Any]:
        """What the first step of this execution takes; each step returns it with the next step's number."""
        return {"execution": number, "step": 0, "ms": self.step_ms, "marks": self.marks}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """Executions that wait for a message. Each is told one, some at once."""

    concurrency: int
    count: int

    @property
    def payload(self) -> dict[str, Any]:
        """The payload of each message, which its execution returns."""
        return {"by": "anna"}

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A row of the tables."""

    key: str
    title: str
    does: Load | Recovery | Mail

    def small(self) -> Workload:
        """The same in about a second, as a test of the workload itself."""
        match self.does:
            case Load() as load:
                work = dataclasses.replace(load.work, n=min(load.work.n, 20))
                does: Load | Recovery | Mail = dataclasses.replace(load, work=work, seconds=0.1)
            case Recovery() as recovery:
                does = dataclasses.replace(recovery, executions=10)
            case Mail() as mail:
                does = dataclasses.replace(mail, count=mail.concurrency)
        return dataclasses.replace(self, title=f"{self.title} (small)", does=does)


def _sequence(n: int, concurrency: int, seconds: float) -> Workload:
    steps = "1 step" if n == 1 else f"{n} steps"
    at_once = "alone" if concurrency == 1 else f"{concurrency} at once"
    load = Load(work=Work(shape="sequence", n=n), concurrency=concurrency, seconds=seconds)
    return Workload(key=f"steps-{n}-at-{concurrency}", title=f"{steps}, {at_once}", does=load)


def workloads(seconds: float) -> tuple[Workload, ...]:
    """All workloads. Those that are not recovery run for so long."""
    wide = Work(shape="fanout", n=1_000)
    large = Work(shape="sequence", n=5, text_bytes=256 * KIBIBYTE)
    return (
        *(_sequence(n, concurrency, seconds) for concurrency in (1, 32) for n in (1, 5, 50)),
        Workload(
            key="fanout-1000",
            title="fan-out of 1,000",
            does=Load(work=wide, concurrency=1, seconds=seconds),
        ),
        Workload(
            key="payload",
            title="256 KiB through 5 steps",
            does=Load(work=large, concurrency=1, seconds=seconds),
        ),
        Workload(key="messages-at-1", title="messages, alone", does=Mail(concurrency=1, count=50)),
        Workload(
            key="messages-at-32", title="messages, 32 at once", does=Mail(concurrency=32, count=256)
        ),
        Workload(key="recovery", title="recovery of 100 executions", does=Recovery()),
    )
