"""JSONata 2.0.6 as AWS has it: bounded, with AWS' functions, and the same every time.

Intended differences from 2.0.6: `$eval` is missing and six functions are AWS' own; steps,
levels and memory are bounded; an infinite number becomes the text "Infinity" (as on AWS); a value
that is or contains a function is an error; an expression that crashes 2.0.6 has an error or a result.

Other differences: an object's keys keep their order, while
JavaScript puts keys that are whole numbers first; characters are counted, not UTF-16 units; `$sort`
compares by code point; `$formatNumber(0, '#.##')` is "0", not ".0", and with signs of the caller's own
it rounds a half up; S0208 and D3130 name their subject in other words; dates by week (`[W]`, `[w]`,
`[x]`, `[X]`) cannot be read, as in 2.0.6. A `$base64encode` of text that is not Latin-1 keeps low bytes, as
in 2.0.6.
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
