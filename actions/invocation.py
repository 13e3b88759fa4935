"""What is asked: of the service (a Call), and of an invoker (an Invocation)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..composer import frozen

if TYPE_CHECKING:
    from ..composer import JSON, Name
    from .coded import Code
    from .model import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Somebody wants an action run: in their namespace, on their account.

    `trace` is the id, 32 hexadecimal digits, of the trace that it belongs to, if it belongs to one. Calls with
    the same `idempotency_key` begin one execution; "" is for none.
    """

    name: Name
    params: dict[str, JSON]
    namespace: str
    subject: str = ""
    trace: str = ""
    idempotency_key: str = ""


@frozen
class Invocation:
    """One run of one action, as an invoker is asked for it.

    Args:
        activation: its id: when the same step is sent again after a crash it is the same, and each
            attempt of a retry is another.
        action: what to run; for an inline function the composition that it belongs to.
        params: merged, and its to keep: an invoker may hand them on without copying.
        namespace: of whoever runs it.
        owner: the namespace of the program that asks for it; "" for an action that is run by itself.
        states: whether a state machine asks.
        token: by which a completion may be handed in later, by whoever holds it.
        function: the hash of an inline function.
        variables: that the inline function sees.
        transaction: the execution that it belongs to, for whoever follows it through logs.
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

    @property
    def lent(self) -> bool:
        """Whether the program that asks is another namespace's than whoever runs it.

        It is given neither's secrets: its author would have the caller's, and the caller the author's.
        """
        return self.owner not in ("", self.namespace)

    @property
    def traceparent(self) -> str:
        """The W3C trace context that it runs in: a span of its own, which is its id's end.

        https://www.w3.org/TR/trace-context/
        """
        return f"00-{self.trace or self.transaction or self.activation}-{self.activation[-16:]}-01"

    @property
    def idempotency_key(self) -> str:
        """The same whenever the same thing is asked for again."""
        return self.key or self.activation

    @property
    def code(self) -> Code | None:
        """What a worker must have taken in to run it."""
        return self.action.code_of(self.function)
