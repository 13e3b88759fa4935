"""Users' ids of executions: what a start does under each policy, and what can be an id."""

from __future__ import annotations

import pytest

from xingqiao.actions import (
    AlreadyCompletedError,
    AlreadyStartedError,
    InvalidError,
    InvalidIdError,
    Known,
    Refuse,
    Replace,
    Start,
    StartOptions,
    Use,
    check_id,
    check_options,
    check_token,
    decided,
    is_run,
)

OPEN = Known("r1", open=True, digest="d")
SUCCEEDED = Known("r1", open=False, succeeded=True)
FAILED = Known("r1", open=False)
STARTED, COMPLETED = AlreadyStartedError, AlreadyCompletedError


def outcome(decision):
    return decision.error if isinstance(decision, Refuse) else decision


@pytest.mark.parametrize("on_closed", ["allow", "allow_failed", "reject"])
@pytest.mark.parametrize(
    ("on_open", "digest", "expected"),
    [
        ("fail", "d", STARTED),
        ("use", "other", Use("r1")),
        ("same", "d", Use("r1")),
        ("same", "other", STARTED),
        ("terminate", "d", Replace("r1")),
    ],
)
def test_an_open_run_is_dealt_with_by_on_open_alone(on_open, digest, expected, on_closed):
    options = StartOptions(id="order-7", on_open=on_open, on_closed=on_closed)

    assert outcome(decided(options, digest, OPEN)) == expected


@pytest.mark.parametrize("on_open", ["fail", "use", "same", "terminate"])
@pytest.mark.parametrize(
    ("on_closed", "known", "expected"),
    [
        ("allow", SUCCEEDED, Start()),
        ("allow", FAILED, Start()),
        ("allow_failed", SUCCEEDED, COMPLETED),
        ("allow_failed", FAILED, Start()),
        ("reject", SUCCEEDED, COMPLETED),
        ("reject", FAILED, COMPLETED),
        ("reject", None, Start()),
        ("allow_failed", None, Start()),
    ],
)
def test_an_ended_run_is_dealt_with_by_on_closed_alone(on_closed, known, expected, on_open):
    options = StartOptions(id="order-7", on_open=on_open, on_closed=on_closed)

    assert outcome(decided(options, "d", known)) == expected


@pytest.mark.parametrize("known", [OPEN, SUCCEEDED, FAILED])
def test_a_refusal_names_the_id_the_run_and_what_would_do(known):
    options = StartOptions(id="order-7", on_open="same", on_closed="reject")

    refused = decided(options, "other", known)

    assert refused.run == "r1"
    assert "'order-7'" in refused.text
    assert "run r1" in refused.text
    assert "under another id" in refused.text
    error = refused.error(refused.text, refused.run)
    assert error.code in {"AlreadyStarted", "AlreadyCompleted"}
    assert error.run == "r1"


@pytest.mark.parametrize(
    "id", ["x", "订单 7/甲%", "x" * 255, "a" * 31, "g" * 32, "...", "e\u0301", "😀"]
)
def test_any_text_of_255_characters_can_be_an_id(id):
    check_id(id)


@pytest.mark.parametrize(
    ("id", "says"),
    [
        ("", "1 to 255 characters, not 0"),
        ("x" * 256, "not 256"),
        ("a\nb", "control characters"),
        ("a\x00", "control characters"),
        ("\x7f", "control characters"),
        ("\x85", "control characters"),
        ("\ud800", "control characters"),
        ("count", "the number of executions in paths"),
        (".", "a folder in URLs"),
        ("..", "a folder in URLs"),
        ("0" * 32, "the id of a run"),
        ("ABCDEFabcdef00000000000000000000", "the id of a run"),
    ],
)
def test_what_cannot_be_an_id_is_refused_with_its_reason(id, says):
    with pytest.raises(InvalidIdError, match=says) as refused:
        check_id(id)

    assert refused.value.code == "InvalidId"


def test_options_without_an_id_have_no_policies():
    check_options(StartOptions())
    check_options(StartOptions(id="a", on_open="use", on_closed="reject"))
    with pytest.raises(InvalidError, match="'on_open' is given without 'id'"):
        check_options(StartOptions(on_open="use"))
    with pytest.raises(InvalidError, match="'on_closed' is given without 'id'"):
        check_options(StartOptions(on_closed="reject"))
    with pytest.raises(InvalidError, match="'on_open' must be one of fail, use, same, terminate"):
        check_options(StartOptions(id="a", on_open="kill"))
    with pytest.raises(InvalidIdError):
        check_options(StartOptions(id="\t"))


@pytest.mark.parametrize("token", ["", "x" * 256, "a\n", "ä"])
def test_a_token_is_printable_ascii(token):
    check_token("order 7!")
    with pytest.raises(InvalidError, match="1 to 255 printable ASCII characters"):
        check_token(token)


def test_the_ids_of_runs_are_known_by_their_form():
    assert is_run("0123456789abcdef" * 2)
    assert not is_run("order-7")
    assert not is_run("A" * 32)
