"""Plain paths, which take a short way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.kit.asl.asked import asked, bound
from xingqiao.composer.languages.jsonata import (
    Expression,
)

NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1.0, 1.5, "x", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=10,
)


@given(value=VALUES, names=st.lists(NAMES, max_size=4))
def test_a_plain_path_is_what_the_machine_finds(value, names):
    path = ".".join(["$states.input", *names])

    for bindings in (bound({"input": value}), bound({"result": 1})):
        assert Expression.compile(path).path is not None
        assert asked(path, bindings) == asked(f"({path})", bindings)
