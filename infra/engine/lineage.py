"""The lineage of an execution under way: it must be known while the execution is not in memory."""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, NamedTuple

import orjson

if TYPE_CHECKING:
    from ...actions import ExecutionRow


class Lineage(NamedTuple):
    """An execution that is under way, out of its row.

    `root` is the execution at the top of those that have started it, its own id if nothing has; `depth` how
    far below that it is. `parent` and `close` are those of a child; see `StartOptions`. `chain` is the first run
    of its chain, "" if that is this one.
    """

    execution: str
    namespace: str
    root: str
    depth: int
    parent: str = ""
    close: str = ""
    chain: str = ""

    @property
    def is_call(self) -> bool:
        """True if no other execution has started it."""
        return self.root == (self.chain or self.execution)


def lineage_of(row: ExecutionRow) -> Lineage:
    """Reads a row's body. In rows of earlier versions the parent stands for the root.

    A damaged row counts as a root: loading it will say what is wrong.
    """
    try:
        about = orjson.loads(row.body)
    except orjson.JSONDecodeError:
        about = None
    if not isinstance(about, dict):
        return Lineage(row.id, intern(row.namespace), row.id, 0)
    root = about.get("root") or (about.get("parent") or [row.id])[0]
    chain = (about.get("chain") or [""])[0]
    options = about.get("options")
    if isinstance(options, dict) and "parent" in options:
        child = options["parent"], options.get("close", "")
        return Lineage(row.id, intern(row.namespace), root, about.get("depth", 0), *child, chain)
    return Lineage(row.id, intern(row.namespace), root, about.get("depth", 0), chain=chain)
