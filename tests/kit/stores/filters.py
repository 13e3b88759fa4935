"""Predicates, and attributes that they may hold for."""

from __future__ import annotations

from hypothesis import strategies as st

from xingqiao.actions import And, Field, Not, Or, Term
from xingqiao.actions.attributes import FIELDS, key_of

DECLARED = {
    "customer": "text", "amount": "number", "paid": "boolean", "due": "instant", "tags": "keywords",
}  # fmt: skip
# Texts that sort by code points, in whichever way they are encoded, and that begin alike.
texts = st.sampled_from(
    [
        "",
        "a",
        "ab",
        "aé",
        "a\ud7ff",
        "a\ue000",
        "a\U0010ffff",
        "a\U0010ffffb",
        "\U0010ffff",
        "b",
        "B",
        "it's",
        "%",
        "n0",
        "n1",
    ]
)
numbers = st.sampled_from(
    [-1, 0, -0.0, 0.5, 1, 1.0, 2, 1e300, 2**53, 2**53 + 1, 2**63 - 1, 1001, 1005, 1006]
)
flags = st.sampled_from([0, 1])
_SCALARS = {
    "text": texts, "keywords": texts, "number": numbers, "boolean": flags, "instant": st.sampled_from([0, 1000, 1003, 1006]),
}  # fmt: skip
values = st.fixed_dictionaries(
    {},
    optional={
        "customer": texts,
        "amount": numbers,
        "paid": st.booleans(),
        "due": _SCALARS["instant"],
        "tags": st.lists(texts, max_size=3),
    },
)
_STATUSES = st.sampled_from(["running", "failed", "succeeded"])


def _tests(field):
    scalars = _STATUSES if field.name == "status" else _SCALARS[field.type]
    ops = ["=", "in", "has"]
    ops += ["starts_with"] if field.type in ("text", "keywords") else []
    ops += ["<", "<=", ">", ">=", "between"] if field.type not in ("boolean", "keywords") else []

    def test(op):
        sizes = {"has": (0, 0), "in": (1, 3), "between": (2, 2)}.get(op, (1, 1))
        made = st.lists(scalars, min_size=sizes[0], max_size=sizes[1])
        return made.map(lambda found: Term(field, op, tuple(found)))

    return st.sampled_from(ops).flatmap(test)


fields = st.sampled_from(
    [Field(name, type, key_of(name, type)) for name, type in DECLARED.items()]
    + [Field(name, type, "id" if name == "id" else "") for name, type in FIELDS.items()]
)
predicates = st.recursive(
    fields.flatmap(_tests),
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: Or(tuple(parts))),
    ),
    max_leaves=6,
)
