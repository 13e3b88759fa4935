"""A state's definition, made ready to run: paths, templates and rules compiled once."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, final

from ..jsonpath.choices import Rule
from ..jsonpath.fields import InputSide, OutputSide, result_path
from ..jsonpath.references import ReferencePath
from ..jsonpath.templates import Template
from ..state_errors import covers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ....values import JSON
    from ..documents import StateDoc, StatePart

END: Final = ""  # the next state of a state that has none
# How definitions refer to the context object: by itself, or as a part of all that JSONata has of a state.
CONTEXT: Final = re.compile(r"\$\$|context|\$states\b(?!\s*\.\s*(?:input|result|errorOutput)\b)")
RETRIED = (1, 3, 2.0)  # defaults of a retrier: interval in seconds, attempts, rate


@final
class State:
    """One state: its definition `doc`, and its compiled parts."""

    def __init__(self, text: str) -> None:
        whole = json.loads(text)
        doc: StateDoc = whole["state"]
        self.name: str = whole["name"]
        self.type: str = doc["Type"]
        self.doc = doc
        self.next: str = doc.get("Next", END)
        self.jsonata: bool = whole["language"] == "JSONata"
        self.sees_context = CONTEXT.search(text) is not None
        self.retriers = tuple(map(Retrier, doc.get("Retry", ())))
        self.catchers = tuple(Catcher(part, jsonata=self.jsonata) for part in doc.get("Catch", ()))
        self.assign: JSON = doc.get("Assign")
        processor = doc.get("ItemProcessor") or doc.get("Iterator") or {}
        # True if each item is a child execution, with a history and variables of its own.
        self.distributed = processor.get("ProcessorConfig", {}).get("Mode") == "DISTRIBUTED"
        if not self.jsonata:
            inputs = {"InputPath": doc["InputPath"]} if "InputPath" in doc else {}
            self.inputs = InputSide.parse(inputs if self.type == "Map" else doc)
            self.outputs = OutputSide.parse(doc)
            self.template = None if self.assign is None else Template(self.assign)
            self.items = ReferencePath.compile(doc.get("ItemsPath", "$"))
            selector = doc.get("ItemSelector", doc.get("Parameters"))
            self.selector = None if selector is None else Template(selector)
            if self.type == "Choice":
                self.rules = [Rule(_test_of(part)) for part in doc["Choices"]]
                self.rule_assigns = [_template(part, "Assign") for part in doc["Choices"]]

    def path(self, field: str) -> ReferencePath | None:
        """The path of a field, from the field `...Path`; None if there is none."""
        text = self.doc.get(f"{field}Path")
        return None if text is None else ReferencePath.compile(text)


@final
class Retrier:
    """One entry of Retry."""

    def __init__(self, doc: StatePart) -> None:
        interval, attempts, rate = RETRIED
        self.errors: list[str] = doc["ErrorEquals"]
        self.attempts: int = doc.get("MaxAttempts", attempts)
        self._interval_ms = doc.get("IntervalSeconds", interval) * 1000
        self._rate: float = doc.get("BackoffRate", rate)
        most = doc.get("MaxDelaySeconds")
        self._most_ms = None if most is None else most * 1000
        self._full = doc.get("JitterStrategy") == "FULL"

    def delay_ms(self, tried: int, chance: Callable[[], float]) -> int:
        """The delay before the next retry, after `tried` retries; `chance` draws from [0, 1)."""
        try:
            grown = self._interval_ms * float(self._rate) ** tried
        except OverflowError:
            grown = float(MAX_DELAY_MS)
        bounds = [float(MAX_DELAY_MS)] if self._most_ms is None else [float(self._most_ms)]
        grown = min(grown, *bounds)
        return int(grown * chance() + 0.5) if self._full else int(grown + 0.5)


MAX_DELAY_MS: Final = 31_622_400_000  # AWS' bound on MaxDelaySeconds


@final
class Catcher:
    """One entry of Catch."""

    def __init__(self, doc: StatePart, *, jsonata: bool) -> None:
        self.errors: list[str] = doc["ErrorEquals"]
        self.next: str = doc["Next"]
        self.doc = doc
        if not jsonata:
            path = doc.get("ResultPath", "$")
            self.result_path = None if path is None else result_path(path)
            self.template = _template(doc, "Assign")


def _template(doc: StatePart, field: str) -> Template | None:
    return Template(doc[field]) if field in doc else None


def _test_of(rule: StatePart) -> dict[str, JSON]:
    return {name: part for name, part in rule.items() if name not in ("Next", "Assign", "Comment")}


def first_covering(handlers: Iterable[Retrier | Catcher], error: str) -> int | None:
    """The index of the first retrier or catcher that covers an error."""
    return next((at for at, each in enumerate(handlers) if covers(each.errors, error)), None)


state_of = lru_cache(maxsize=4096)(State)
"""The state of an instruction's text; equal texts share one."""
