"""A run in a cloud, and a check of it, with the secrets of a namespace."""

from __future__ import annotations

from tests.kit.actions.things import invocation
from tests.kit.contracts.elsewhere import SECRET, action, ended, opened

SECRETS = {"mine": {"type": "functions-key", "key": SECRET}, "whisk": f"id:{SECRET}"}


async def run(exec, params=None, *, secrets=SECRETS, timeout_ms=20_000, **notes):
    exec = {"retry": {"attempts": 1}, **exec}
    asked = invocation(action(exec, timeout_ms=timeout_ms, **notes), params or {})
    async with opened(secrets) as invoker:
        return await ended(invoker, asked)


async def check(exec, secrets=SECRETS):
    async with opened(secrets) as invoker:
        return await invoker.check(action(exec).exec, "guest")
