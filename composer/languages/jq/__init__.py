"""jq 1.7 and what 1.8 added to it: bounded, cut off from the server, and the same every time.

    program = compile(".items[] | select(.price > $limit) | .name", variables=["limit"])
    names = program.evaluate({"items": [...]}, {"limit": 10})

An evaluation counts its steps, the size of each value before the value is made, and its levels
(`Budget`). A program sees its input and the variables that it is given, and nothing else: `$ENV` and
`env` are `{}`, `now` is given by the caller, the time zone is UTC, `debug` and `stderr` pass on their
input. `import`, `include`, `input`, `inputs`, `halt` and functions of files are refused.

Intended differences from jq 1.8: a whole number keeps all its digits until it is reckoned with, and a
number with a fraction is a double at once; values nest 240 levels deep; a text of JSON that cannot be
read has another message; `while` and `until` use one result of their condition; only an error of a
pattern or of what is done with its variables tries the pattern after `?//`; and patterns may stand
where paths are asked for.
"""

from .budget import MAX_DEPTH, MAX_LEVELS, MAX_SIZE, MAX_STEPS, Budget
from .errors import BudgetError, EvaluationError, JqError, ProgramError
from .program import Program, compile
from .values import tojson

__all__ = [
    "MAX_DEPTH",
    "MAX_LEVELS",
    "MAX_SIZE",
    "MAX_STEPS",
    "Budget",
    "BudgetError",
    "EvaluationError",
    "JqError",
    "Program",
    "ProgramError",
    "compile",
    "tojson",
]
