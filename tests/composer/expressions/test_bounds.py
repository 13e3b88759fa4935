"""How much an expression may do, and what is said when it is too much."""

from __future__ import annotations

import pytest

from xingqiao.composer.expressions.bounds import (
    MAX_NODES,
    Budget,
    BudgetExceededError,
    too_large,
    too_many_nodes,
    unevaluable,
)
from xingqiao.composer.values import EXPRESSION_ERROR, LIMIT_EXCEEDED, MADE_DEPTH


def test_a_budget_may_be_spent_to_the_last_node_and_no_further():
    budget = Budget(3)
    budget.spend(1)
    budget.spend(2)

    with pytest.raises(BudgetExceededError):
        budget.spend(1)


def test_a_budget_is_that_of_one_path_unless_it_is_said():
    Budget().spend(MAX_NODES)

    with pytest.raises(BudgetExceededError):
        Budget().spend(MAX_NODES + 1)


@pytest.mark.parametrize(
    ("failed", "code", "words"),
    [
        (too_many_nodes("$..a"), LIMIT_EXCEEDED, f"$..a visits more than {MAX_NODES} nodes"),
        (too_large("the template", 9), LIMIT_EXCEEDED, f"more than 9 bytes or {MADE_DEPTH} levels"),
        (unevaluable("path('$.a')", "selects nothing"), EXPRESSION_ERROR, "path('$.a'): selects"),
    ],
)
def test_what_exceeds_a_bound_fails_by_name_and_says_which_expression(failed, code, words):
    assert failed.code == failed.error["code"] == code
    assert words in failed.error["message"]
