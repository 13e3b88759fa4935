"""CloudEvents: their attributes, their JSON format and their keys. The SDK of the project is an independent witness."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import datetime
from hashlib import sha256
from string import ascii_lowercase, digits

import orjson
import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_structured_event, to_structured_event
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.actions import (
    ForbiddenError,
    InvalidError,
    ReservedEventError,
    TooLargeError,
    read_cloud_events,
)
from xingqiao.actions import read_cloud_event as read
from xingqiao.actions.cloudevents import MAX_ATTRIBUTES, MAX_EVENTS
from xingqiao.composer import MAX_DEPTH, CloudEvent
from xingqiao.composer.cloudevents.attributes import MAX_ATTRIBUTE

LEAST = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "order.placed"}
FULL = {
    **LEAST,
    "subject": "orders/7",
    "time": "2026-11-23T08:30:00.5+01:00",
    "datacontenttype": "application/json",
    "dataschema": "https://example.com/order.json",
    "partitionkey": "anna",
    "sequence": 7,
    "urgent": True,
}
# A surrogate, a control character and a noncharacter are no characters of a string.
ALLOWED = st.characters(exclude_categories=["Cs", "Cc"]).filter(
    lambda char: ord(char) & 0xFFFE != 0xFFFE and not 0xFDD0 <= ord(char) <= 0xFDEF
)
TEXTS = st.text(ALLOWED, min_size=1, max_size=30)
VALUES = TEXTS | st.booleans() | st.integers(-(2**31), 2**31 - 1)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=9,
)
TIME = "2026-11-23T08:30:00Z"  # the witness adds the present time to an event that has none
NAMES = st.text(ascii_lowercase + digits, min_size=1, max_size=20).map("x".__add__)
EVENTS = st.builds(
    lambda least, more: {**more, **least, "specversion": "1.0"},
    st.fixed_dictionaries(
        {"id": TEXTS, "source": TEXTS.map("/s".__add__), "type": TEXTS.map("t".__add__)}
    ),
    st.dictionaries(NAMES, VALUES, max_size=5),
)


def test_an_event_says_what_its_attributes_and_its_data_are():
    event = read({**FULL, "data": {"total": 5}})

    assert (event.id, event.source, event.type) == ("1", "/shop", "order.placed")
    assert event.data == {"total": 5}
    assert event.attributes == FULL
    assert event.to_json() == {**FULL, "data": {"total": 5}}


@pytest.mark.parametrize(
    ("content", "data", "given"),
    [
        ({}, None, {}),
        ({"data": None, "data_base64": None}, None, {}),
        ({"data": {"a": 1}}, {"a": 1}, {"a": 1}),
        ({"data": [1]}, [1], {"value": [1]}),
        ({"data": 0}, 0, {"value": 0}),
        ({"data": ""}, "", {"value": ""}),
        ({"data_base64": "AAE="}, "AAE=", {"value": "AAE="}),
        ({"data": {"__ow_event": "forged"}}, {"__ow_event": "forged"}, {}),
    ],
)
def test_an_action_gets_the_data_and_the_attributes(content, data, given):
    event = read({**LEAST, **content})

    assert event.data == data
    assert event.params == {**given, "__ow_event": LEAST}


def test_a_member_that_is_null_is_one_that_is_not_there():
    assert read({**LEAST, "subject": None, "myext": None}) == read(LEAST)


def test_a_key_is_the_digest_of_compact_json():
    for source, id in (("/shop", "1"), ('/"a\\b"', "é 星"), ("/\t\n\x7f", "\x01")):
        named = json.dumps([source, id], ensure_ascii=False, separators=(",", ":"))
        expected = sha256(named.encode()).hexdigest()[:32]
        assert CloudEvent({"source": source, "id": id}, {}).key == expected


def test_the_source_and_the_id_make_the_key():
    key = read(LEAST).key

    assert (len(key), int(key, 16) >= 0) == (32, True)
    assert read({**LEAST, "type": "other", "data": 1}).key == key
    assert read({**LEAST, "id": "2"}).key != key
    assert read({**LEAST, "source": "/shop2"}).key != key
    # Where one ends and the other begins counts, too.
    assert (
        read({**LEAST, "source": "/a", "id": "b/c"}).key
        != read({**LEAST, "source": "/a b", "id": "/c"}).key
    )


@pytest.mark.parametrize("name", ["specversion", "id", "source", "type"])
@pytest.mark.parametrize("value", [None, "", 1, ["a"]])
def test_an_attribute_that_is_needed_is_missed(name, value):
    with pytest.raises(InvalidError, match=f"attribute '{name}'"):
        read({**LEAST, name: value})


@pytest.mark.parametrize(
    ("member", "text"),
    [
        ({"specversion": "1.1"}, "'specversion' of a CloudEvent must be \"1.0\", not '1.1'.$"),
        ({"specversion": "0.3"}, "Have the sender use version 1.0"),
        ({"subject": ""}, "'subject' of a CloudEvent must be a string"),
        ({"dataschema": 5}, "'dataschema' of a CloudEvent must be a string"),
        ({"Upper": "x"}, "must be 1 to 64 of a-z and 0-9, not 'Upper'"),
        ({"a_b": "x"}, "not 'a_b'"),
        ({"": "x"}, "not ''"),
        ({"é": "x"}, "not 'é'"),
        ({"a" * 65: "x"}, "must be 1 to 64"),
        ({"ext": 1.5}, "'ext' of a CloudEvent must be a string, a boolean or a 32-bit integer, not 1.5"),
        ({"ext": {}}, "'ext' .* not {}"),
        ({"ext": 2**31}, "'ext' .* not 2147483648"),
        ({"ext": -(2**31) - 1}, "'ext' .* not -2147483649"),
        ({"ext": "a" * (MAX_ATTRIBUTE + 1)}, "'ext' of a CloudEvent must be up to 8192 characters"),
        ({"data": 1, "data_base64": "AA=="}, "cannot have both 'data' and 'data_base64'"),
        ({"data_base64": "A"}, "'data_base64' of a CloudEvent must be base64"),
        ({"data_base64": "A A="}, "must be base64"),
        ({"data_base64": "é"}, "must be base64"),
        ({"data_base64": 5}, "must be base64"),
    ],
)  # fmt: skip
def test_a_malformed_event_is_refused_with_the_name_of_what_is_wrong(member, text):
    with pytest.raises(InvalidError, match=text):
        read({**LEAST, **member})


@pytest.mark.parametrize("doc", [None, [LEAST], "x", 5])
def test_what_is_no_object_is_refused(doc):
    with pytest.raises(InvalidError, match="must be a JSON object"):
        read(doc)


@pytest.mark.parametrize(
    "char", ["\x00", "\n", "\x1f", "\x7f", "\x9f", "\ud800", "\ufdd0", "\ufffe", "\U0001ffff", "\U0010fffe"]
)  # fmt: skip
def test_characters_that_no_string_may_have_are_refused(char):
    with pytest.raises(InvalidError, match="without control characters and surrogates"):
        read({**LEAST, "subject": f"a{char}b"})


@pytest.mark.parametrize(
    "char", [" ", "\xa0", "\u3000", "\u200d", "\ue000", "é", "🌉", "\U0010fffd", "%", '"']
)
def test_all_others_are_kept(char):
    assert read({**LEAST, "id": f"a{char}b"}).id == f"a{char}b"


@pytest.mark.parametrize(("hops", "read_as"), [(5, 5), ("5", 5), (0, 0), ("033", 33)])
def test_the_number_of_hops_is_a_number_also_if_it_was_in_a_header(hops, read_as):
    assert read({**LEAST, "xqhops": hops}).attributes["xqhops"] == read_as


@pytest.mark.parametrize("hops", [-1, "-1", "", "a", True, "5 ", "\u0665", 2**31 - 1])
def test_another_number_of_hops_is_refused(hops):
    with pytest.raises(InvalidError, match="'xqhops' of a CloudEvent must be the number"):
        read({**LEAST, "xqhops": hops})


@pytest.mark.parametrize(
    "time",
    [
        "2026-11-23T08:30:00Z", "2026-11-23t08:30:00z", "2026-11-23T08:30:00.123456789+00:00",
        "2016-12-31T23:59:60Z", "2024-02-29T00:00:00-23:59",
    ],
)  # fmt: skip
def test_a_time_is_one_of_rfc_3339(time):
    assert read({**LEAST, "time": time}).attributes["time"] == time


@pytest.mark.parametrize(
    "time",
    [
        "2026-11-23", "2026-11-23T08:30:00", "2026-11-23 08:30:00Z", "2026-11-23T08:30Z", "20261123T083000Z",
        "2026-W48-1T08:30:00Z", "2026-11-31T08:30:00Z", "2025-02-29T08:30:00Z", "2026-11-23T24:00:00Z",
        "2026-11-23T08:60:00Z", "2026-11-23T08:30:61Z", "2026-11-23T08:30:00+24:00", "2026-11-23T08:30:00,5Z",
        "2026-11-23T08:30:00.Z", "٢٠٢٦-11-23T08:30:00Z", "2026-11-23T08:30:00Zx", "x",
    ],
)  # fmt: skip
def test_another_time_is_refused(time):
    with pytest.raises(InvalidError, match=r"'time' of a CloudEvent must be like .* \(RFC 3339\)"):
        read({**LEAST, "time": time})


def test_there_are_bounds_to_attributes_and_to_levels():
    most = {f"x{n}": "y" for n in range(MAX_ATTRIBUTES - len(LEAST))}
    deep = 1
    for _ in range(MAX_DEPTH - 1):
        deep = [deep]

    assert read({**LEAST, **most, "data": deep}).data == deep
    with pytest.raises(InvalidError, match="may have 100 attributes, not 101"):
        read({**LEAST, **most, "more": 1})
    with pytest.raises(InvalidError, match="must not nest deeper than 199 levels"):
        read({**LEAST, "data": [deep]})


@pytest.mark.parametrize("member", [None, "specversion", "id", "subject", "time", "xqhops", "x", "data_base64"])  # fmt: skip
def test_levels_that_cannot_be_shown_are_refused(member):
    deep = orjson.loads("[" * 1000 + "]" * 1000)

    with pytest.raises(InvalidError, match="must not nest deeper than 199 levels"):
        read(deep if member is None else {**LEAST, member: deep})


@pytest.mark.parametrize(
    ("member", "text"),
    [
        ({"type": "xingqiao.alarm"}, "'type' of a CloudEvent from outside must not begin with xingqiao. or"),
        ({"type": "io.serverlessworkflow.workflow.started.v1"}, "'type' of a CloudEvent from outside"),
        ({"source": "/xingqiao/guest/a"}, "'source' of a CloudEvent from outside must not begin with /xingqiao/"),
    ],
)  # fmt: skip
def test_what_is_reserved_comes_from_inside_only(member, text):
    assert read({**LEAST, **member}, outside=False).attributes == {**LEAST, **member}
    with pytest.raises(ReservedEventError, match=text) as refused:
        read({**LEAST, **member})

    assert isinstance(refused.value, ForbiddenError)
    assert refused.value.code == "ReservedEvent"


@pytest.mark.parametrize(
    "member", [{"type": "xingqiao"}, {"type": "xingqiaos.a"}, {"source": "/xingqiaos/a"}]
)
def test_what_only_looks_reserved_is_taken(member):
    assert read({**LEAST, **member}).attributes == {**LEAST, **member}


def test_a_batch_is_read_in_its_order_and_refused_with_the_index_of_what_is_wrong():
    docs = [{**LEAST, "id": str(n)} for n in range(MAX_EVENTS)]

    assert [event.to_json() for event in read_cloud_events(docs)] == docs
    assert read_cloud_events([]) == []
    with pytest.raises(TooLargeError, match="may have 1000 CloudEvents, not 1001"):
        read_cloud_events([*docs, LEAST])
    with pytest.raises(
        InvalidError, match="at index 1 of the batch: A CloudEvent must have the attribute 'id'"
    ):
        read_cloud_events([LEAST, {**LEAST, "id": ""}])
    with pytest.raises(ReservedEventError, match="at index 0 of the batch: The attribute 'type'"):
        read_cloud_events([{**LEAST, "type": "xingqiao.alarm"}])
    with pytest.raises(InvalidError, match="must be a JSON list"):
        read_cloud_events(LEAST)


@given(EVENTS, DATA)
def test_what_is_written_is_read_as_it_was(attributes, data):
    event = read({**attributes, "data": data})

    assert read(json.loads(json.dumps(event.to_json()))) == event
    assert event == CloudEvent(attributes, {} if data is None else {"data": data})


@given(EVENTS, st.dictionaries(st.text(max_size=5), DATA, max_size=3))
def test_the_witness_reads_what_we_write_and_we_what_it_writes(attributes, data):
    event = read({**attributes, "time": TIME, "data": data})

    seen = from_structured_event(written(event))

    assert seen.get_attributes() == {**attributes, "time": datetime.fromisoformat(TIME)}
    assert seen.get_data() == data
    assert read(json.loads(to_structured_event(seen).body)) == event


@given(st.binary(min_size=1, max_size=40))
def test_bytes_are_base64_to_us_and_to_the_witness(content):
    event = read({**LEAST, "time": TIME, "data_base64": b64encode(content).decode()})

    seen = from_structured_event(written(event))

    assert seen.get_data() == content
    assert read(json.loads(to_structured_event(seen).body)) == event


def written(event):
    """The event as a message to the witness."""
    return HTTPMessage({}, json.dumps(event.to_json()).encode())
