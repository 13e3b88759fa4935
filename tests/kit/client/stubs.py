"""The types of the client's synchronous face, made of the asynchronous classes: `make stubs` writes them."""

from __future__ import annotations

import inspect
import sys

from xingqiao.composer import NOTHING
from xingqiao.infra.client.batches import RemoteBatch
from xingqiao.infra.client.client import Client
from xingqiao.infra.client.executions import RemoteEntity, RemoteExecution
from xingqiao.infra.client.schedules import RemoteSchedule
from xingqiao.infra.client.wrapping import annotation, public
from xingqiao.infra.worker import Worker

FACES = {
    "BlockingClient": Client,
    "BlockingExecution": RemoteExecution,
    "BlockingEntity": RemoteEntity,
    "BlockingSchedule": RemoteSchedule,
    "BlockingBatch": RemoteBatch,
    "BlockingWorker": Worker,
}
HEAD = """\
# Made of the asynchronous classes by `make stubs`.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self, Unpack

from ...composer import JSON, Composition, Outcome
from ..handles import BatchArguments, Document, StartArguments, Telling
from .wrapping import BlockingListing, Face

__all__ = [
    "BlockingBatch",
    "BlockingClient",
    "BlockingEntity",
    "BlockingExecution",
    "BlockingListing",
    "BlockingSchedule",
    "BlockingWorker",
]
"""

MANAGED = """\
    def __enter__(self) -> Self: ...
    def __exit__(self, *exc: object) -> None: ...
"""


def stubs():
    """The text of `infra/client/blocking.pyi`, before it is formatted."""
    return HEAD + "".join(_class(name, of) for name, of in FACES.items())


def _class(name, of):
    members = "".join(_member(each, member) for each, member in public(of))
    managed = MANAGED if hasattr(of, "__aenter__") else ""
    return f"\nclass {name}(Face):\n{members}{managed}"


def _member(name, member):
    if isinstance(member, property):
        returned = annotation(inspect.signature(member.fget).return_annotation)
        return f"    @property\n    def {name}(self) -> {returned}: ...\n"
    signature = inspect.signature(member)
    shown = ["self"]
    for each in list(signature.parameters.values())[1:]:
        if each.kind is each.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        stars = "**" if each.kind is each.VAR_KEYWORD else ""
        shown.append(f"{stars}{each.name}: {each.annotation}{_default(each)}")
    returned = annotation(signature.return_annotation)
    return f"    def {name}({', '.join(shown)}) -> {returned}: ...\n"


def _default(parameter):
    if parameter.default is parameter.empty:
        return ""
    return f" = {'...' if parameter.default is NOTHING else repr(parameter.default)}"


if __name__ == "__main__":
    sys.stdout.write(stubs())
