"""Diagrams of compositions and state machines, as DOT (Graphviz) or Mermaid; nested parts are clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..dsl.drawing import draw
from .machine_diagram import machine_sketch
from .notations import as_dot, as_mermaid
from .sketch import Sketch

if TYPE_CHECKING:
    from ..dsl.composition import Composition


def dot(what: Composition | str) -> str:
    """A composition, or a state machine by its text, as a DOT graph, for Graphviz."""
    return as_dot(_sketch(what))


def mermaid(what: Composition | str) -> str:
    """A composition, or a state machine by its text, as a Mermaid flowchart."""
    return as_mermaid(_sketch(what))


def _sketch(what: Composition | str) -> Sketch:
    if isinstance(what, str):
        return machine_sketch(what)
    sketch = Sketch()
    start = sketch.leaf("start", [], "terminal")
    sketch.leaf("end", draw(sketch, what, start), "terminal")
    return sketch
