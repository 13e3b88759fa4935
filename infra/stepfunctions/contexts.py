"""The Step Functions wing's additions to executions: names, definitions and context objects.

The wing keeps of an execution, with its row (`about`):

    name            its name; without a given one, its id as a UUID
    definition      the hash of its definition's text, which is a document
    express         true if it is an express execution
    signed          true if the tokens of its tasks are signed: so they are of all that began since they can be
    role, version, alias, trace, ...   as the caller gave them

https://docs.aws.amazon.com/step-functions/latest/dg/input-output-contextobject.html
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ...actions import Composed, MapRunArn, parsed_arn
from ...composer import boxed, changed
from ..engine import name_key, named_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...actions import Action, Arns, Document
    from ...composer import JSON, Entry, Failure
    from ..engine import Origin

STARTED = "MapRunStarted"
TIMEOUT = "States.Timeout"


class MachineHooks:
    """The names, definitions and context objects of executions of state machines. A `Hooks` of the engine.

    Args:
        arns: how state machines and their executions are called.
    """

    def __init__(self, arns: Arns) -> None:
        self._arns = arns

    def introduced(self, id: str, origin: Origin, /) -> Origin:
        about: dict[str, JSON] = {"name": str(UUID(id)), **(origin.about or {}), "signed": True}
        if origin.express:
            about["express"] = True
        text = self.definition(origin.action)
        if text is not None:
            about["definition"] = sha256(text.encode()).hexdigest()
        return changed(origin, about=about)

    def revision(self, about: Mapping[str, JSON], /) -> str | None:
        hash = about.get("definition")
        return hash if isinstance(hash, str) else None

    def definition(self, action: Action, /) -> str | None:
        document = action.exec.document if isinstance(action.exec, Composed) else None
        text = document.get("definition") if isinstance(document, dict) else None
        return text if isinstance(text, str) else None

    def context(self, id: str, origin: Origin, input: JSON, /) -> dict[str, JSON]:
        machine, about = origin.action.listed_as.path, origin.about or {}
        return {
            "Execution": {
                "Id": self.address(id, machine, about),
                "Input": input,
                "Name": about["name"],
                "RoleArn": role_of(self._arns, about),
                "StartTime": timestamp(origin.started_ms),
                "RedriveCount": 0,
            },
            "StateMachine": {"Id": self._arns.machine(machine), "Name": machine},
        }

    def documents(self, id: str, origin: Origin, entries: Sequence[Entry], /) -> Iterator[Document]:
        """The names of the runs of distributed Maps that begin with these entries."""
        for entry in entries:
            events: Any = entry.detail.get("events", ())  # the language has written them
            for _, _, type, about in events:
                arn = parsed_arn(about["mapRunArn"]) if type == STARTED else None
                if isinstance(arn, MapRunArn):
                    yield named_document(map_run_key(origin.namespace, arn), id, entry.at_ms)

    def address(self, id: str, path: str, about: Mapping[str, JSON], /) -> str:
        """The ARN of an execution; that of an express one contains its id, too."""
        name = str(about["name"])
        if about.get("express"):
            return self._arns.express(path, name, str(UUID(id)))
        return self._arns.execution(path, name)

    def timed_out(self, failure: Failure, /) -> bool:
        # The time of a task is not a state machine's own: such an error has no status.
        return failure.code == TIMEOUT and "Status" in boxed(failure.error)

    def takes_unsigned(self, about: Mapping[str, JSON], /) -> bool:
        return "signed" not in about


def map_run_key(namespace: str, arn: MapRunArn) -> str:
    """The key of the name of a run of a distributed Map."""
    return name_key(namespace, f"{arn.machine}/{arn.label}", arn.uuid)


def role_of(arns: Arns, about: Mapping[str, JSON]) -> str:
    """The role of an execution, or the account's own if it was given none."""
    return str(about.get("role") or f"arn:aws:iam::{arns.account}:role/xingqiao")


def timestamp(ms: int) -> str:
    """An instant as ISO 8601 has it, to the millisecond."""
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
