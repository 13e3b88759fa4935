"""What a task asks for."""

from __future__ import annotations

from uuid import UUID

from tests.kit.asl.machines import (
    INVOKE,
)

CALLBACK = f"{INVOKE}.waitForTaskToken"


def request_of(run):
    """The id of the run's first request, as Lambda writes it."""
    return str(UUID(run.invocations[0].activation))
