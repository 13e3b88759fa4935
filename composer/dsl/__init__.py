"""The DSL: compositions as a user writes them in Python, and the programs that they become.

Importing any module of it imports all combinators: `composition.ROWS` is complete once it is imported.
"""

from . import combinators

__all__ = ["combinators"]
