"""The program of every conductor action: what OpenWhisk's controller does around its code.

The code is asked what to do; the action that it names is run, and its result, with the state over it, is
what the code is asked with next; until it names none. A failure of the action is handed to the code,
which may handle it; a failure of the code is the composition's.
"""

from __future__ import annotations

from ..expressions import Template
from . import instructions as i
from .program import Program

_NO_STATE = Template.of({})

CONDUCTING = Program(
    (
        i.Save(template=_NO_STATE),
        i.Consult(path=""),
        i.Conduct(unnamed=6, otherwise=8),
        i.Guard(to=6),
        i.InvokeNamed(path=""),
        i.Leave(),
        i.Recall(how="under"),
        i.Jump(to=0),
        i.End(),
    )
)
