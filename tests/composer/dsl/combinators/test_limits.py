"""The combinator for limits that wait."""

from __future__ import annotations

import json

import pytest

from xingqiao import composer
from xingqiao.composer import CompositionError, path


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda: composer.limit("a"), "limit: give 'concurrent', 'per_minute', or both"),
        (lambda: composer.limit("a", concurrent=0), "limit: 'concurrent' must be an int >= 1"),
        (lambda: composer.limit("a", per_minute=1.5), "limit: 'per_minute' must be an int >= 1"),
        (
            lambda: composer.limit("a", concurrent=1, name="a/b"),
            "'name' must be the name of a limit",
        ),
        (lambda: composer.limit("a", concurrent=1, name="é"), "'name' must be the name of a limit"),
        (lambda: composer.limit("a", concurrent=1, name="x" * 256), "'name' must be the name"),
        (
            lambda: composer.limit(
                composer.retry(1, composer.limit("a", name="x", concurrent=1)),
                name="x",
                concurrent=2,
            ),
            "the limit 'x' stands inside itself, where it would wait for its own slot",
        ),
    ],
)
def test_wrong_use_is_refused(build, why):
    with pytest.raises(CompositionError, match=why):
        build()


def test_limits_of_other_names_nest():
    inner = composer.limit("a", name="x" * 255, concurrent=1)
    assert composer.limit(composer.limit(inner, concurrent=1), name="y", per_minute=1)


def test_it_is_written_and_read():
    part = composer.limit("a", key=path("$.t"), concurrent=5, per_minute=60, name="api")
    doc = json.loads(json.dumps(part.to_json()))

    assert doc == {
        "type": "limit", "components": [{"type": "action", "name": "/_/a"}],
        "key": {"$path": "$.t"}, "concurrent": 5, "per_minute": 60, "name": "api",
    }  # fmt: skip
    program = composer.compile(composer.parse(doc))
    assert program.hash == composer.compile(part).hash
    again = composer.Program.from_json(json.loads(json.dumps(program.to_json())), composer.DIALECTS)
    assert again.hash == program.hash


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        ({"concurrent": 2}, "limit 2 at a time"),
        ({"per_minute": 60, "name": "api"}, "limit api 60 per minute"),
        (
            {"concurrent": 2, "per_minute": 9, "key": path("$.t")},
            "limit 2 at a time, 9 per minute for each $.t",
        ),
    ],
)
def test_it_is_drawn_with_its_numbers(arguments, title):
    assert title in composer.mermaid(composer.limit("a", **arguments))


def test_a_transaction_cannot_contain_it():
    with pytest.raises(CompositionError, match="limit"):
        composer.transaction(composer.limit(composer.call("account", "k", "add"), concurrent=1))
