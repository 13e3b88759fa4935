"""The combinators, a module for each family. Each returns a checked, frozen `Composition`.

Where a part is expected there may stand a composition, the name of an action, a Python function
(captured as source), a predicate or path (evaluated by the conductor itself), or None for `empty`.
All raise `CompositionError` for wrong use, naming the argument.

Semantics are Apache OpenWhisk Composer's where it has them: a result that is not an object is boxed as
`{"value": result}`; an object with an `error` field is a failure, loses its other fields and takes the
error path; conditions are true as JavaScript has it (an empty list is true).

Each combinator is a constructor and, beside it, the `Row` that says everything about the combinator.
"""

from . import actions, concurrency, control, data, errors, loops, sagas, transactions

__all__ = [
    "actions",
    "concurrency",
    "control",
    "data",
    "errors",
    "loops",
    "sagas",
    "transactions",
]
