"""Requests to run an action: a `Call` to the service, and an `Invocation` to an invoker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..composer import frozen
from .starting import PLAIN, StartOptions

if TYPE_CHECKING:
    from ..composer import JSON, Child, Name
    from .coded import Code
    from .model import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request to run an action in the caller's namespace and on its account.

    `trace` is the id of the trace that it belongs to, 32 hexadecimal digits, or "". Calls with the same
    `idempotency_key` begin one execution; "" is for none. `options` is what the caller says of the execution.
    """

    name: Name
    params: dict[str, JSON]
    namespace: str
    subject: str = ""
    trace: str = ""
    idempotency_key: str = ""
    options: StartOptions = PLAIN


@frozen
class Invocation:
    """One run of one action, as an invoker gets it.

    Args:
        activation: its id. It is the same if the step is sent again after a crash; each attempt of a retry has
            another.
        action: the action; for an inline function the composition that it belongs to.
        params: merged parameters. The invoker owns them and may pass them on without copying.
        namespace: of the caller.
        owner: the namespace of the program that invokes it; "" if an action is invoked by itself.
        states: True if a state machine invokes it.
        child: set if it is to run as an execution of its own, which only the engine's own invoker does.
        token: authorizes its holder to complete the invocation later.
        function: the hash of an inline function.
        variables: that the inline function sees.
        transaction: the execution that it belongs to, for correlating logs.
        key: of a saga's step: the same for each attempt of a retry, too.
        trace: the id of the trace that it belongs to.
    """

    activation: str
    action: Action
    params: dict[str, JSON]
    namespace: str
    token: str
    function: str | None = None
    variables: dict[str, JSON] = field(default_factory=dict)
    transaction: str = ""
    key: str | None = None
    trace: str = ""
    owner: str = ""
    states: bool = False
    child: Child | None = None

    @property
    def lent(self) -> bool:
        """True if the invoking program belongs to another namespace than the caller.

        Then the action gets the secrets of neither: its author could read the caller's, and the caller the author's.
        """
        return self.owner not in ("", self.namespace)

    @property
    def traceparent(self) -> str:
        """The W3C trace context of the run: a span of its own, whose id is the end of the activation's.

        https://www.w3.org/TR/trace-context/
        """
        return f"00-{self.trace or self.transaction or self.activation}-{self.activation[-16:]}-01"

    @property
    def idempotency_key(self) -> str:
        """The key that is the same for every repetition of the same request."""
        return self.key or self.activation

    @property
    def code(self) -> Code | None:
        """The code that a worker must have loaded to run it."""
        return self.action.code_of(self.function)
