"""The functions of a worker have the names of the actions that they do."""

from __future__ import annotations

from functools import partial

import pytest

from xingqiao.actions import InvalidError
from xingqiao.composer import action
from xingqiao.infra.worker.functions import functions_by_name


def plain(params):
    return params


def test_a_function_has_the_name_of_its_action_or_its_own():
    marked = action(plain, name="shop/render", queue="gpu")
    anywhere = action(plain, name="anywhere")

    assert functions_by_name("gpu", [plain, marked, anywhere]) == {
        "plain": plain, "shop/render": plain, "anywhere": plain,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("functions", "text"),
    [
        ([], "a worker needs at least one function"),
        ([plain, action(print, name="plain")], "two functions are named 'plain'"),
        ([action(plain, queue="cpu")], "'plain' is for the queue 'cpu', not for 'gpu'"),
        ([lambda params: params], "has no name that an action can have"),
        ([partial(plain)], "has no name that an action can have"),
    ],
)
def test_functions_that_cannot_be_told_apart_are_refused(functions, text):
    with pytest.raises(InvalidError, match=text):
        functions_by_name("gpu", functions)
