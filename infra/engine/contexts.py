"""What a state machine's run knows of itself: its names, its definition, and its context object.

What is kept of it with its row, beside what is kept of every execution (`about`):

    name            of the execution; of one that was given none it is its id as a UUID
    definition      the hash of its text, which is a document
    express         whether it is one
    signed          that its tasks' tokens are: all executions have it that began since they are
    role, version, alias, trace, ...   as whoever began it has it

https://docs.aws.amazon.com/step-functions/latest/dg/input-output-contextobject.html
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING
from uuid import UUID

import orjson

from ...actions import Composed, Document, MapRunArn, parsed_arn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...actions import Action, Arns
    from ...composer import JSON, Entry
    from .runs import Origin, Run

NAMED = "named"  # documents of the names of executions and Map runs: whose each is, and since when
STARTED = "MapRunStarted"
DEFINITION = "definition"  # documents of definitions, by hash


def named(origin: Origin, id: str) -> Origin:
    """The origin of a state machine's run, with all that is kept of it."""
    about: dict[str, JSON] = {"name": str(UUID(id)), **(origin.about or {}), "signed": True}
    if origin.express:
        about["express"] = True
    text = definition_of(origin.action)
    if text is not None:
        about["definition"] = hashed(text)
    return replace(origin, about=about)


def takes_unsigned(about: dict[str, JSON] | None) -> bool:
    """Whether a state machine's execution began when tasks' tokens were not signed yet."""
    return about is not None and "signed" not in about


def context_of(arns: Arns, id: str, origin: Origin, input: JSON) -> dict[str, JSON]:
    """The context object of a run that begins."""
    machine, about = origin.action.listed_as.path, origin.about or {}
    return {
        "Execution": {
            "Id": execution_arn(arns, id, machine, about),
            "Input": input,
            "Name": about["name"],
            "RoleArn": role_of(arns, about),
            "StartTime": timestamp(origin.started_ms),
            "RedriveCount": 0,
        },
        "StateMachine": {"Id": arns.machine(machine), "Name": machine},
    }


def execution_arn(arns: Arns, id: str, machine: str, about: dict[str, JSON]) -> str:
    """How an execution is called; that of an express one tells its id, too."""
    if about.get("express"):
        return arns.express(machine, about["name"], str(UUID(id)))
    return arns.execution(machine, about["name"])


def role_of(arns: Arns, about: dict[str, JSON]) -> str:
    role: str = about.get("role") or f"arn:aws:iam::{arns.account}:role/xingqiao"
    return role


def timestamp(ms: int) -> str:
    """An instant as ISO 8601 has it, to the millisecond."""
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def definition_of(action: Action) -> str | None:
    """The text of a state machine's definition."""
    document = action.exec.document if isinstance(action.exec, Composed) else None
    text = document.get("definition") if isinstance(document, dict) else None
    return text if isinstance(text, str) else None


def hashed(definition: str) -> str:
    return sha256(definition.encode()).hexdigest()


def name_key(namespace: str, machine: str, name: str) -> str:
    """Of the document that holds the id of the execution of this name; that of a Map run is of its label, too."""
    # "/" and ":" are in no namespace's or machine's name, so that no two of them run together.
    return f"/{namespace}/{machine}:{name}"


def named_document(key: str, id: str, now_ms: int) -> Document:
    return Document(kind=NAMED, key=key, body=orjson.dumps([id, now_ms]))


def map_run_documents(run: Run, entries: Sequence[Entry]) -> Iterator[Document]:
    """What the runs of distributed Maps are found by that begin with these entries."""
    for entry in entries:
        for _, _, type, about in entry.detail.get("events", ()):
            arn = parsed_arn(about["mapRunArn"]) if type == STARTED else None
            if isinstance(arn, MapRunArn):
                machine = f"{arn.machine}/{arn.label}"
                key = name_key(run.origin.namespace, machine, arn.uuid)
                yield named_document(key, run.id, entry.at_ms)


def definition_document(definition: str) -> Document:
    """The text as it is stored, for those who ask what an execution was begun with."""
    return Document(kind=DEFINITION, key=hashed(definition), body=orjson.dumps(definition))
