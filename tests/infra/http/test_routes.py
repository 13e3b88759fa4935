"""The table of routes: each can be reached, and a paused server serves those that its operator needs."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from starlette.routing import compile_path

from xingqiao.infra.http.routes import ANY, OPERATED, ROUTES


def requested(path):
    """A path that a request for this route may have."""
    return re.sub(r"\{(\w+)(:path)?\}", r"a-\1", path)


@pytest.mark.parametrize(
    ("place", "method", "path"), [(at, *row[:2]) for at, row in enumerate(ROUTES)]
)
def test_no_route_is_hidden_by_one_before_it(place, method, path):
    before = [
        earlier
        for other, earlier, _ in ROUTES[:place]
        if other in (method, ANY) and compile_path(earlier)[0].match(requested(path))
    ]

    assert before == []


def test_a_method_of_a_path_has_one_endpoint():
    counted = Counter((method, path) for method, path, _ in ROUTES)

    assert {row for row, count in counted.items() if count > 1} == set()


def test_all_that_a_paused_server_serves_besides_reading_has_a_route():
    served = {endpoint for method, _, endpoint in ROUTES if method != "GET"}

    assert set(OPERATED) <= served
