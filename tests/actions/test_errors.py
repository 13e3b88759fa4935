"""What stops a caller of `actions`: one branch of the tree of errors."""

from __future__ import annotations

import pytest

from xingqiao.actions import errors
from xingqiao.composer import Error


@pytest.mark.parametrize(
    ("kind", "parent"),
    [
        (errors.RefusedError, Error),
        (errors.InvalidError, errors.RefusedError),
        (errors.NotFoundError, errors.RefusedError),
        (errors.ConflictError, errors.RefusedError),
        (errors.TooLargeError, errors.RefusedError),
        (errors.UnsupportedMediaError, errors.RefusedError),
        (errors.ThrottledError, errors.RefusedError),
    ],
)
def test_every_error_stands_where_the_docstring_draws_it(kind, parent):
    assert kind.__base__ is parent


def test_the_docstring_draws_every_error():
    kinds = {name for name, item in vars(errors).items() if isinstance(item, type)} - {"Error"}

    drawn = {line.split()[0] for line in errors.__doc__.splitlines() if "Error " in line}

    assert kinds == drawn


def test_what_is_not_found_says_so_in_openwhisks_words():
    assert str(errors.NotFoundError()) == "The requested resource does not exist."
    assert str(errors.NotFoundError("no such execution")) == "no such execution"


def test_what_is_in_doubt_names_the_activation_that_may_still_run():
    assert errors.InDoubtError("perhaps", "a1").activation == "a1"
    assert errors.InDoubtError("perhaps").activation is None
