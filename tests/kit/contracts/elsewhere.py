"""Functions elsewhere for tests: the invoker of all adapters with its parts, an action, and how a run ends."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.kit.actions.things import Answers, invocation, named
from xingqiao.actions.definitions import define_action
from xingqiao.adapters import Authorizers, CloudInvoker, Egress, Rules, Tokens, adapters
from xingqiao.infra.clock import SystemClock

SECRET = "a-secret-that-nobody-sees"
RUN = "a1" * 16  # the activation of a run
TRACE = "b2" * 16
RESULT_BYTES = 50_000
LONG_MS = 20_000


class Named:
    """`Secrets` of the namespace `guest`."""

    def __init__(self, secrets):
        self.secrets = secrets

    def find(self, namespace, name):
        return self.secrets.get(name) if namespace == "guest" else None

    def ambient(self, namespace):
        return False


@asynccontextmanager
async def opened(secrets=None, *, allow=("127.0.0.1", "localhost"), clock=None, url=""):
    """An invoker of all adapters, with everything that it is made of."""
    clock = clock or SystemClock()
    async with Egress(Rules(allow), clock) as egress:
        found = adapters(egress, clock, RESULT_BYTES)
        authorizers = Authorizers(Named(secrets or {}), Tokens(egress, clock), found)
        async with CloudInvoker(found, authorizers, clock, url) as invoker:
            yield invoker


def action(exec, *, timeout_ms=LONG_MS, **annotations):
    """An action that runs elsewhere, as a PUT makes it."""
    notes = [{"key": key, "value": value} for key, value in annotations.items()]
    doc = {"exec": exec, "limits": {"timeout": timeout_ms}, "annotations": notes}
    return define_action(named("elsewhere"), doc, None, 1)


@dataclass
class Ended:
    """How a run has ended, and what came before."""

    completion: object
    tickets: list = field(default_factory=list)

    @property
    def outcome(self):
        return self.completion.outcome

    @property
    def told(self):
        """The code of its failure, and whether it ran."""
        return getattr(self.outcome, "code", None), self.completion.may_have_run


async def ended(invoker, asked):
    """What comes of a run. Its tickets are made JSON and back, as a store does."""
    answers, tickets = Answers(), []
    answers.invoke(invoker, asked)
    completion = await answers.next()
    while completion.ticket is not None:
        tickets.append(json.loads(json.dumps(completion.ticket)))
        invoker.resume(resumed(asked), tickets[-1], answers)
        completion = await answers.next(len(tickets) + 1)
    assert len(answers.all) == len(tickets) + 1
    return Ended(completion, tickets)


def resumed(asked):
    """The invocation with which the engine asks after what was taken in: parameters are not kept."""
    return invocation(asked.action, {}, activation=asked.activation, trace=asked.trace)
