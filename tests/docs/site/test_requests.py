"""The page of all HTTP requests."""

from __future__ import annotations

import re

import pytest

from docs.site import requests
from xingqiao.infra.http.routes import ROUTES

SECTIONS = dict(re.findall(r"^### (.+)\n\n(.*)$", requests.page(), flags=re.MULTILINE))


def test_every_route_has_a_section():
    paths = {path for _, path, _ in ROUTES}
    routes = {
        f"{'any method' if method == '*' else method} {path}"
        for method, path, _ in ROUTES
        if path == "/" or path.removesuffix("/") == path or path[:-1] not in paths
    }

    assert set(SECTIONS) == routes


@pytest.mark.parametrize("request_line", SECTIONS)
def test_a_section_says_what_the_request_does(request_line):
    assert SECTIONS[request_line][:1].isupper()
