"""The types of the client's synchronous face, made of the asynchronous classes: `make stubs` writes them."""

from __future__ import annotations

import inspect
import sys

from xingqiao.infra.client.client import Client
from xingqiao.infra.client.executions import RemoteEntity, RemoteExecution
from xingqiao.infra.client.wrapping import annotation, public

FACES = {
    "BlockingClient": Client,
    "BlockingExecution": RemoteExecution,
    "BlockingEntity": RemoteEntity,
}
HEAD = """\
# Made of the asynchronous classes by `make stubs`.
from ...composer import JSON, Composition, Outcome
from ..handles import Document, Telling
from .wrapping import BlockingListing, Face

__all__ = ["BlockingClient", "BlockingEntity", "BlockingExecution", "BlockingListing"]
"""


def stubs():
    """The text of `infra/client/blocking.pyi`, before it is formatted."""
    return HEAD + "".join(_class(name, of) for name, of in FACES.items())


def _class(name, of):
    members = "".join(_member(each, member) for each, member in public(of))
    return f"\nclass {name}(Face):\n{members}"


def _member(name, member):
    if isinstance(member, property):
        returned = annotation(inspect.signature(member.fget).return_annotation)
        return f"    @property\n    def {name}(self) -> {returned}: ...\n"
    signature = inspect.signature(member)
    shown = ["self"]
    for each in list(signature.parameters.values())[1:]:
        if each.kind is each.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        default = "" if each.default is each.empty else f" = {each.default!r}"
        shown.append(f"{each.name}: {each.annotation}{default}")
    returned = annotation(signature.return_annotation)
    return f"    def {name}({', '.join(shown)}) -> {returned}: ...\n"


if __name__ == "__main__":
    sys.stdout.write(stubs())
