"""Amazon resource names: AWS' names for the objects of this service.

Region and account are constants of the service. They are written into the names that go out, and not
compared in those that come in: a caller is known by its credentials, and has no other account.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

if TYPE_CHECKING:
    from collections.abc import Callable

REGION = "us-east-1"
ACCOUNT = "111111111111"


@dataclass(frozen=True, slots=True)
class MachineArn:
    """A state machine; `qualifier` is the number of a version, the name of an alias, or None."""

    name: str
    qualifier: int | str | None = None


@dataclass(frozen=True, slots=True)
class ExecutionArn:
    """A standard execution. One that a Map run has started is of the `machine` "NAME/LABEL"."""

    machine: str
    name: str


@dataclass(frozen=True, slots=True)
class ExpressArn:
    """An express execution. Several may have the same name; `uuid` is unique."""

    machine: str
    name: str
    uuid: str


@dataclass(frozen=True, slots=True)
class ActivityArn:
    """An activity."""

    name: str


@dataclass(frozen=True, slots=True)
class MapRunArn:
    """A run of a distributed Map."""

    machine: str
    label: str
    uuid: str


Arn: TypeAlias = MachineArn | ExecutionArn | ExpressArn | ActivityArn | MapRunArn


@dataclass(frozen=True, slots=True)
class Arns:
    """Spells names. `region` and `account` are those of this service."""

    region: str = REGION
    account: str = ACCOUNT

    def spelled(self, arn: Arn) -> str:
        """The text of a name."""
        return f"arn:aws:states:{self.region}:{self.account}:{_resource(arn)}"

    def machine(self, name: str, qualifier: int | str | None = None) -> str:
        """The name of a state machine, or of a version or an alias."""
        return self.spelled(MachineArn(name, qualifier))

    def execution(self, machine: str, name: str) -> str:
        return self.spelled(ExecutionArn(machine, name))

    def express(self, machine: str, name: str, uuid: str) -> str:
        return self.spelled(ExpressArn(machine, name, uuid))

    def activity(self, name: str) -> str:
        return self.spelled(ActivityArn(name))

    def map_run(self, machine: str, label: str, uuid: str) -> str:
        return self.spelled(MapRunArn(machine, label, uuid))


def parsed_arn(text: str) -> Arn | None:
    """Reads a name; None if it is not a name of Step Functions."""
    match = _ARN.fullmatch(text)
    if match is None:
        return None
    read = _KINDS.get(match["kind"])
    parts = match["rest"].split(":")
    return read(parts) if read is not None and all(parts) else None


_ARN = re.compile(
    r"arn:aws[a-z-]*:states:[a-z0-9-]+:[0-9]+:(?P<kind>[A-Za-z]+):(?P<rest>.+)", re.DOTALL
)
_VERSION = re.compile(r"[1-9][0-9]{0,8}")


def _machine(parts: list[str]) -> Arn | None:
    match parts:
        case [name]:
            return MachineArn(name)
        case [name, text]:
            return MachineArn(name, int(text) if _VERSION.fullmatch(text) else text)
    return None


def _map_run(parts: list[str]) -> Arn | None:
    machine, _, label = parts[0].partition("/")
    return MapRunArn(machine, label, parts[1]) if len(parts) == 2 and machine and label else None  # noqa: PLR2004


_KINDS: dict[str, Callable[[list[str]], Arn | None]] = {
    "stateMachine": _machine,
    "execution": lambda parts: ExecutionArn(*parts) if len(parts) == 2 else None,  # noqa: PLR2004
    "express": lambda parts: ExpressArn(*parts) if len(parts) == 3 else None,  # noqa: PLR2004
    "activity": lambda parts: ActivityArn(*parts) if len(parts) == 1 else None,
    "mapRun": _map_run,
}


def _resource(arn: Arn) -> str:
    match arn:
        case MachineArn(name, None):
            return f"stateMachine:{name}"
        case MachineArn(name, qualifier):
            return f"stateMachine:{name}:{qualifier}"
        case ExecutionArn(machine, name):
            return f"execution:{machine}:{name}"
        case ExpressArn(machine, name, uuid):
            return f"express:{machine}:{name}:{uuid}"
        case ActivityArn(name):
            return f"activity:{name}"
        case MapRunArn(machine, label, uuid):
            return f"mapRun:{machine}/{label}:{uuid}"
        case _:
            assert_never(arn)
