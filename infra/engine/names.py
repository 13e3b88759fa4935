"""Names of executions: documents that say which execution was given a name, and when."""

from __future__ import annotations

import orjson

from ...actions import Document

NAMED = (
    "named"  # documents of names: the id of the execution, and the instant at which it was given
)


def name_key(namespace: str, path: str, name: str) -> str:
    """The key of the document of a name: of an execution of the action with this path, or of a part of one."""
    # "/" and ":" are in no namespace's or action's name, so that no two of them run together.
    return f"/{namespace}/{path}:{name}"


def named_document(key: str, id: str, now_ms: int) -> Document:
    """The document that gives a name to an execution."""
    return Document(kind=NAMED, key=key, body=orjson.dumps([id, now_ms]))
