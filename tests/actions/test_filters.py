"""Filters: text becomes data, and what is wrong is told with its place."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.stores.filters import DECLARED
from xingqiao.actions import (
    And,
    Field,
    Filter,
    InvalidFilterError,
    Not,
    Or,
    Term,
    holds,
    parse,
)

STATUS, ACTION = Field("status", "text"), Field("action", "text")
CUSTOMER, AMOUNT = (
    Field("customer", "text", "text customer"),
    Field("amount", "number", "number amount"),
)
PAID, TAGS = Field("paid", "boolean", "boolean paid"), Field("tags", "keywords", "keywords tags")
STARTED, ENDED = Field("started", "instant"), Field("ended", "instant")
FAILED, GREAT = Term(STATUS, "=", ("failed",)), Term(AMOUNT, ">", (3,))


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("status = 'failed'", FAILED),
        ("STATUS='failed'", FAILED),
        ("amount > 3", GREAT),
        ("amount <= -2.5e1", Term(AMOUNT, "<=", (-25.0,))),
        ("amount >= 1", Term(AMOUNT, ">=", (1,))),
        ("amount < .5", Term(AMOUNT, "<", (0.5,))),
        ("customer = 'it''s'", Term(CUSTOMER, "=", ("it's",))),
        ("customer != 'a'", And((Term(CUSTOMER, "has"), Not(Term(CUSTOMER, "=", ("a",)))))),
        ("customer in ('a', 'b')", Term(CUSTOMER, "in", ("a", "b"))),
        ("customer not in ('a')", And((Term(CUSTOMER, "has"), Not(Term(CUSTOMER, "in", ("a",)))))),
        ("customer is null", Not(Term(CUSTOMER, "has"))),
        ("customer is not null", Term(CUSTOMER, "has")),
        ("paid = true", Term(PAID, "=", (1,))),
        ("paid in (false)", Term(PAID, "in", (0,))),
        ("tags = 'x'", Term(TAGS, "=", ("x",))),
        ("starts_with(tags, 'x')", Term(TAGS, "starts_with", ("x",))),
        ("starts_with( customer ,'')", Term(CUSTOMER, "starts_with", ("",))),
        ("amount between 1 and 3", Term(AMOUNT, "between", (1, 3))),
        ("amount not between 1 and 3 or status = 'failed'",
         Or((And((Term(AMOUNT, "has"), Not(Term(AMOUNT, "between", (1, 3))))), FAILED))),
        ("started > '1970-01-02'", Term(STARTED, ">", (86_400_000,))),
        ("ended < 1000", Term(ENDED, "<", (1000,))),
        ("id = 'order-7'", Term(Field("id", "text", "id"), "=", ("order-7",))),
        ("not status = 'failed' and amount > 3", And((Not(FAILED), GREAT))),
        ("status = 'failed' or amount > 3 and amount > 3", Or((FAILED, And((GREAT, GREAT))))),
        ("(status = 'failed' or amount > 3) and not (amount > 3)", And((Or((FAILED, GREAT)), Not(GREAT)))),
    ],
)  # fmt: skip
def test_a_filter_is_read_as_data(text, predicate):
    assert parse(text, DECLARED) == Filter(predicate)


@pytest.mark.parametrize(
    ("text", "filter"),
    [
        ("", Filter()),
        ("  \n", Filter()),
        ("order by started", Filter()),
        ("order by ended asc", Filter(None, "ended", True)),
        ("status = 'failed' ORDER BY Ended DESC", Filter(FAILED, "ended")),
    ],
)
def test_an_order_is_read(text, filter):
    assert parse(text, DECLARED) == filter


@pytest.mark.parametrize(
    ("text", "at", "why"),
    [
        ("custmer = 'a'", 0, "no attribute 'custmer'; there are amount, customer, due, paid, tags"),
        ("status = 'ok' and custmer = 'a'", 18, "no attribute 'custmer'"),
        ("status", 6, "the end is not expected after 'status': give one of = !="),
        ("status =", 8, "'status' is text: give text such as 'a', not the end"),
        ("status = 3", 9, "'status' is text: give text such as 'a', not '3'"),
        ("status = failed", 9, "'status' is text: give text such as 'a', not 'failed'"),
        ("amount = 'a'", 9, "'amount' is a number: give a number such as 2.5, not 'a'"),
        ("amount = 9223372036854775808", 9, "'amount' is a number"),
        ("amount = 1e999", 9, "'amount' is a number"),
        ("paid = 1", 7, "'paid' is true or false: give true or false, not '1'"),
        ("paid > true", 5, "'paid' is true or false: > does not fit; give =, != or in"),
        ("tags between 'a' and 'b'", 5, "'tags' is keywords: between does not fit"),
        ("started = 'soon'", 10, "'started' is an instant: give an instant such as '2026-11-01'"),
        ("started = true", 10, "'started' is an instant"),
        ("starts_with(amount, 'a')", 12, "'amount' is a number: starts_with takes text or keywords"),
        ("starts_with customer", 12, "'(' is missing after 'starts_with', before 'customer'"),
        ("starts_with(customer 'a')", 21, "',' is missing after the field of 'starts_with'"),
        ("starts_with(customer, 'a'", 25, "')' is missing after the text of 'starts_with', before the end"),
        ("(status = 'a'", 13, "')' is missing after a part in parentheses"),
        ("status = 'a')", 12, "')' is not expected here: give 'and', 'or', 'order by', or the end"),
        ("status in 'a'", 10, "'(' is missing after 'in'"),
        ("status in ('a' 'b')", 15, "')' is missing after the values of 'in'"),
        ("status is 'a'", 10, "'null' is missing after 'is'"),
        ("amount between 1, 2", 16, "'and' is missing between two values"),
        ("status not = 'a'", 11, "'=' is not expected after 'status'"),
        ("status like 'a'", 7, "'like' is not expected after 'status'"),
        ("and", 0, "a field is missing before 'and'"),
        ("'a' = status", 0, "a field is missing before 'a'"),
        ("order started", 6, "'by' is missing after 'order'"),
        ("order by amount", 9, "order by 'started' or 'ended', not by 'amount'"),
        ("status = 'a", 9, "the text has no end: close it with '"),
        ('status = "a"', 9, "text is written in single quotes"),
        ("status ; drop", 7, "'; drop' is not known: give a field, a value"),
        ("amount = 1x", 9, "'1x' is not known"),
        ("customer = '\ud800'", 11, "'customer' is text"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(text, at, why):
    with pytest.raises(InvalidFilterError) as error:
        parse(text, DECLARED)
    assert str(error.value).startswith(f"InvalidFilter: at {at}: {why}")


def test_a_filter_is_bounded():
    parse(" or ".join(["amount = 1"] * 50), DECLARED)
    for text, why in (
        (" or ".join(["amount = 1"] * 51), "more than 50 terms"),
        (f"amount in ({','.join(['1'] * 51)})", "more than 50 terms"),
        ("(" * 31 + "amount = 1" + ")" * 31, "nests deeper than 30 levels"),
        ("not " * 31 + "amount = 1", "nests deeper than 30 levels"),
        (" " * 16_385, "more than 16384 characters"),
    ):
        with pytest.raises(InvalidFilterError, match=why):
            parse(text, DECLARED)


@given(st.text(max_size=60) | st.lists(st.sampled_from(
    ["status", "amount", "customer", "and", "or", "not", "(", ")", "=", "!=", "<", "in", "between", "'a'", "3",
     ",", "is", "null", "order", "by", "started", "starts_with", "true"]), max_size=12).map(" ".join)
)  # fmt: skip
def test_any_text_is_a_filter_or_is_refused(text):
    with suppress(InvalidFilterError):
        parse(text, DECLARED)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("amount = 3", True),
        ("amount != 3", False),
        ("amount < 4 and amount <= 3 and amount > 2 and amount >= 3", True),
        ("amount between 4 and 5", False),
        ("customer = 'a' or tags = 'y'", True),
        ("tags != 'y'", False),
        ("customer != 'a'", False),  # it has none
        ("not customer = 'a'", True),
        ("starts_with(tags, 'x')", True),
        ("tags in ('z', 'y')", True),
        ("customer is null and tags is not null", True),
    ],
)
def test_a_predicate_holds_or_does_not(text, expected):
    found = {"amount": [3], "tags": ["xy", "y"]}
    predicate = parse(text, DECLARED).predicate
    assert holds(predicate, lambda field: found.get(field.name, [])) is expected


def test_an_execution_that_has_not_ended_is_the_last_to_end():
    by_end = parse("order by ended", DECLARED)
    assert by_end.place(1, 5, "a") == (5, "a")
    assert by_end.place(1, None, "a") > by_end.place(1, 1 << 60, "z")
    assert Filter().place(1, None, "a") == (1, "a")


def test_a_long_number_that_is_none_is_refused_at_once():
    """It took minutes when each of its digits was looked at once for each other one."""
    for text in ("1" * 16_000, "1." + "1" * 16_000, "1e" + "1" * 16_000):
        with pytest.raises(InvalidFilterError, match="is not known"):
            parse(f"amount = {text}a", DECLARED)
