"""What stops a caller: one tree of errors."""

from __future__ import annotations

import pytest

from xingqiao.composer import errors


@pytest.mark.parametrize(
    ("kind", "parent"),
    [
        (errors.CompositionError, errors.Error),
        (errors.CaptureError, errors.CompositionError),
        (errors.ExpressionError, errors.Error),
        (errors.InvalidNameError, errors.Error),
        (errors.ProgramError, errors.Error),
        (errors.LimitError, errors.Error),
    ],
)
def test_every_error_stands_where_the_docstring_draws_it(kind, parent):
    assert kind.__base__ is parent


def test_the_docstring_draws_every_error():
    kinds = {name for name, item in vars(errors).items() if isinstance(item, type)}

    drawn = {line.split()[0] for line in errors.__doc__.splitlines() if line.startswith("   ")}

    assert kinds == drawn


def test_no_error_of_ours_escapes_a_handler_of_exceptions():
    assert errors.Error.__base__ is Exception
