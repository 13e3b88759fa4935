"""What runs in a cloud: the conductor between a table and an outbox, and what stands around actions.

It is copied into every bundle beside `composer`, and imports nothing else but the standard library; each
cloud's module (`aws`, `azure`) also imports that cloud's own. To host compositions somewhere:

- implement `Table` and `Outbox` by their laws;
- hand what comes in to `Conductor.receive`, several messages at once if they come so, and again, later, when
  it raises;
- call `Conductor.sweep` about every minute;
- answer HTTP with `serve`;
- run an action's message through `Wrapped` and post the answer to where `Conductor.receive` is called; what
  the host says of one that died is `crashed`;
- let no process that conducts live longer than `states.PATIENCE_MS`, and no message come again before it ends.
"""

from .conducting import Conductor, LaterError
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
from .serving import Answer, Request, serve
from .wrapping import Wrapped, crashed

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
