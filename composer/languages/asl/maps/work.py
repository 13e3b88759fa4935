"""The work of a Map: the inputs of its iterations with their bounds, and what a distributed Map asks of the server.

A fiber holds one of these as its value, in the JSON that `to_json` writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from ....errors import ProgramError
from ....freezing import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....values import JSON
    from ..documents import StatePart

READ: Final = "/whisk.system/states/readItems"
WRITE: Final = "/whisk.system/states/writeResults"


@final
@frozen
class MapWork:
    """The inputs of a Map's iterations, and their bounds.

    `concurrency`: iterations at a time; 0 is the default of AWS. `tolerated`: iterations that may fail.
    """

    items: list[JSON]
    concurrency: int
    tolerated: int

    def to_json(self) -> dict[str, JSON]:
        return {
            "items": self.items,
            "concurrency": self.concurrency,
            "tolerated": self.tolerated,
        }

    @classmethod
    def from_json(cls, value: JSON) -> MapWork:
        """Reads what `to_json` wrote.

        Raises:
            ProgramError: the value is not the work of a Map.
        """
        match value:
            case {"items": list(items), "concurrency": int(at_once), "tolerated": int(tolerated)}:
                return cls(items, at_once, tolerated)
            case _:
                raise ProgramError("a Map needs a value with 'items', 'concurrency', 'tolerated'")


@final
@frozen
class ServerRequest:
    """An action of the server, `READ` or `WRITE`, with its parameters."""

    action: str
    params: dict[str, JSON]

    def to_json(self) -> dict[str, JSON]:
        return {"action": self.action, "params": self.params}

    @classmethod
    def from_json(cls, value: JSON) -> ServerRequest:
        """Reads what `to_json` wrote.

        Raises:
            ProgramError: the value is not a request of a Map.
        """
        match value:
            case {"action": str(action), "params": dict(params)}:
                return cls(action, params)
            case _:
                raise ProgramError("a Map's request needs a value with 'action' and 'params'")


@final
@frozen
class ReadRequest:
    """The parameters of `READ`: the ItemReader's `Resource`, its arguments, its ReaderConfig and its MaxItems."""

    resource: str
    arguments: JSON
    config: StatePart
    max_items: int | None

    def to_json(self) -> dict[str, JSON]:
        return {
            "resource": self.resource,
            "arguments": self.arguments,
            "config": dict(self.config),
            "maxItems": self.max_items,
        }


@final
@frozen
class WriteRequest:
    """The parameters of `WRITE`: the ResultWriter's `Resource`, its arguments, its WriterConfig, and the results."""

    resource: str
    arguments: JSON
    config: StatePart
    map_run: str
    executions: Sequence[dict[str, JSON]]

    def to_json(self) -> dict[str, JSON]:
        return {
            "resource": self.resource,
            "arguments": self.arguments,
            "config": dict(self.config),
            "mapRun": self.map_run,
            "executions": list(self.executions),
        }


def read_values(value: JSON) -> list[JSON]:
    """The items in the result of `READ`.

    Raises:
        ProgramError: the value is not a result of `READ`.
    """
    match value:
        case {"items": list(items)}:
            return items
        case _:
            raise ProgramError("the result of readItems needs a list 'items'")
