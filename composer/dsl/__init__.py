"""The DSL: compositions as a user writes them in Python, and the programs that they become."""

from . import combinators

__all__ = ["combinators"]
