"""A restart of an engine."""

from __future__ import annotations

from tests.kit.engine.engines import begun


async def restarted(made, seconds=0, answers=None):
    """Another engine over the same store, so much later."""
    await made.kill()
    made.clock.ms += int(seconds * 1000)
    return await begun(made.store, answers or made.hands.answers, clock=made.clock)
