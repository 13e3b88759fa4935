"""Names and ids of messages."""

from __future__ import annotations

import pytest

from xingqiao.actions import ClosedError, InvalidError, TooManyMessagesError, check_message


def test_errors_have_names():
    assert (ClosedError.code, TooManyMessagesError.code) == ("Closed", "TooManyMessages")


@pytest.mark.parametrize(
    ("name", "id"), [("a", ""), ("x" * 255, "y" * 255), ("com.example.a b", "1")]
)
def test_good_ones(name, id):
    check_message(name, id)


@pytest.mark.parametrize("name", ["", "a/b", "$a", "a\n", "x" * 256])
def test_bad_names_are_refused(name):
    with pytest.raises(InvalidError, match="The name of a message must have 1 to 255"):
        check_message(name, "")


@pytest.mark.parametrize("id", ["\n", "x" * 256])
def test_bad_ids_are_refused(id):
    with pytest.raises(InvalidError, match="The id of a message must have 1 to 255"):
        check_message("a", id)
