"""How much an expression may do, so that a hostile document cannot stall the conductor."""

from __future__ import annotations

from ..values import EXPRESSION_ERROR, LIMIT_EXCEEDED, Failure, failure

MAX_NODES = 50_000  # document nodes one path may visit: some 50 ms on the slowest machine we know
MAX_DOCUMENT_DEPTH = 200  # levels below a `..` segment
MAX_RESULT_BYTES = 1 << 20  # what one expression may make, roughly, as JSON
MAX_PATTERN = 256  # characters of a `matches` pattern


class BudgetExceededError(Exception):
    """Thrown inside a third-party evaluator, which offers no other way out; never leaves `Path`."""


class Budget:
    """Counts down the nodes that an evaluation may still visit."""

    __slots__ = ("left",)

    def __init__(self, nodes: int = MAX_NODES) -> None:
        self.left = nodes

    def spend(self) -> None:
        """Counts one node.

        Raises:
            BudgetExceededError: when there was none left.
        """
        self.left -= 1
        if self.left < 0:
            raise BudgetExceededError


def too_many_nodes(expression: str) -> Failure:
    return failure(
        LIMIT_EXCEEDED,
        f"{expression} visits more than {MAX_NODES} nodes of its document; "
        "select a smaller part first, or use an inline function",
    )


def too_large(expression: str, limit: int) -> Failure:
    return failure(LIMIT_EXCEEDED, f"{expression} makes a value of more than {limit} bytes")


def unevaluable(expression: str, why: str) -> Failure:
    return failure(EXPRESSION_ERROR, f"{expression}: {why}")
