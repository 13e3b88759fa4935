"""JSONata 2.0.6 as AWS has it: bounded, with AWS' functions, and the same every time.

What differs from 2.0.6, and is meant to: `$eval` is missing and six functions are AWS' own; steps,
levels and memory are bounded; what is infinite leaves as the text "Infinity" (so AWS has it); a value
that is a function, or holds one, is an error; where 2.0.6 crashes there is an error or a result.

What differs and is not mended: an object's keys stand in the order in which they came, where
JavaScript puts keys that are whole numbers first; characters are counted, not UTF-16 units; `$sort`
compares by code point; `$formatNumber(0, '#.##')` is "0", not ".0", and with signs of the caller's own
it rounds a half up; S0208 and D3130 name what they are about otherwise; dates by week (`[W]`, `[w]`,
`[x]`, `[X]`) cannot be read, as in 2.0.6. A `$base64encode` of what is not Latin-1 keeps low bytes, as
2.0.6 does.
"""

from .bounds import MAX_STEPS, OverlongError, QueryError
from .expressions import Bindings, Expression, evaluate
from .missing import MISSING
from .references import top_level_references

__all__ = [
    "MAX_STEPS",
    "MISSING",
    "Bindings",
    "Expression",
    "OverlongError",
    "QueryError",
    "evaluate",
    "top_level_references",
]
