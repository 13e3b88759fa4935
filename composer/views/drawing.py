"""How a drawing is made: nodes, edges and clusters, written as DOT (Graphviz) or Mermaid."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..dsl.canvas import Canvas

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..dsl.canvas import Ends, Shape


@dataclass(slots=True)
class Cluster:
    id: str
    label: str
    members: list[str | Cluster] = field(default_factory=list)


@dataclass(slots=True)
class Node:
    id: str
    label: str
    shape: Shape


class Sketch(Canvas):
    """Nodes, edges and clusters, in the order in which they were drawn."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.edges: list[tuple[str, str, str]] = []
        self.root = Cluster("root", "")
        self._stack = [self.root]

    def node(self, label: str, shape: Shape, ends: Ends) -> str:
        node = Node(f"n{len(self.nodes)}", label, shape)
        self.nodes[node.id] = node
        self._stack[-1].members.append(node.id)
        self.edges += [(end, node.id, text) for end, text in ends]
        return node.id

    def leaf(self, label: str, ends: Ends, shape: Shape = "step") -> Ends:
        return [(self.node(label, shape, ends), "")]

    @property
    def size(self) -> int:
        return len(self.nodes)

    def edge(self, start: str, end: str, label: str) -> None:
        self.edges.append((start, end, label))

    def entered(self, ends: Ends) -> str | None:
        sources = {end for end, _ in ends}
        return next((to for start, to, _ in self.edges if start in sources), None)

    def cluster(self, label: str, draw: Callable[[], Ends]) -> Ends:
        cluster = Cluster(f"c{len(self.nodes)}_{len(self._stack)}", label)
        self._stack[-1].members.append(cluster)
        self._stack.append(cluster)
        ends = draw()
        self._stack.pop()
        return ends


_DOT_SHAPES: dict[Shape, str] = {
    "step": "shape=box, style=rounded",
    "data": "shape=note",
    "choice": "shape=diamond",
    "bar": "shape=box, style=filled, fillcolor=black, height=0.06, width=0.6",
    "point": "shape=point",
    "terminal": "shape=ellipse",
}


def as_dot(sketch: Sketch) -> str:
    """A drawing as a DOT graph, for Graphviz."""
    lines = ["digraph composition {", "  rankdir=TB; compound=true; fontname=Helvetica;",
             "  node [fontname=Helvetica, fontsize=11]; edge [fontname=Helvetica, fontsize=10];"]  # fmt: skip

    def write(cluster: Cluster, indent: str) -> None:
        for member in cluster.members:
            if isinstance(member, str):
                node = sketch.nodes[member]
                lines.append(
                    f"{indent}{node.id} [label={_quoted(node.label)}, {_DOT_SHAPES[node.shape]}];"
                )
            else:
                lines.append(f"{indent}subgraph cluster_{member.id} {{")
                lines.append(f"{indent}  label={_quoted(member.label)}; style=rounded; color=gray;")
                write(member, indent + "  ")
                lines.append(f"{indent}}}")

    write(sketch.root, "  ")
    lines += [
        f"  {start} -> {end}" + (f" [label={_quoted(text)}]" if text else "") + ";"
        for start, end, text in sketch.edges
    ]
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


_MERMAID_SHAPES: dict[Shape, str] = {
    "step": '("{}")', "data": '["{}"]', "choice": '{{"{}"}}', "bar": '[["{}"]]', "point": '(("{}"))',
    "terminal": '(["{}"])',
}  # fmt: skip


def as_mermaid(sketch: Sketch) -> str:
    """A drawing as a Mermaid flowchart."""
    lines = ["flowchart TD"]

    def write(cluster: Cluster, indent: str) -> None:
        for member in cluster.members:
            if isinstance(member, str):
                node = sketch.nodes[member]
                before, after = _MERMAID_SHAPES[node.shape].split("{}", 1)
                before, after = before.replace("{{", "{"), after.replace("}}", "}")
                lines.append(f"{indent}{node.id}{before}{_entities(node.label) or ' '}{after}")
            else:
                lines.append(f'{indent}subgraph {member.id}["{_entities(member.label)}"]')
                write(member, indent + "  ")
                lines.append(f"{indent}end")

    write(sketch.root, "  ")
    lines += [
        f"  {start} -->" + (f'|"{_entities(text)}"|' if text else "") + f" {end}"
        for start, end, text in sketch.edges
    ]
    return "\n".join(lines) + "\n"


def _entities(text: str) -> str:
    for char, entity in (
        ("&", "&amp;"),
        ('"', "&quot;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ("\n", " "),
    ):
        text = text.replace(char, entity)
    return text
