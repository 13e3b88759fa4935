"""The arguments of `send_event` and `send_events`; tests/contracts/test_handles.py sends them."""

from __future__ import annotations

import pytest

from xingqiao.actions import ConflictError, InvalidError
from xingqiao.infra.handles import checked, event_with, key_of


def test_an_event_has_what_it_is_given_and_an_id_of_its_own():
    ids = {event_with("a", None, "/s", "", None)["id"] for _ in range(2)}
    made = event_with("a", [1], "/s", "7", {"subject": "x"})

    assert len(ids) == 2
    assert made == {
        "specversion": "1.0", "id": "7", "source": "/s", "type": "a", "subject": "x", "data": [1],
    }  # fmt: skip
    assert "data" not in event_with("a", None, "/s", "7", None)


@pytest.mark.parametrize("name", ["id", "source", "type", "data"])
def test_an_argument_is_no_further_attribute(name):
    with pytest.raises(InvalidError, match=f"'{name}' cannot be among the attributes"):
        event_with("a", None, "/s", "7", {name: "b"})


def test_events_are_json_of_so_many_levels():
    deep = 1
    for _ in range(199):
        deep = [deep]

    assert checked(({"data": deep},)) == [{"data": deep}]
    for data in ([deep], {1}, "\ud800"):
        with pytest.raises(InvalidError, match="The CloudEvents must be JSON: "):
            checked([{"data": data}])


def test_a_conflict_has_no_key():
    assert key_of({"accepted": 0, "duplicates": 1, "keys": ["k"]}) == "k"
    with pytest.raises(ConflictError, match="give this one another id"):
        key_of({"accepted": 0, "duplicates": 0, "conflicts": 1, "keys": ["k"]})
