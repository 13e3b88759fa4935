"""What an adapter is asked, and what it answers: the same for every cloud."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from ..composer import failure, frozen

if TYPE_CHECKING:
    from ..actions import MayHaveRun, Remote
    from ..composer import JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """An HTTP request.

    `secrets` are headers that go to this origin only. When it is `private`, its address or its body holds a
    secret, which goes to no other origin, either. Neither goes anywhere without TLS. Where the operator himself
    has said where it goes, `by_operator`, none of that is asked, and its address need not be public.
    """

    method: str
    url: str = field(repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    private: bool = False
    by_operator: bool = False


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response. Names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Authorizer(Protocol):
    """Proves who asks.

    Laws: `headers` raises CredentialsError when it cannot; after `refused` it does not give again what was
    refused, if it can get anything else.
    """

    async def headers(self, ask: Ask, now_ms: int) -> dict[str, str]:
        """What goes with a request to prove it."""

    def refused(self) -> bool:
        """They were not accepted. Whether others can be got now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One run of one function elsewhere.

    Args:
        target: which function, and how it is reached.
        params: its input.
        deadline_ms: the instant by which its answer must be here.
        key: the idempotency key: the same whenever the same thing is asked for again.
        traceparent: the W3C trace context.
        authorizer: proves who asks; None when nobody need know.
        token: with which a completion trigger is fired; "" when the answer is waited for.
        callback: the URL that fires it, if this server has one that clouds can reach.
    """

    target: Remote
    params: dict[str, JSON]
    deadline_ms: int
    key: str
    traceparent: str
    authorizer: Authorizer | None = None
    token: str = field(default="", repr=False)
    callback: str = field(default="", repr=False)


@frozen
class Report:
    """What a cloud tells about a run. Times are in milliseconds; None is for what it does not tell."""

    request: str | None = None
    logs: list[str] = field(default_factory=list)
    ran_ms: float | None = None
    billed_ms: float | None = None
    cold_ms: float | None = None
    memory_mb: int | None = None


NOTHING_TOLD = Report()


def told(code: str, message: str) -> dict[str, JSON]:
    """An error as actions' callers are told it."""
    error: dict[str, JSON] = failure(code, message).error
    return error


@frozen
class Done:
    """It ended with this value."""

    value: JSON
    report: Report = NOTHING_TOLD


@frozen
class Fault:
    """It failed, or never ran.

    Args:
        code: of `actions.FAILURES`.
        error: what the caller of the action is told; never a secret.
        ran: whether it may have had an effect.
        retry_after_ms: before which the cloud wants no further request.
        transient: whether asking again may help.
    """

    code: str
    error: JSON
    may_have_run: MayHaveRun
    retry_after_ms: int | None = None
    transient: bool = False
    report: Report = NOTHING_TOLD

    @classmethod
    def saying(
        cls,
        code: str,
        message: str,
        may_have_run: MayHaveRun,
        *,
        transient: bool = False,
        report: Report = NOTHING_TOLD,
    ) -> Fault:
        """One whose error is its code and a message of ours."""
        return cls(code, told(code, message), may_have_run, None, transient, report)


@frozen
class Pending:
    """It was taken in, and is to be asked after with this ticket, not before `after_ms`.

    `most_ms` is the longest wait between two polls, for a cloud that names an interval which is no lower bound. A ticket is stored. What is secret in it stands under `secret`, and is shown nowhere.
    """

    ticket: dict[str, JSON] = field(repr=False)
    after_ms: int = 0
    report: Report = NOTHING_TOLD
    most_ms: int | None = None


Answer: TypeAlias = Done | Fault | Pending


class Adapter(Protocol):
    """Runs functions of some kinds on one cloud.

    Laws: nothing is raised for what the cloud or the function does, but told as a Fault that says
    whether the function may have run; nothing is sent twice in one call, except after a refusal of expired
    credentials; it is given up at the deadline; no error shows a secret.
    """

    cloud: str

    def ambient(self, target: Remote) -> Authorizer | None:
        """Who asks with what this server itself runs with; None if nothing proves that here."""

    async def invoke(self, request: Request) -> Answer:
        """Runs it."""

    async def poll(self, request: Request, ticket: dict[str, JSON]) -> Answer:
        """Asks after what was taken in; `request.params` are not there any more."""

    async def stop(self, request: Request, ticket: dict[str, JSON]) -> Fault | None:
        """Nobody waits for it any more: stops it, if the cloud can do that."""

    async def check(self, request: Request) -> Fault | str:
        """Whether it can be reached and would let us in, without running it. A line that says how."""
