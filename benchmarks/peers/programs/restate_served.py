"""The work as a service of Restate. Its steps are `ctx.run`: the fastest way that Restate has."""

from __future__ import annotations

from typing import Any

import restate

from .. import marks

peers = restate.Service("peers")


async def nothing(payload: dict[str, Any]) -> dict[str, Any]:
    """A step that takes no time."""
    return payload


@peers.handler()
async def sequence(ctx: restate.Context, asked: dict[str, Any]) -> dict[str, Any]:
    """Runs n steps, one after the other."""
    payload = asked["payload"]
    for _ in range(asked["n"]):
        payload = await ctx.run_typed("nothing", nothing, payload=payload)
    return payload


@peers.handler()
async def fanout(ctx: restate.Context, asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Runs n steps at once."""
    payload = asked["payload"]
    steps = [ctx.run_typed("nothing", nothing, payload=payload) for _ in range(asked["n"])]
    return [await step for step in steps]


@peers.handler()
async def slowly(ctx: restate.Context, asked: dict[str, Any]) -> dict[str, Any]:
    """Runs the steps of a recovery."""
    payload = asked["payload"]
    for _ in range(asked["n"]):
        payload = await ctx.run_typed("slow", marks.main, payload=payload)
    return payload


mailbox = restate.Workflow("mailbox")


@mailbox.main()
async def run(ctx: restate.WorkflowContext, _: dict[str, Any]) -> dict[str, Any]:
    """Waits for a message, which is a promise, and returns its payload."""
    payload: dict[str, Any] = await ctx.promise("go").value()
    return payload


@mailbox.handler()
async def tell(ctx: restate.WorkflowSharedContext, payload: dict[str, Any]) -> None:
    """Resolves the promise."""
    await ctx.promise("go").resolve(payload)


app = restate.app(services=[peers, mailbox])
