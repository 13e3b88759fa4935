"""The `exec` of actions that workers outside poll for.

`exec` as JSON is `{"kind": "queue", "queue": "gpu", <options>}`. Times are in seconds. `key`, `priority` and
`version` are templates, which are filled in from the parameters of each task.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from .. import composer
from ..composer import Bound, ExpressionError, Failure, Scope, flaw
from .clouds import YEAR_MS, malformed
from .kinds import QUEUE, Row
from .outcome import INVALID_REQUEST
from .queueing import HIGHEST, LOWEST, USUAL

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ..composer import JSON, Template
    from .kinds import ExecDocument

MAX_COUNT = 1_000_000
MAX_ATTEMPTS = 100
MAX_TEXT = 255
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,254}", re.ASCII)
_NOT_OPTIONS = ("kind", "queue", "binary", "code", "main")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a task asks for, filled in from its parameters."""

    priority: int
    key: str
    version: str


@dataclass(frozen=True)
class Queued:
    """An action whose tasks wait in a queue until a worker outside takes them. Options are checked."""

    queue: str
    options: dict[str, Any] = field(default_factory=dict)
    kind: str = QUEUE

    @cached_property
    def bound(self) -> Bound:
        """The limit of the action, or of each key of it if it is `keyed`."""
        return Bound(self.options.get("concurrent"), self.options.get("per_minute"))

    @cached_property
    def keyed(self) -> bool:
        """True if its tasks have keys."""
        return "key" in self.options

    @cached_property
    def attempts(self) -> int:
        """The number of workers that may get a task, one after the other: the next when one is silent."""
        return int(self.options.get("attempts", 1))

    @cached_property
    def heartbeat_ms(self) -> int | None:
        """The time in which a worker must tell that it is at work."""
        return _ms(self.options.get("heartbeat"))

    @cached_property
    def to_start_ms(self) -> int | None:
        """The time that a task may wait for a worker."""
        return _ms(self.options.get("to_start"))

    @cached_property
    def _templates(self) -> dict[str, Template]:
        found = {name: self.options[name] for name in _FILLED if name in self.options}
        return {name: composer.Template.from_json(value) for name, value in found.items()}

    def asked(self, params: JSON) -> Asked | Failure:
        """What a task with these parameters asks for, or the failure if a value is not allowed."""
        filled: dict[str, Any] = {"priority": USUAL, "key": "", "version": ""}
        scope = Scope(params, {})
        for name, template in self._templates.items():
            value = template.fill(scope)
            if isinstance(value, Failure):
                return _refused(
                    f"the option '{name}' of the queue cannot be filled in: {value.message}"
                )
            if type(value) in (int, float, bool) and name != "priority":
                value = str(value)
            holds, wanted = _FILLED[name]
            if not holds(value):
                return _refused(
                    f"the option '{name}' of the queue must be {wanted}, not {value!r:.100}"
                )
            filled[name] = value
        return Asked(**filled)

    def to_json(self) -> dict[str, JSON]:
        return {"kind": self.kind, "queue": self.queue, **self.options, "binary": False}


def check_queue(name: str, value: Any) -> str:
    """Checks that a field is the name of a queue. Returns the name.

    Raises:
        InvalidError: it is not.
    """
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise malformed(
            name,
            "must be the name of a queue: 1 to 255 letters, digits, '_', '.', '@' and '-', not "
            f"{value!r:.100}",
        )
    return value


def checked_bound(name: str, doc: Mapping[str, Any]) -> Bound:
    """The limit that a document sets by `concurrent` and `per_minute`.

    Raises:
        InvalidError: a member is malformed. The message names it.
    """
    for member in ("concurrent", "per_minute"):
        if doc.get(member) is not None:
            _count(f"{name}{member}", doc[member])
    return Bound(doc.get("concurrent"), doc.get("per_minute"))


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else max(1, round(seconds * 1000))


def _refused(text: str) -> Failure:
    return Failure(INVALID_REQUEST, {"code": INVALID_REQUEST, "message": text})


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_TEXT


def _is_priority(value: object) -> bool:
    return type(value) is int and HIGHEST <= value <= LOWEST


_FILLED: Final[dict[str, tuple[Callable[[object], bool], str]]] = {
    "priority": (_is_priority, f"an int from {HIGHEST} to {LOWEST}"),
    "key": (_is_text, f"a text of at most {MAX_TEXT} characters"),
    "version": (_is_text, f"a text of at most {MAX_TEXT} characters"),
}


def _count(name: str, value: JSON) -> None:
    if type(value) is not int or not 1 <= value <= MAX_COUNT:
        raise malformed(name, f"must be an int from 1 to {MAX_COUNT}, not {value!r:.100}")


def _attempts(name: str, value: JSON) -> None:
    if type(value) is not int or not 1 <= value <= MAX_ATTEMPTS:
        raise malformed(name, f"must be an int from 1 to {MAX_ATTEMPTS}, not {value!r:.100}")


def _seconds(name: str, value: JSON) -> None:
    if type(value) not in (int, float) or not 0 < value <= YEAR_MS / 1000:  # type: ignore[operator]
        raise malformed(
            name, f"must be a number of seconds > 0, at most a year, not {value!r:.100}"
        )


def _template(name: str, value: JSON) -> None:
    try:
        template = composer.Template.from_json(value)
    except ExpressionError as error:
        raise malformed(name, f"is not a template: {error}") from error
    if isinstance(value, dict):
        return  # it depends on the parameters
    holds, wanted = _FILLED[name.rpartition(".")[2]]
    if not holds(template.fill(Scope(None, {}))):
        raise malformed(name, f"must be {wanted}, not {value!r:.100}")


_OPTIONS: Final[dict[str, Callable[[str, JSON], None]]] = {
    **dict.fromkeys(_FILLED, _template),
    **dict.fromkeys(("concurrent", "per_minute"), _count),
    **dict.fromkeys(("heartbeat", "to_start"), _seconds),
    "attempts": _attempts,
}


def _parsed(doc: ExecDocument, _namespace: str, _kinds: Collection[str]) -> Queued:
    options = {name: value for name, value in doc.items() if name not in _NOT_OPTIONS}
    if why := flaw(options):
        raise malformed("exec", f"is not a JSON value: {why}")
    check_queue("exec.queue", doc.get("queue"))
    for name, value in options.items():
        check = _OPTIONS.get(name)
        if check is None:
            told = ", ".join(f"'{option}'" for option in sorted(_OPTIONS))
            raise malformed(f"exec.{name}", f"is not an option of '{QUEUE}', which has {told}")
        check(f"exec.{name}", value)
    return Queued(doc["queue"], options)


def _shown(execution: Queued, _code: bool) -> dict[str, JSON]:
    return execution.to_json()


# Every server can queue: like a composition it needs no runtime.
QUEUED: Mapping[str, Row] = {
    QUEUE: Row(parse=_parsed, show=_shown, conducted=True, longest_ms=YEAR_MS)
}
