"""The combinators, a module for each family. Each returns a checked, frozen `Composition`.

A part may be a composition, the name of an action, a Python function (captured as source), a predicate
or path (evaluated by the conductor itself), or None for `empty`. All combinators raise
`CompositionError`, which names the argument, for wrong use.

Semantics are those of Apache OpenWhisk Composer, if Composer has the combinator: a result that is not
an object is boxed as `{"value": result}`; an object with an `error` field is a failure, loses its other
fields and takes the error path; conditions have JavaScript's truth (an empty list is true).

Each combinator is a constructor and, beside the constructor, the `Row` that describes it.
"""

from . import (
    actions,
    chains,
    children,
    concurrency,
    control,
    data,
    errors,
    events,
    limits,
    loops,
    messages,
    sagas,
    talking,
    transactions,
    updates,
)

__all__ = [
    "actions",
    "chains",
    "children",
    "concurrency",
    "control",
    "data",
    "errors",
    "events",
    "limits",
    "loops",
    "messages",
    "sagas",
    "talking",
    "transactions",
    "updates",
]
