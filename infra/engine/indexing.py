"""What an execution is found by: its attributes, checked against those that its namespace declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ...actions import (
    MAX_MEMO_BYTES,
    PLAIN,
    Indexed,
    InvalidError,
    StartOptions,
    TooLargeError,
    indexed,
)
from ...composer import ANNOTATION_REFUSED, ROOT, Changes, Entry, changed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...actions import Write
    from ...composer import JSON
    from .live import LiveExecution
    from .shared import Parts


def check_memo(memo: JSON) -> None:
    """Checks the size of a memo.

    Raises:
        TooLargeError: it is too large.
    """
    size = len(orjson.dumps(memo))
    if size > MAX_MEMO_BYTES:
        raise TooLargeError(f"The memo takes {size} bytes; at most {MAX_MEMO_BYTES} are allowed.")


def found_by(run: LiveExecution, parts: Parts) -> Indexed:
    """The values under which an execution is found."""
    origin = run.origin
    return index_of(parts, run.id, origin.namespace, origin.started_ms, origin.options)


def annotate(run: LiveExecution, values: Mapping[str, JSON], parts: Parts, write: Write) -> None:
    """Sets the attributes that a composition gives its execution.

    Attributes serve to find executions, so a mistake does not fail one: the history says which value was refused.
    """
    accepted: dict[str, JSON] = {}
    now_ms = run.now_ms(parts.clock)
    for name, value in values.items():
        try:
            accepted |= checked(parts, run.origin.namespace, {name: value})
        except InvalidError as error:
            entry = Entry(now_ms, ROOT, 0, ANNOTATION_REFUSED, {"name": name, "why": str(error)})
            run.write(Changes(entries=[entry]), write)
    if accepted:
        set_attributes(run, accepted, parts, write)


def set_attributes(
    run: LiveExecution, given: Mapping[str, JSON], parts: Parts, write: Write, **memo: JSON
) -> None:
    """Sets attributes that were checked; None removes one. An execution in memory only is indexed at its end."""
    options = described(run.origin.options, given, memo)
    run.origin = changed(run.origin, options=options)
    if not run.origin.express:
        write.executions.append(run.row(run.standing, None))
        write.indexed.append(found_by(run, parts))


def checked(parts: Parts, namespace: str, given: Mapping[str, JSON]) -> dict[str, JSON]:
    """Attributes that fit their declarations.

    Raises:
        InvalidError: one does not.
    """
    declared = parts.attributes.get(namespace, {})
    indexed({name: value for name, value in given.items() if value is not None}, declared)
    return dict(given)


def described(
    options: StartOptions, given: Mapping[str, JSON], memo: Mapping[str, JSON]
) -> StartOptions:
    merged = {**options.attributes, **given}
    attributes = {name: value for name, value in merged.items() if value is not None}
    return changed(options, attributes=attributes, **memo)


def index_of(
    parts: Parts, id: str, namespace: str, started_ms: int, options: StartOptions
) -> Indexed:
    """The index of an execution, without attributes that were deleted or declared otherwise since."""
    declared = parts.attributes.get(namespace, {})
    values = [*indexed({}, {}, options.id)]
    for name, value in options.attributes.items():
        try:
            values += indexed({name: value}, declared)
        except InvalidError:
            continue
    return Indexed(id, namespace, started_ms, tuple(values))


def indexes_start(options: StartOptions) -> bool:
    """True if an execution that starts with these options is found by more than its row."""
    return options is not PLAIN and bool(options.attributes or options.id)
