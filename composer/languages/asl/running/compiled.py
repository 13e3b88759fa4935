"""A state's definition, made ready to run: paths, templates and rules compiled once."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, final

from ..jsonpath.choices import Rule
from ..jsonpath.fields import InputSide, OutputSide
from ..jsonpath.references import ReferencePath
from ..jsonpath.templates import Template
from .retriers import Catcher, Retrier

if TYPE_CHECKING:
    from ....values import JSON
    from ..documents import StateDoc, StatePart

END: Final = ""  # the next state of a state that has none
# How definitions refer to the context object: by itself, or as a part of all that JSONata has of a state.
CONTEXT: Final = re.compile(r"\$\$|context|\$states\b(?!\s*\.\s*(?:input|result|errorOutput)\b)")


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
        """The path of a field, from the field `...Path`; None without that field."""
        text = self.doc.get(f"{field}Path")
        return None if text is None else ReferencePath.compile(text)


def _template(doc: StatePart, field: str) -> Template | None:
    return Template(doc[field]) if field in doc else None


def _test_of(rule: StatePart) -> dict[str, JSON]:
    return {name: part for name, part in rule.items() if name not in ("Next", "Assign", "Comment")}


state_of = lru_cache(maxsize=4096)(State)
"""The state of an instruction's text; equal texts share one."""
