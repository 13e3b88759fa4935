"""Attributes of executions: which names, types and values there are."""

from __future__ import annotations

import pytest

from xingqiao.actions import InvalidError, check_name, check_type, indexed
from xingqiao.actions.attributes import instant_ms

DECLARED = {
    "customer": "text", "amount": "number", "paid": "boolean", "due": "instant", "tags": "keywords",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("customer", "anna", [("text customer", "anna")]),
        ("customer", "x" * 2048, [("text customer", "x" * 2048)]),
        ("amount", -2.5, [("number amount", -2.5)]),
        ("amount", 2**63 - 1, [("number amount", 2**63 - 1)]),
        ("paid", True, [("boolean paid", 1)]),
        ("due", "1970-01-01T00:00:01Z", [("instant due", 1000)]),
        ("due", 5, [("instant due", 5)]),
        ("tags", ["b", "a", "b"], [("keywords tags", "b"), ("keywords tags", "a")]),
        ("tags", [], []),
    ],
)
def test_a_value_is_indexed_by_name_and_type(name, value, found):
    assert indexed({name: value}, DECLARED) == tuple(found)


def test_the_users_id_is_indexed_too():
    assert indexed({}, {}, "order-7") == (("id", "order-7"),)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("customer", 3, "must be text, not 3."),
        ("customer", "é" * 1025, "must be of at most 2048 bytes, not 2050."),
        ("customer", "\ud800", "must be text of valid Unicode characters."),
        ("amount", "3", "must be a number, not '3'."),
        ("amount", False, "must be a number, not False."),
        ("amount", float("inf"), "must be a finite number."),
        ("amount", 2**63, "must be a number of at most 63 bits"),
        ("paid", 1, "must be true or false, not 1."),
        ("due", "soon", "must be an instant such as '2026-11-01T09:30:00Z'"),
        ("due", True, "must be an instant"),
        ("due", 2**63, "must be a number of at most 63 bits"),
        ("tags", "a", "must be a list of text, not 'a'."),
        ("tags", [1], "must be text, not 1."),
        ("tags", ["x" * 1500, "y" * 1500], "must be a list of at most 2048 bytes, not 3000."),
        ("tags", [""] * 2049, "must be a list of at most 2048 bytes"),
    ],
)
def test_a_value_must_fit_its_type(name, value, why):
    with pytest.raises(InvalidError) as error:
        indexed({name: value}, DECLARED)
    assert str(error.value).startswith(f"The attribute '{name}' {why}")


def test_an_attribute_must_be_declared():
    with pytest.raises(InvalidError, match=r"no attribute 'a'; there are b, c\. Declare it"):
        indexed({"a": 1}, {"c": "text", "b": "text"})
    with pytest.raises(InvalidError, match="no attribute 'a'; there is none"):
        indexed({"a": 1}, {})


@pytest.mark.parametrize("name", ["a", "_", "a" * 64, "Customer_2"])
def test_a_name_is_a_word(name):
    check_name(name)


@pytest.mark.parametrize(
    "name", ["", "2a", "a-b", "a" * 65, "ä", "and", "AND", "status", "Id", "starts_with"]
)
def test_other_names_are_refused(name):
    with pytest.raises(InvalidError):
        check_name(name)


def test_a_type_is_one_of_five():
    assert check_type("keywords") == "keywords"
    for type in ("date", None, ["text"]):
        with pytest.raises(InvalidError, match="must be one of text, number"):
            check_type(type)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-02", 86_400_000),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:00.0015", 2),
        ("1969-12-31T23:59:59Z", -1000),
    ],
)
def test_an_instant_is_read(text, ms):
    assert instant_ms(text) == ms
