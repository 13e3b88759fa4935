"""Pending CloudEvents: their documents, their order, and how many there may be."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from tests.kit.engine.cloudevents import event
from xingqiao.actions import ThrottledError
from xingqiao.infra.engine import EventBounds
from xingqiao.infra.engine.pending_events import (
    PendingEvent,
    PendingEvents,
    digest_of,
    key_for,
    made_of,
)


def pending(namespace="guest", id="1", stamp=5_000, **more):
    return replace(made_of(namespace, event(id), ""), stamp=stamp, **more)


@pytest.mark.parametrize("trigger", ["", "/guest/bell"])
def test_it_is_read_as_it_was_written(trigger):
    written = pending(trigger=trigger)

    heard, document = written.documents(0)

    assert (heard.kind, heard.key, heard.expected) == ("heard", f"guest/{written.key}", 0)
    assert orjson.loads(heard.body) == {"digest": written.digest, "seen": 5}
    assert document.expected is None
    assert PendingEvent.from_json(document.key, orjson.loads(document.body)) == written


def test_what_came_of_it_takes_the_place_of_what_is_pending():
    written = pending()
    heard, document = written.documents(0)

    after, gone = written.taken({"fired": []})

    assert (after.kind, after.key, after.expected) == (heard.kind, heard.key, None)
    assert orjson.loads(after.body) == {"digest": written.digest, "seen": 5, "fired": []}
    assert (gone.kind, gone.key, gone.body) == (document.kind, document.key, None)


def test_documents_are_in_the_order_of_their_stamps():
    stamps = [1, 9, 10, 15, 16, 255, 256, 1_700_000_000_000_000, 1_700_000_000_000_001]

    places = [pending(stamp=stamp).documents(0)[1].key for stamp in stamps]

    assert places == sorted(places)
    assert len({*places}) == len(stamps)


def test_a_key_is_of_the_source_and_the_id_and_of_the_trigger_it_is_addressed_to():
    keys = [
        key_for(event("1"), ""),
        key_for(event("2"), ""),
        key_for(event("1", source="/other"), ""),
        key_for(event("1"), "/guest/a"),
        key_for(event("1"), "/guest/b"),
    ]

    assert len({*keys}) == 5
    assert key_for(event("1", data=7), "") == keys[0]
    assert [len(key) for key in keys] == [32] * 5


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (event(data={"b": 2, "a": 1}), True),
        (event(data={"a": 1, "b": 2}, traceparent="00-1"), True),
        (event(data={"a": 1, "b": 3}), False),
        (event(data={"a": 1, "b": 2}, type="order.paid"), False),
        (event(data={"a": 1, "b": 2}, subject="7"), False),
    ],
)
def test_a_digest_is_of_what_two_deliveries_have_in_common(other, same):
    assert (digest_of(other) == digest_of(event(data={"a": 1, "b": 2}))) is same


SMALL = EventBounds(pending=3, pending_bytes=300, all_pending=5, all_pending_bytes=400)


@pytest.mark.parametrize(
    ("held", "asked", "fits"),
    [
        ([], ("a", 3, 300), True),
        ([], ("a", 4, 0), False),
        ([], ("a", 0, 301), False),
        ([("a", 2, 200)], ("a", 1, 100), True),
        ([("a", 2, 200)], ("a", 2, 0), False),
        ([("a", 2, 200)], ("a", 0, 101), False),
        ([("a", 2, 200)], ("b", 3, 200), True),
        ([("a", 2, 200)], ("b", 3, 201), False),
        ([("a", 3, 0)], ("b", 2, 0), True),
        ([("a", 3, 0)], ("b", 3, 0), False),
    ],
)
def test_there_is_room_up_to_each_bound(held, asked, fits):
    events = PendingEvents(SMALL)
    for each in held:
        events.reserve(*each)

    if fits:
        events.reserve(*asked)
    else:
        with pytest.raises(ThrottledError, match="Send these again later"):
            events.reserve(*asked)
        events.release(*held[0]) if held else None
        events.reserve("c", 3, 300)  # nothing of what was refused takes room


def test_those_that_wait_take_room_until_they_are_removed():
    events = PendingEvents(EventBounds(pending=1))
    one = pending()
    events.add(one)

    with pytest.raises(ThrottledError, match=r"1 of .* bytes in the namespace 'guest'"):
        events.reserve("guest", 1, 1)
    events.remove(one)
    events.reserve("guest", 1, 1)


def test_they_are_found_by_key_and_listed_in_order():
    events = PendingEvents(EventBounds())
    made = [pending(id=str(n), stamp=5_000 + n) for n in range(3)]
    other = pending("other", stamp=2_000)
    for each in (*made, other):
        events.add(each)

    assert len(events) == 4
    assert events.of("guest") == made
    assert events.find("guest", made[1].key) is made[1]
    assert events.find("other", made[2].key) is None
    assert events.oldest_ms == 2
    events.remove(other)
    assert other not in events
    assert made[0] in events
    assert [*events] == made
    assert events.oldest_ms == 5
    for each in made:
        events.remove(each)
    assert events.oldest_ms is None
    assert events.of("guest") == []
