"""The port of clouds: the requests to an adapter and its answers, the same for every cloud."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ..composer import frozen

if TYPE_CHECKING:
    from ..actions import MayHaveRun, Remote
    from ..composer import JSON

# Identifies an accepted run on its cloud. It is stored, and only the adapter that wrote it reads it.
# Secrets in it are under the key `secret`, and are never shown.
Receipt: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """An HTTP request.

    `secrets` are headers for this origin only. A `private` request has a secret in its address or its body,
    which must not go to another origin, either. Neither goes anywhere without TLS. For an address that the operator
    has set, `by_operator`, none of this is checked, and the address need not be public.
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
    """An HTTP response. The names of its headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Authorizer(Protocol):
    """Adds credentials to requests.

    Laws: `headers` raises CredentialsError if it has none; after `refused` it does not return the refused
    credentials again if it can get others.
    """

    async def headers(self, outgoing: HttpRequest, now_ms: int) -> dict[str, str]:
        """The headers with the credentials for a request."""

    def refused(self) -> bool:
        """Notes that the credentials were refused. True if others can be had now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One run of one function elsewhere.

    Args:
        target: the function and its options.
        params: its input.
        deadline_ms: the instant by which the answer must have come.
        key: the idempotency key that the function is told: the same for every attempt of a saga's step.
        attempt: the number of the attempt of its step, from 1.
        activation: the id of the run: the same when the request is repeated, another for each attempt.
        traceparent: the W3C trace context.
        authorizer: adds credentials; None if the function needs none.
        token: fires the completion trigger; "" if the server waits for the answer.
        callback: the URL that fires it, if clouds can reach this server.
    """

    target: Remote
    params: dict[str, JSON]
    deadline_ms: int
    key: str
    traceparent: str
    authorizer: Authorizer | None = None
    token: str = field(default="", repr=False)
    callback: str = field(default="", repr=False)
    activation: str = ""
    attempt: int = 1


@frozen
class Report:
    """A cloud's report about a run. Times are in milliseconds; None if the cloud does not tell."""

    request: str | None = None
    logs: list[str] = field(default_factory=list)
    ran_ms: float | None = None
    billed_ms: float | None = None
    cold_ms: float | None = None
    memory_mb: int | None = None


NOTHING_TOLD = Report()


def error_document(code: str, message: str) -> dict[str, JSON]:
    """An error in the form in which callers of an action see it."""
    return {"code": code, "message": message}


@frozen
class Done:
    """The run has ended with this value."""

    value: JSON
    report: Report = NOTHING_TOLD


@frozen
class Fault:
    """The run has failed, or has never begun.

    Args:
        code: of `actions.FAILURES`.
        error: for the caller of the action; it never holds a secret.
        may_have_run: "no" if the run certainly had no effect.
        retry_after_ms: the delay that the cloud demands before the next request.
        transient: True if a retry may help.
        report: the cloud's report about the run.
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
        """A fault whose error is an object with its code and a message."""
        return cls(code, error_document(code, message), may_have_run, None, transient, report)


@frozen
class Pending:
    """The cloud has accepted the run, and can be polled for it with this receipt after `after_ms`.

    `most_ms` is the longest wait between two polls, for a cloud whose interval is not a lower bound.
    """

    receipt: Receipt = field(repr=False)
    after_ms: int = 0
    report: Report = NOTHING_TOLD
    most_ms: int | None = None


Answer: TypeAlias = Done | Fault | Pending


class Adapter(Protocol):
    """Runs functions of some kinds on one cloud.

    Laws: a failure of the cloud or the function is never raised, but returned as a Fault that says whether
    the function may have run; a call sends nothing twice, except after a refusal of expired credentials; a call
    ends at the deadline; no error shows a secret.
    """

    cloud: str

    def ambient(self, target: Remote) -> Authorizer | None:
        """Returns the credentials of this server itself; None if it has none for this cloud."""

    async def invoke(self, request: Request) -> Answer:
        """Runs the function."""

    async def poll(self, request: Request, receipt: Receipt) -> Answer:
        """Polls for the result of an accepted run. `request.params` are empty."""

    async def stop(self, request: Request, receipt: Receipt) -> Fault | None:
        """Stops a run that nothing waits for any more, if the cloud can do that."""

    async def check(self, request: Request) -> Fault | str:
        """Checks that the function can be reached and accepts our credentials; does not run it.

        Returns:
            A line that says what was found, or a Fault.
        """
