"""The bounds of an expression, so that a hostile document cannot stall the conductor."""

from __future__ import annotations

from ..values import EXPRESSION_ERROR, LIMIT_EXCEEDED, MADE_DEPTH, Failure, failure

MAX_NODES = 50_000  # document nodes one path may visit: some 50 ms on the slowest machine we know
MAX_PATH = 1024  # characters of a path
MAX_FILTER = 100  # operands, steps and operators of one filter
MAX_RESULT_BYTES = 1 << 20  # of the value that one expression makes, roughly, as JSON
MAX_PATTERN = 256  # characters of a `matches` pattern


class BudgetExceededError(Exception):
    """An evaluation visits too many nodes. Raised deep inside it; never leaves `Path`."""


class UncomparableError(Exception):
    """A filter compares two containers, which could take long. Never leaves `Path`."""


class Budget:
    """Counts down the nodes that an evaluation may still visit."""

    __slots__ = ("left",)

    def __init__(self, nodes: int = MAX_NODES) -> None:
        self.left = nodes

    def spend(self, nodes: int) -> None:
        """Counts so many nodes, before they are visited.

        Raises:
            BudgetExceededError: when there are not so many left.
        """
        self.left -= nodes
        if self.left < 0:
            raise BudgetExceededError


def too_many_nodes(expression: str) -> Failure:
    return failure(
        LIMIT_EXCEEDED,
        f"{expression} visits more than {MAX_NODES} nodes of its document; "
        "select a smaller part first, or use an inline function",
    )


def too_large(expression: str, limit: int) -> Failure:
    return failure(
        LIMIT_EXCEEDED,
        f"{expression} makes a value of more than {limit} bytes or {MADE_DEPTH} levels",
    )


def unevaluable(expression: str, why: str) -> Failure:
    return failure(EXPRESSION_ERROR, f"{expression}: {why}")
