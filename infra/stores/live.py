"""What must be known of an execution under way while it is not in memory, out of its row."""

from __future__ import annotations

import orjson

from actions import Live


def live_of(id: str, namespace: str, body: bytes) -> Live:
    """As `Standing` has it. In rows of earlier versions its parent stands for its root.

    A damaged row counts as a root: whoever loads it is told what is wrong with it.
    """
    try:
        about = orjson.loads(body)
    except orjson.JSONDecodeError:
        about = None
    if not isinstance(about, dict):
        return Live(id, namespace, id, 0)
    root = about.get("root") or (about.get("parent") or [id])[0]
    return Live(id, namespace, root, about.get("depth", 0))
