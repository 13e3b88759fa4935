"""The notations in which a picture is written down: DOT (Graphviz) and Mermaid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sketch import Node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..dsl.canvas import Shape
    from .sketch import Cluster, Sketch


# --- DOT -----------------------------------------------------------------------------------------

_DOT_HEAD = (
    "digraph composition {",
    "  rankdir=TB; compound=true; fontname=Helvetica;",
    "  node [fontname=Helvetica, fontsize=11]; edge [fontname=Helvetica, fontsize=10];",
)
_DOT_SHAPES: dict[Shape, str] = {
    "step": "shape=box, style=rounded",
    "data": "shape=note",
    "choice": "shape=diamond",
    "bar": "shape=box, style=filled, fillcolor=black, height=0.06, width=0.6",
    "point": "shape=point",
    "terminal": "shape=ellipse",
}


def as_dot(sketch: Sketch) -> str:
    """A picture as a DOT graph, for Graphviz."""
    edges = (
        f"  {edge.start} -> {edge.end}"
        + (f" [label={_quoted(edge.label)}]" if edge.label else "")
        + ";"
        for edge in sketch.edges
    )
    return "\n".join([*_DOT_HEAD, *_dot_members(sketch.root, "  "), *edges, "}"]) + "\n"


def _dot_members(cluster: Cluster, indent: str) -> Iterator[str]:
    for member in cluster.members:
        if isinstance(member, Node):
            shape = _DOT_SHAPES[member.shape]
            yield f"{indent}{member.id} [label={_quoted(member.label)}, {shape}];"
        else:
            yield f"{indent}subgraph cluster_{member.id} {{"
            yield f"{indent}  label={_quoted(member.label)}; style=rounded; color=gray;"
            yield from _dot_members(member, indent + "  ")
            yield f"{indent}}}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


# --- Mermaid -------------------------------------------------------------------------------------

_MERMAID_SHAPES: dict[Shape, tuple[str, str]] = {
    "step": ('("', '")'),
    "data": ('["', '"]'),
    "choice": ('{"', '"}'),
    "bar": ('[["', '"]]'),
    "point": ('(("', '"))'),
    "terminal": ('(["', '"])'),
}
_ENTITIES = (("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;"), (">", "&gt;"), ("\n", " "))


def as_mermaid(sketch: Sketch) -> str:
    """A picture as a Mermaid flowchart."""
    edges = (
        f"  {edge.start} -->"
        + (f'|"{_escaped(edge.label)}"|' if edge.label else "")
        + f" {edge.end}"
        for edge in sketch.edges
    )
    return "\n".join(["flowchart TD", *_mermaid_members(sketch.root, "  "), *edges]) + "\n"


def _mermaid_members(cluster: Cluster, indent: str) -> Iterator[str]:
    for member in cluster.members:
        if isinstance(member, Node):
            before, after = _MERMAID_SHAPES[member.shape]
            yield f"{indent}{member.id}{before}{_escaped(member.label) or ' '}{after}"
        else:
            yield f'{indent}subgraph {member.id}["{_escaped(member.label)}"]'
            yield from _mermaid_members(member, indent + "  ")
            yield f"{indent}end"


def _escaped(text: str) -> str:
    for char, entity in _ENTITIES:
        text = text.replace(char, entity)
    return text
