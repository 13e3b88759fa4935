"""A picture before it is written down: nodes, edges and clusters, in the order in which they are drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from ..dsl.canvas import Canvas

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..dsl.canvas import Ends, Shape


@dataclass(frozen=True, slots=True)
class Node:
    """A node; the shape says what kind of part the node stands for."""

    id: str
    label: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow between two nodes, by their ids; the label may be empty."""

    start: str
    end: str
    label: str


@dataclass(frozen=True, slots=True)
class Cluster:
    """A box around nodes and other boxes. Drawing adds members while the box is open."""

    id: str
    label: str
    members: list[Member] = field(default_factory=list)


Member: TypeAlias = Node | Cluster


class Sketch(Canvas):
    """The picture: `root` holds all nodes and clusters, `edges` the arrows between the nodes."""

    def __init__(self) -> None:
        self.edges: list[Edge] = []
        self.root = Cluster("root", "")
        self._open = [self.root]
        self._size = 0

    def node(self, label: str, shape: Shape, ends: Ends) -> str:
        node = Node(f"n{self._size}", label, shape)
        self._size += 1
        self._open[-1].members.append(node)
        self.join(ends, node.id)
        return node.id

    def leaf(self, label: str, ends: Ends, shape: Shape = "step") -> Ends:
        return [(self.node(label, shape, ends), "")]

    @property
    def size(self) -> int:
        return self._size

    def edge(self, start: str, end: str, label: str) -> None:
        self.edges.append(Edge(start, end, label))

    def join(self, ends: Ends, end: str) -> None:
        """Draws an edge to a node from each of the ends."""
        self.edges += [Edge(start, end, label) for start, label in ends]

    def entered(self, ends: Ends) -> str | None:
        sources = {start for start, _ in ends}
        return next((edge.end for edge in self.edges if edge.start in sources), None)

    def cluster(self, label: str, draw: Callable[[], Ends]) -> Ends:
        cluster = Cluster(f"c{self._size}_{len(self._open)}", label)
        self._open[-1].members.append(cluster)
        self._open.append(cluster)
        ends = draw()
        self._open.pop()
        return ends
