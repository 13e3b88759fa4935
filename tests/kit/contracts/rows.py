"""The rows of the adapters' contract, by name, and which of them can play what a test asks for."""

from __future__ import annotations

from tests.kit.contracts.aws import DurableLambda, Lambda, States
from tests.kit.contracts.clouds import (
    Azure,
    Events,
    Framework,
    FrameworkHttp,
    Gcp,
    Http,
    Orchestration,
    OwnServer,
    Structured,
    Whisk,
)

RIGS = {
    "http": Http,
    "gcp": Gcp,
    "cloudevents": Events,
    "cloudevents-structured": Structured,
    "azure": Azure,
    "azure-durable": Orchestration,
    "openwhisk": Whisk,
    "aws-lambda": Lambda,
    "aws-durable": DurableLambda,
    "aws-states": States,
    "gcp-framework": Framework,
    "http-framework": FrameworkHttp,
    "openwhisk-own-server": OwnServer,
}


def playing(*scenarios):
    """The names of the rows that can play all of these."""
    return [
        name
        for name, row in RIGS.items()
        if all(getattr(row, one, None) is not None for one in scenarios)
    ]
