"""Fully qualified names, as OpenWhisk has them, and the ids of activations."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.composer.errors import InvalidNameError
from xingqiao.composer.names import MAX_NAME, Name, activation_id, check_part

EXECUTION = "0123456789abcdef0123456789abcdef"

parts = st.from_regex(r"\A[A-Za-z0-9_]([A-Za-z0-9_@ .&-]{0,20}[A-Za-z0-9_@.&-])?\Z")
names = st.builds(Name, parts, st.none() | parts, parts)


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("hello", "/_/hello"),
        ("pkg/hello", "/_/pkg/hello"),
        ("/guest/hello", "/guest/hello"),
        ("/guest/pkg/hello", "/guest/pkg/hello"),
        ("  hello\t", "/_/hello"),
        ("/someone@example.com/a b/c&d.e-f", "/someone@example.com/a b/c&d.e-f"),
        ("_", "/_/_"),
        ("7", "/_/7"),
        ("a" * MAX_NAME, "/_/" + "a" * MAX_NAME),
    ],
)
def test_a_name_is_read_in_full(text, full):
    assert str(Name.parse(text)) == full


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (5, "an action name must be a string, not 5"),
        (None, "an action name must be a string, not None"),
        ("", "name '': '' must be 1 to 256 ASCII letters"),
        ("/", "action name '/': a name that starts with '/' is '/namespace/name'"),
        ("/hello", "'/hello': a name that starts with '/' is '/namespace/name'"),
        ("/a/b/c/d", "'/a/b/c/d': a name that starts with '/' is"),
        ("a/b/c", "'a/b/c': a relative name is 'name' or 'package/name'; start it with '/'"),
        ("a//b", "'a//b': a relative name is"),
        ("pkg/", "name 'pkg/': '' must be"),
        ("/guest//hello", "name '/guest//hello': '' must be"),
        ("pkg /hello", "name 'pkg /hello': 'pkg ' must be"),
        ("-hello", "'-hello' must be 1 to 256 ASCII letters"),
        ("hello!", "'hello!' must be"),
        ("hel\nlo", r"'hel\\nlo' must be"),
        ("größe", "'größe' must be"),
        ("a" * (MAX_NAME + 1), "must be 1 to 256 ASCII letters"),
    ],
)
def test_what_openwhisks_grammar_refuses_is_refused_with_the_part_that_is_wrong(text, complaint):
    with pytest.raises(InvalidNameError, match=complaint):
        Name.parse(text)


@pytest.mark.parametrize("part", ["", " ", "a ", "\n", "a\n", None, 5, b"a"])
def test_a_part_alone_is_checked_without_naming_the_whole(part):
    with pytest.raises(InvalidNameError, match=f"^name {re.escape(repr(part))} must be"):
        check_part(part)


def test_a_good_part_comes_back_as_it_is():
    assert check_part("a b") == "a b"


@given(names)
def test_a_name_that_is_written_reads_as_itself(name):
    assert Name.parse(str(name)) == name


@given(names, parts)
def test_only_the_default_namespace_gives_way_to_another(name, namespace):
    within = name.within(namespace)

    assert within.path == name.path
    assert within.namespace == (namespace if name.namespace == "_" else name.namespace)


def test_the_path_is_the_name_inside_its_namespace():
    assert Name.parse("/guest/pkg/hello").path == "pkg/hello"
    assert Name.parse("/guest/hello").path == "hello"


def test_an_activation_id_is_derived_and_looks_like_openwhisks():
    first = activation_id(EXECUTION, "0", 1)

    assert re.fullmatch("[0-9a-f]{32}", first)
    assert first == activation_id(EXECUTION, "0", 1)
    assert first.startswith(EXECUTION[:12])


def test_no_two_steps_share_an_activation_id():
    places = [
        (execution, fiber, turn, generation)
        for execution in (EXECUTION, EXECUTION[::-1])
        for fiber in ("0", "0/1.1", "0/11.1", "0/1.11", "0/1.1/1.1")
        for turn in (1, 11, 111)
        for generation in (0, 1, 11)
    ]

    assert len({activation_id(*place) for place in places}) == len(places)


def test_an_activation_of_no_redrive_is_one_of_generation_zero():
    assert activation_id(EXECUTION, "0", 1) == activation_id(EXECUTION, "0", 1, 0)
