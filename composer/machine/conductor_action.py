"""The program of every conductor action: the loop that OpenWhisk's controller runs around its code.

The code returns the name of an action. The action runs, and its result, with the state over it, is the next
input of the code, until the code names no action. A failure of the action is passed to the code, which may
handle it; a failure of the code is the failure of the composition.
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
