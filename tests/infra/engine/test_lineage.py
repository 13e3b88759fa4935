"""What a row tells of an execution that is not in memory."""

from __future__ import annotations

import pytest

from xingqiao.actions import ExecutionRow
from xingqiao.infra.engine.lineage import Lineage, lineage_of


@pytest.mark.parametrize(
    ("body", "lineage"),
    [
        (b'{"depth":0}', Lineage("x", "guest", "x", 0)),
        (b'{"root":"a","depth":2,"parent":["b","0",1]}', Lineage("x", "guest", "a", 2)),
        (b'{"depth":1,"parent":["a","0",1]}', Lineage("x", "guest", "a", 1)),
        (b"[]", Lineage("x", "guest", "x", 0)),
        (b"damaged", Lineage("x", "guest", "x", 0)),
    ],
)
def test_the_root_and_depth_of_an_execution_are_in_its_row(body, lineage):
    row = ExecutionRow("x", "guest", "name", "running", 1, None, body)

    assert lineage_of(row) == lineage
