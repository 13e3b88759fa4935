"""Steps that answer later."""

from __future__ import annotations

from tests.kit.engine.engines import CODE

CALLBACK = {**CODE, "annotations": [{"key": "completion", "value": "callback"}]}


async def accepted(made, name="main"):
    """An execution whose step will answer later, and the token for that."""
    id = await made.start(name)
    await made.until(lambda: made.hands.invoked)
    await made.settle()
    return id, made.hands.invoked[-1].token
