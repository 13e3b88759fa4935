"""What parameters may do to a request: stand in it, and no more."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.adapters import Fault
from xingqiao.adapters.channel import encoded, filled

HOSTILE = st.sampled_from(
    ["..", ".", "/", "//evil.example", "@evil.example", "?a=b", "#", "\\", "%2e%2e", "%00", "\r\nX: y", "a", "ü", ":80"]
)  # fmt: skip
TEXTS = st.text(max_size=20) | st.lists(HOSTILE, max_size=4).map("".join)


@given(TEXTS, TEXTS)
def test_a_parameter_changes_neither_host_nor_what_comes_before_it(one, other):
    made = filled(
        "https://h.example/a/{one}/b/{one}{other}?c={other}", {"one": one, "other": other}, url=True
    )

    if isinstance(made, Fault):
        assert (made.code, made.may_have_run) == ("InvalidRequest", "no")
        return
    url, used = made
    parts = urlsplit(url)
    _, first, second, third, fourth = parts.path.split("/")
    assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "h.example", "")
    assert (first, unquote(second), third, unquote(fourth)) == ("a", one, "b", one + other)
    assert posixpath.normpath(parts.path).startswith("/a/") or not one
    assert unquote(parts.query) == f"c={other}"
    assert url.isascii()
    assert used == {"one", "other"}


@given(TEXTS)
def test_a_parameter_ends_no_header(text):
    made = filled("no. {one}", {"one": text}, url=False)

    assert isinstance(made, Fault) or made[0] == f"no. {text}"
    assert isinstance(made, Fault) or made[0].isprintable()


@pytest.mark.parametrize(("value", "text"), [(7, "7"), (1.5, "1.5"), ("", ""), ("a b", "a%20b")])
def test_what_stands_in_a_url(value, text):
    assert filled("/{one}", {"one": value}, url=True) == (f"/{text}", {"one"})


def test_a_parameter_within_a_parameter_is_none():
    assert filled("/{one}", {"one": "{other}", "other": "x"}, url=True) == ("/%7Bother%7D", {"one"})


@pytest.mark.parametrize(("most", "fits"), [(10, True), (9, False)])
def test_a_body_is_as_large_as_the_cloud_takes(most, fits):
    body = encoded({"n": "ü"}, most)  # ten bytes

    if fits:
        assert body == '{"n":"ü"}'.encode()
    else:
        assert (body.code, body.may_have_run) == ("PayloadTooLarge", "no")
        assert body.error["message"] == "the cloud takes at most 9 bytes, and these are 10"
