"""`xingqiao worker`, against a real server: how it ends if it cannot work."""

from __future__ import annotations

import pytest

FILE = """
from xingqiao import composer

@composer.action(queue="gpu")
def render(params):
    return params
"""


@pytest.fixture
def file(tmp_path):
    made = tmp_path / "render.py"
    made.write_text(FILE)
    return made


def test_wrong_credentials_are_named_by_the_place_they_come_from(xingqiao, file, monkeypatch):
    given = xingqiao("worker", file, "--auth", "some:body")
    monkeypatch.setenv("XINGQIAO_AUTH", "some:body")
    from_environment = xingqiao("worker", file)

    assert (given.code, from_environment.code) == (4, 4)
    assert "the credentials come from --auth, and" in given.err
    assert "the credentials come from XINGQIAO_AUTH, and" in from_environment.err


def test_a_key_that_may_not_work_ends_with_the_same_code(xingqiao, file):
    made = xingqiao("access-key", "create", "looks", "--role", "read", "--json").json

    ended = xingqiao("worker", file, "--auth", made["auth"])

    assert (ended.code, "this needs 'work'" in ended.err) == (4, True)


def test_a_url_that_is_none_is_named_by_its_option(xingqiao, file):
    ended = xingqiao("worker", file, "--url", "ftp://127.0.0.1")

    assert ended.code == 1
    assert "ftp://127.0.0.1 (from --url) is not a valid URL" in ended.err
