"""Items asked for by an invoker whose namespaces have secrets, or none."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace

from tests.kit.actions.things import Answers, StandingClock, invocation
from xingqiao.actions import Action, Inline, Limits
from xingqiao.adapters import SecretError
from xingqiao.composer import Name
from xingqiao.composer.languages.asl.running import ReadingBounds
from xingqiao.infra.stepfunctions.items import (
    ITEMS,
    READ,
    DirectoryObjects,
    ItemsInvoker,
    Places,
)

GET, PUT = "arn:aws:states:::s3:getObject", "arn:aws:states:::s3:putObject"
ASKED = {"resource": GET, "arguments": {"Bucket": "items", "Key": "k"}, "config": {}}


class Secrets:
    def __init__(self, *named):
        self.named = named

    def find(self, namespace, name):
        return {"type": "aws"} if (namespace, name) in self.named else None

    def ambient(self, namespace):
        return namespace == "guest"


class Authorizers:
    def __init__(self, secrets):
        self._secrets = secrets

    def on_aws(self, namespace):
        if self._secrets.find(namespace, "aws") is None:
            raise SecretError(f"namespace '{namespace}' may not use this server's own credentials")
        return "aws"


def asked(params, name=READ, namespace="guest", limits=None):
    action = Action(
        Name("whisk.system", "states", name), Inline(None, ITEMS), limits=limits or Limits()
    )
    return replace(invocation(action, params), namespace=namespace)


@asynccontextmanager
async def opened(root=None, on_s3=None, secrets=None, clock=None):
    directory = None if root is None else DirectoryObjects(root)
    secrets = secrets or Secrets()
    places = Places(directory, on_s3, Authorizers(secrets), secrets)
    async with ItemsInvoker(places, clock or StandingClock(), ReadingBounds()) as invoker:
        yield invoker


async def outcome(invoker, *args, **more):
    answers = Answers()
    answers.invoke(invoker, asked(*args, **more))
    return (await answers.next()).outcome
