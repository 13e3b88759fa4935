"""Actions that run elsewhere, and their `exec`. `clouds` has the table of all clouds and their options.

`exec` as JSON is `{"kind": ..., "function": ..., <options>}`. Options of every kind: `credentials`, the name of a
secret of the action's namespace; `retry`, see `Retrying`; `key_parameter`, the parameter in which the
function gets its idempotency key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..composer import flaw
from .clouds import CLOUDS, COMMON, READING, malformed, printable
from .kinds import Row

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..composer import JSON
    from .kinds import ExecDocument

REMOTES = tuple(CLOUDS)
_NOT_OPTIONS = ("kind", "function", "binary", "code", "main")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying:
    """The retries within one step, of requests that were refused or may safely be repeated.

    Args:
        attempts: in all, with the first.
        delay_ms: before the second attempt; each further delay is twice as long, with jitter.
        max_delay_ms: the longest delay, also if the cloud asks for a longer one.
    """

    attempts: int = 4
    delay_ms: int = 200
    max_delay_ms: int = 20_000


@dataclass(frozen=True)
class Remote:
    """A function elsewhere. Options are as they were deployed, checked."""

    kind: str
    function: str
    options: dict[str, Any] = field(default_factory=dict)

    def option(self, name: str, default: Any = None) -> Any:
        return self.options.get(name, default)

    @property
    def retrying(self) -> Retrying:
        return Retrying(**self.options.get("retry", {}))

    @property
    def calls_back(self) -> bool:
        """True if its result always comes by a completion trigger."""
        return CLOUDS[self.kind].calls_back(self.options)

    @property
    def region(self) -> str:
        """Its region on AWS by its ARN or its options; "" if neither names one."""
        parts = self.function.split(":")
        named = parts[3] if self.function.startswith("arn:") else self.option("region", "")
        return str(named)

    @property
    def keyed(self) -> bool:
        """True if the cloud itself runs requests with the same idempotency key only once."""
        return CLOUDS[self.kind].keyed(self.options)

    @property
    def repeatable(self) -> bool:
        """True if its kind or its options say that invoking it twice is harmless."""
        return self.keyed or self.option("method") in READING

    def to_json(self) -> dict[str, JSON]:
        return {"kind": self.kind, "function": self.function, **self.options, "binary": False}


def parsed_remote(doc: ExecDocument) -> Remote:
    """Reads the `exec` of an action that runs elsewhere.

    Raises:
        InvalidError: a field is malformed. The message names the field and its allowed values.
    """
    kind = doc["kind"]
    cloud = CLOUDS.get(kind)
    if cloud is None:  # a newer version of the server wrote it
        raise malformed("exec.kind", f"'{kind:.80}' runs on no known cloud")
    known = {**COMMON, **cloud.options}
    options = {name: value for name, value in doc.items() if name not in _NOT_OPTIONS}
    if why := flaw(options):
        raise malformed("exec", f"is not a JSON value: {why}")
    for name, value in options.items():
        if name not in known:
            told = ", ".join(f"'{option}'" for option in sorted(known))
            raise malformed(f"exec.{name}", f"is not an option of '{kind}', which has {told}")
        known[name](f"exec.{name}", value)
    for name in cloud.needed:
        if name not in options:
            raise malformed(f"exec.{name}", f"is missing: '{kind}' needs it")
    printable("exec.function", doc.get("function"))
    cloud.function("exec.function", doc["function"])
    return Remote(kind, doc["function"], options)


def _shown(execution: Remote, _code: bool) -> dict[str, JSON]:
    return execution.to_json()


def _parsed(doc: ExecDocument, _namespace: str, _kinds: Collection[str]) -> Remote:
    return parsed_remote(doc)


REMOTE: Mapping[str, Row] = {
    kind: Row(parse=_parsed, show=_shown, longest_ms=cloud.longest_ms)
    for kind, cloud in CLOUDS.items()
}
