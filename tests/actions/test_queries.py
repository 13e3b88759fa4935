"""Which queries are refused, and in what words."""

from __future__ import annotations

import pytest

from xingqiao.actions import (
    ClosedError,
    InvalidQueryError,
    NoSuchQueryError,
    check_rejection,
    not_kept,
    refuse_ended,
)


@pytest.mark.parametrize("reject", ["", "closed", "failed"])
def test_a_caller_refuses_what_has_ended_what_has_failed_or_nothing(reject):
    check_rejection(reject)


def test_any_other_condition_is_refused():
    with pytest.raises(InvalidQueryError, match="'open' is not known: give closed or failed"):
        check_rejection("open")


@pytest.mark.parametrize(
    ("reject", "status", "refused"),
    [
        ("", "failed", False),
        ("failed", "succeeded", False),
        ("failed", "timed_out", True),
        ("failed", "cancelled", True),
        ("closed", "succeeded", True),
        ("closed", "failed", True),
    ],
)
def test_what_has_ended_is_refused_as_the_caller_wants(reject, status, refused):
    if not refused:
        refuse_ended(reject, "e", status)
        return
    with pytest.raises(ClosedError, match=f"e has ended: it has {status.replace('_', ' ')}"):
        refuse_ended(reject, "e", status)


def test_an_unknown_name_is_answered_with_the_known_ones():
    error = NoSuchQueryError("e", "state", ["progress"])

    assert (
        str(error)
        == "Execution e has no query 'state': it has progress, $fibers, $inbox, $variables."
    )
    assert error.code == "NoSuchQuery"


@pytest.mark.parametrize(
    ("name", "why"),
    [("progress", "more than 65536 bytes together"), ("$variables", "only if it declares queries")],
)
def test_an_answer_that_was_not_kept_says_why(name, why):
    error = not_kept("e", name)

    assert why in str(error)
    assert error.code == "NotKept"
