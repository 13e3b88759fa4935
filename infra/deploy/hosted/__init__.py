"""The code that runs in a cloud: the conductor between a table and an outbox, and the wrapper of actions.

It is copied into every bundle beside `composer`, and imports nothing but the standard library; the module of
a cloud (`aws`, `azure`) may also import that cloud's own library; `google` needs none. To host compositions somewhere:

- implement `Table` and `Outbox` by their laws;
- pass messages to `Conductor.receive`, several at once if they come so, and again, later, if it raises;
- call `Conductor.sweep` about every minute;
- answer HTTP with `serve`;
- run an action's message with `Wrapped` and post the answer to the queue of `Conductor.receive`; `crashed`
  makes the answer of an action that died;
- let no conductor process live longer than `execution_state.PATIENCE_MS`, and no message come again before it ends.
"""

from .conductor import Conductor, LaterError
from .endpoints import Answer, Request, serve
from .ports import (
    MAX_ROWS,
    Change,
    Clock,
    Deployed,
    Invocation,
    Note,
    Outbox,
    Record,
    Settings,
    Table,
)
from .wrapper import Wrapped, crashed

__all__ = [
    "MAX_ROWS",
    "Answer",
    "Change",
    "Clock",
    "Conductor",
    "Deployed",
    "Invocation",
    "LaterError",
    "Note",
    "Outbox",
    "Record",
    "Request",
    "Settings",
    "Table",
    "Wrapped",
    "crashed",
    "serve",
]
