"""The inbox of an execution: order, bounds, and which messages satisfy a want."""

from __future__ import annotations

import pytest

from xingqiao.composer.machine.inbox import (
    Inbox,
    Message,
    check_want,
    chosen,
    is_message_name,
    names_of,
)


def message(number, name, id=""):
    return Message(number, name, id, {"n": number})


def inbox(*names):
    """An inbox with a message of each of these names, in order."""
    made = Inbox()
    for number, name in enumerate(names, 1):
        made.put(message(number, name))
    return made


def numbers(messages):
    return None if messages is None else [each.number for each in messages]


def any_of(*parts):
    return {"any": [*parts]}


def all_of(*parts):
    return {"all": [*parts]}


@pytest.mark.parametrize(
    ("names", "want", "expected"),
    [
        ("", "a", None),
        ("ba", "a", [2]),
        ("aa", "a", [1]),
        ("ba", any_of("a", "b"), [1]),
        ("c", any_of("a", "b"), None),
        ("ca", all_of("a", "b"), None),
        ("bca", all_of("a", "b"), [1, 3]),
        ("abc", all_of("a", any_of("c", "b")), [1, 2]),
        ("acbd", any_of(all_of("a", "d"), all_of("b", "c")), [2, 3]),
        ("a", all_of(any_of("a", "b"), any_of("a", "c")), [1]),
    ],
)
def test_what_satisfies_a_want_is_what_was_complete_first(names, want, expected):
    assert numbers(chosen(want, inbox(*names).first)) == expected


def test_messages_of_a_name_are_taken_in_order_of_arrival():
    made = inbox("a", "b", "a")

    made.take(chosen("a", made.first))

    assert numbers(made) == [2, 3]
    assert made.first("a").number == 3
    assert made.count == 2


def test_what_was_put_and_taken_between_two_flushes_is_not_stored():
    made = inbox("a", "b")
    made.take(chosen("a", made.first))

    queued = made.flush()

    assert (numbers(queued.added), queued.gone) == ([2], ())
    assert made.flush() is None


def test_what_was_stored_and_is_taken_is_deleted():
    made = inbox("a")
    made.flush()

    made.take(chosen("a", made.first))

    assert made.flush().gone == (1,)


def test_messages_are_dropped_by_name():
    made = inbox("a", "b", "a")

    assert made.drop(["a", "x"]) == [1, 3]
    assert numbers(made) == [2]
    assert made.drop_all() == [2]
    assert made.count == 0


def test_for_a_redrive_all_that_is_left_is_stored_again():
    made = inbox("a", "b")
    made.flush()
    made.take(chosen("a", made.first))

    made.put_again()

    assert numbers(made.flush().added) == [2]


def test_an_inbox_is_restored_with_its_order_and_its_ids():
    made = Inbox([message(3, "a", "x"), message(7, "a")])

    assert numbers(made) == [3, 7]
    assert made.ids == {"x"}
    assert made.flush() is None


def test_an_inbox_knows_the_size_of_its_payloads():
    made = Inbox([Message(1, "a", "", "stored", 100)])
    made.put(Message(2, "b", "", "new", 10))
    made.put(Message(3, "b", "", [1, 2]))  # not counted: 2 + 2 + 5 + 5
    assert made.size == 124

    made.take(chosen("b", made.first))
    assert made.size == 114
    assert [each.size for each in made.flush().added] == [14]
    made.drop_all()
    assert made.size == 0


def test_an_id_may_be_forgotten():
    made = Inbox()
    made.put(message(1, "a", "x"))
    made.put(message(2, "a", "y"))

    for id in ("x", "unknown"):
        made.forget(id)

    assert made.ids == {"y"}


def test_the_names_of_a_want():
    assert names_of(all_of("a", any_of("b", "a"))) == ("a", "b")


@pytest.mark.parametrize(
    "want",
    [
        "", 1, None, [], {}, {"any": []}, {"all": "a"}, {"any": ["a"], "all": ["b"]},
        {"not": ["a"]}, {"any": [1]},
    ],
)  # fmt: skip
def test_a_malformed_want_is_refused(want):
    with pytest.raises(ValueError, match="must be the name of a message, any_of"):
        check_want(want)


def test_a_want_that_nests_too_deep_is_refused():
    want = "a"
    for _ in range(17):
        want = any_of(want)

    with pytest.raises(ValueError, match="at most 16 deep"):
        check_want(want)
    assert check_want(want["any"][0]) == want["any"][0]


@pytest.mark.parametrize(
    ("name", "good"),
    [("approved", True), ("a b", True), ("", False), ("a/b", False), ("$a", False), ("a\n", False),
     ("x" * 255, True), ("x" * 256, False)],
)  # fmt: skip
def test_names_of_messages(name, good):
    assert is_message_name(name) is good
