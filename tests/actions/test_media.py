"""Media types: what they are read as, which are text, and which of them are taken."""

from __future__ import annotations

import pytest

from xingqiao.actions.media import MediaType, accepts, media_type


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("text/plain", MediaType("text/plain")),
        (" Text/HTML ; Charset=UTF-8", MediaType("text/html", "UTF-8")),
        ('a/b; x=1; charset="latin-1"', MediaType("a/b", "latin-1")),
        (
            "application/vnd.api+json;charset = utf-8",
            MediaType("application/vnd.api+json", "utf-8"),
        ),
        ("a/b;", MediaType("a/b")),
        ("", None),
        ("text", None),
        ("text/", None),
        ("/plain", None),
        ("a b/c", None),
        ("a/b c", None),
        ("\u00e9/a", None),
    ],
)
def test_a_type_is_read(text, expected):
    assert media_type(text) == expected


@pytest.mark.parametrize(
    ("text", "is_text"),
    [
        ("text/anything", True),
        ("application/json", True),
        ("application/hal+json", True),
        ("application/xml", True),
        ("application/atom+xml", True),
        ("application/javascript", True),
        ("application/x-www-form-urlencoded", True),
        ("application/graphql; charset=utf-8", True),
        ("application/graphql", False),
        ("application/octet-stream; charset=utf-8", False),
        ("image/png", False),
        ("image/png; charset=utf-8", False),
        ("image/svg+xml", False),
        ("multipart/form-data; boundary=x", False),
    ],
)
def test_a_type_is_text_or_binary(text, is_text):
    assert media_type(text).text is is_text


@pytest.mark.parametrize(
    ("accept", "taken"),
    [
        ("", True),
        ("nonsense", True),
        ("*/*", True),
        ("text/css, *; q=.2", True),
        ("image/*;q=0.5", True),
        ("IMAGE/PNG", True),
        ("text/html;q=1,image/svg+xml", False),
        ("image/png;q=0", False),
        ("image/png;q=0, */*", False),
        ("*/*;q=0.0", False),
        ("*/*;q=0, image/png", True),
        ("image/*;q=0,*/*;q=1", False),
        ("image/png;q=.0", False),
        ("image/png;q=0.001", True),
    ],
)
def test_what_an_accept_says_most_precisely_counts(accept, taken):
    assert accepts(accept, "image/png") is taken
