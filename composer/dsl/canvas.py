"""The canvas on which combinators are drawn: nodes, edges between them, and clusters of nodes.

Combinators draw themselves on a canvas. The views implement it and write the picture down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Shape: TypeAlias = Literal["step", "data", "choice", "bar", "point", "terminal"]
Ends: TypeAlias = "list[tuple[str, str]]"
"""The loose ends of a picture: nodes, each with the label of the edge that will leave it."""


class Canvas(Protocol):
    """Takes nodes, edges and clusters in the order in which they are drawn."""

    @property
    def size(self) -> int:
        """The number of nodes drawn so far."""

    def node(self, label: str, shape: Shape, ends: Ends) -> str:
        """Draws a node and an edge to it from each of the ends. Returns its id."""

    def leaf(self, label: str, ends: Ends, shape: Shape = "step") -> Ends:
        """Draws a node as `node` does. Returns the end that leads on from it."""

    def edge(self, start: str, end: str, label: str) -> None:
        """Draws an edge between two nodes."""

    def cluster(self, label: str, draw: Callable[[], Ends]) -> Ends:
        """Puts a box around what `draw` draws. Returns what `draw` returns."""

    def entered(self, ends: Ends) -> str | None:
        """The node to which the first edge from one of the ends leads."""
