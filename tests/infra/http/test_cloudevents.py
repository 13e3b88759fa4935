"""CloudEvents in requests: the modes of the binding, plain bodies, and the SDK of the project as a witness."""

from __future__ import annotations

import json
from datetime import datetime

import pytest
from cloudevents.core.bindings.http import (
    HTTPMessage,
    from_http_event,
    to_binary_event,
    to_structured_event,
)
from cloudevents.core.v1.event import CloudEvent as Witness
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.actions import (
    InvalidError,
    RefusedError,
    ReservedEventError,
    TooLargeError,
    UnsupportedMediaError,
    read_cloud_event,
)
from xingqiao.infra.http.cloudevents import Mode, envelope_of, holds_event, read_events

LEAST = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "order.placed"}
HEADERS = {f"ce-{name}": value for name, value in LEAST.items()}
STRUCTURED, BATCH = "application/cloudevents+json", "application/cloudevents-batch+json"
TIME = "2026-11-23T08:30:00Z"
TEXTS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], max_codepoint=0xFFFD).filter(lambda c: not "\ufdd0" <= c <= "\ufdef"),
    min_size=1,
    max_size=30,
)  # fmt: skip
DATA = st.dictionaries(
    st.text(max_size=5), st.integers(-9, 9) | st.text(max_size=9) | st.none(), max_size=3
)


def read(headers, content=b"", query=None, drawn="drawn"):
    """The CloudEvents of a request, in the JSON format."""
    raw = [
        (name.lower().encode(), value if isinstance(value, bytes) else value.encode("latin-1"))
        for name, value in headers.items()
    ]
    events = read_events(envelope_of(raw), query or {}, content, lambda: drawn)
    return [event.to_json() for event in events]


def test_the_attributes_are_headers_and_the_body_is_the_data():
    assert read(
        {**HEADERS, "Content-Type": "application/json; charset=utf-8", "ce-time": TIME, "ce-sequence": "7", "Host": "x"},
        b'{"total": 5}',
    ) == [
        {
            **LEAST, "time": TIME, "sequence": "7", "datacontenttype": "application/json; charset=utf-8",
            "data": {"total": 5},
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content_type", "content", "member"),
    [
        ("", b'{"a": [1]}', {"data": {"a": [1]}}),
        ("text/json", b"1", {"data": 1}),
        ("APPLICATION/VND.A+JSON; x=1", b'"a"', {"data": "a"}),
        ("application/json", b"null", {}),
        ("application/json", b"", {}),
        ("text/plain", "é".encode(), {"data": "é"}),
        ("text/plain;charset=ISO-8859-1", b"\xe9", {"data": "é"}),
        ('text/plain; Charset="UTF-8"', "é".encode(), {"data": "é"}),
        ("text/plain", b"\xe9", {"data_base64": "6Q=="}),
        ("text/plain; charset=utf-16", b"a\0", {"data_base64": "YQA="}),
        ("application/octet-stream", b"{}", {"data_base64": "e30="}),
        ("application/xml", b"<a/>", {"data_base64": "PGEvPg=="}),
        ("application/x-www-form-urlencoded", b"a=1", {"data_base64": "YT0x"}),
    ],
)
def test_the_content_type_says_what_the_data_is(content_type, content, member):
    named = {"Content-Type": content_type} if content_type else {}

    (event,) = read({**HEADERS, **named}, content)

    assert event == {
        **LEAST,
        **({"datacontenttype": content_type} if content_type else {}),
        **member,
    }


@pytest.mark.parametrize(
    ("value", "read_as"),
    [
        ("Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro € 😀"),  # the specification's own example
        ("a%25b", "a%b"),
        ("a%2525b", "a%25b"),  # one round only
        ("100%", "100%"),
        ("%zz", "%zz"),
        ('"a b"', "a b"),
        ('"a \\"b\\" \\\\"', 'a "b" \\'),
        ('"%22"', '"'),
        ('a "b"', 'a "b"'),
        ('"', '"'),
        ("(a)", "(a)"),
        ("é€".encode(), "é€"),
    ],
)
def test_a_header_is_decoded_once(value, read_as):
    (event,) = read({**HEADERS, "ce-subject": value})

    assert event["subject"] == read_as


@pytest.mark.parametrize("byte", range(0x20, 0x7F))
def test_every_printable_byte_of_a_header_is_read(byte):
    (event,) = read({**HEADERS, "ce-subject": f"a%{byte:02x}b"})

    assert event["subject"] == f"a{chr(byte)}b"


@pytest.mark.parametrize("byte", [*range(0x20), *range(0x7F, 0x100)])
def test_every_other_byte_of_a_header_is_refused_by_name(byte):
    with pytest.raises(InvalidError, match=r"'(ce-)?subject'"):
        read({**HEADERS, "ce-subject": f"a%{byte:02x}b"})


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ({"ce-id": "1"}, "attribute 'specversion'"),
        ({**HEADERS, "ce-specversion": "0.3"}, "Have the sender use version 1.0"),
        ({**HEADERS, "ce-a-b": "x"}, "not 'a-b'"),
        ({**HEADERS, "ce-": "x"}, "not ''"),
        ({**HEADERS, "ce-subject": b"\xff"}, "The header 'ce-subject' is not UTF-8"),
        ({**HEADERS, "ce-subject": "%ED%A0%80"}, "The header 'ce-subject' is not UTF-8"),
        ({**HEADERS, "ce-subject": "%0A"}, "attribute 'subject'"),
        ({**HEADERS, "ce-data": "1"}, "'ce-data' is no attribute"),
        ({**HEADERS, "ce-data_base64": "1"}, "'ce-data_base64' is no attribute"),
        ({**HEADERS, "ce-datacontenttype": "text/plain"}, "'ce-datacontenttype' is no attribute"),
    ],
)  # fmt: skip
def test_a_malformed_request_is_refused_with_the_name_of_what_is_wrong(headers, text):
    with pytest.raises(InvalidError, match=text):
        read(headers)


def test_data_that_is_not_what_its_type_says_is_refused():
    with pytest.raises(InvalidError, match="The data of the CloudEvent is not valid JSON"):
        read({**HEADERS, "Content-Type": "application/json"}, b"{")


def test_a_header_that_is_sent_twice_is_refused():
    with pytest.raises(InvalidError, match="the header 'ce-id' twice"):
        envelope_of([(b"ce-id", b"1"), (b"ce-id", b"1")])


def test_a_structured_event_is_the_body_whatever_the_headers_say():
    doc = {**LEAST, "id": "2", "data": [1], "ext": True}

    for content_type in (STRUCTURED, "Application/CloudEvents+JSON ; charset=UTF-8"):
        assert read({**HEADERS, "Content-Type": content_type}, json.dumps(doc).encode()) == [doc]


@pytest.mark.parametrize(
    "content_type",
    [
        "application/cloudevents", "application/cloudevents+avro", "application/cloudevents+protobuf",
        "application/cloudevents+xml", "application/cloudevents-batch+protobuf", "application/cloudevents+json; charset=utf-16",
    ],
)  # fmt: skip
def test_other_formats_are_refused(content_type):
    with pytest.raises(UnsupportedMediaError):
        read({**HEADERS, "Content-Type": content_type}, b"{}")


@pytest.mark.parametrize(
    ("headers", "held"),
    [
        ({}, False),
        ({"content-type": "application/json"}, False),
        ({"ce-id": "1"}, False),
        ({"ce-specversion": "0.3"}, True),
        ({"content-type": "Application/CloudEvents-Batch+JSON"}, True),
        ({"content-type": "application/cloudevents+avro"}, True),
    ],
)
def test_a_request_that_holds_an_event_is_known_by_its_headers(headers, held):
    assert holds_event(headers) is held


@pytest.mark.parametrize("content", [b"", b"{", b"[1", b"\xff", b"NaN"])
def test_a_structured_event_must_be_json(content):
    with pytest.raises(InvalidError, match="The CloudEvent is not valid JSON"):
        read({"Content-Type": STRUCTURED}, content)


def test_an_integer_that_cannot_be_kept_exactly_is_refused():
    content = json.dumps({**LEAST, "data": 2**70}).encode()

    with pytest.raises(InvalidError, match=r"The CloudEvent is malformed: .*send it as a string"):
        read({"Content-Type": STRUCTURED}, content)


def test_a_batch_is_a_list_in_its_order():
    docs = [{**LEAST, "id": str(n)} for n in range(1000)]

    assert read({"Content-Type": BATCH}, json.dumps(docs).encode()) == docs
    assert read({"Content-Type": BATCH}, b"[]") == []
    with pytest.raises(TooLargeError, match="may have 1000 CloudEvents, not 1001"):
        read({"Content-Type": BATCH}, json.dumps([*docs, LEAST]).encode())


@pytest.mark.parametrize(
    ("doc", "error", "text"),
    [
        ({**LEAST, "id": ""}, InvalidError, "at index 1 of the batch: A CloudEvent must have the attribute 'id'"),
        (5, InvalidError, "at index 1 of the batch: A CloudEvent must be a JSON object"),
        ({**LEAST, "type": "xingqiao.alarm"}, ReservedEventError, "at index 1 of the batch: The attribute 'type'"),
    ],
)  # fmt: skip
def test_a_malformed_event_refuses_the_batch_with_its_index(doc, error, text):
    with pytest.raises(error, match=text):
        read({"Content-Type": BATCH}, json.dumps([LEAST, doc]).encode())


def test_a_batch_that_is_no_list_is_refused():
    with pytest.raises(InvalidError, match="must be a JSON list"):
        read({"Content-Type": BATCH}, json.dumps(LEAST).encode())


@pytest.mark.parametrize(
    "headers", [HEADERS, {"Content-Type": STRUCTURED}, {"Content-Type": BATCH}]
)
def test_query_parameters_that_are_not_known_are_refused(headers):
    with pytest.raises(InvalidError, match="'type' is not known here, only 'wait'"):
        read(headers, b"", {"type": "a", "wait": "effects"})


# --- plain bodies --------------------------------------------------------------------------------

QUERY = {"type": "order.placed", "source": "/shop"}


def test_a_plain_body_is_the_data_and_the_query_has_the_attributes():
    told = {**LEAST, "id": "drawn"}

    assert read({}, b'{"a": 1}', QUERY) == [{**told, "data": {"a": 1}}]
    assert read({}, b"", {**QUERY, "subject": "7"}) == [{**told, "subject": "7"}]
    assert read({"Content-Type": "text/plain"}, b"hi", QUERY) == [
        {**told, "datacontenttype": "text/plain", "data": "hi"}
    ]


def test_what_curl_sends_without_being_told_is_json():
    (event,) = read({"Content-Type": "application/x-www-form-urlencoded"}, b'{"a": 1}', QUERY)

    assert event == {**LEAST, "id": "drawn", "data": {"a": 1}}


def test_the_id_is_that_of_the_body_and_the_idempotency_key():
    def id(key, content):
        return read({"Idempotency-Key": key}, content, QUERY)[0]["id"]

    assert id("k", b"1") == id("k", b"1")
    assert len({id("k", b"1"), id("k", b"2"), id("l", b"1"), "drawn"}) == 4
    with pytest.raises(InvalidError):
        id("k" * 1000, b"1")


@pytest.mark.parametrize("query", [{}, {"type": "a"}, {"source": "/a"}])
def test_a_request_without_an_event_is_told_how_to_send_one(query):
    with pytest.raises(
        InvalidError, match=r"ce-specversion, ce-id, ce-source, ce-type.*application/cloudevents"
    ):
        read({"Content-Type": "application/json"}, b"{}", query)


def test_a_plain_body_is_checked_as_others_are():
    with pytest.raises(ReservedEventError):
        read({}, b"", {**QUERY, "source": "/xingqiao/a"})
    with pytest.raises(InvalidError, match="'id' is not known here"):
        read({}, b"", {**QUERY, "id": "1"})


def test_the_mode_decides_how_long_the_content_may_be():
    limits = {
        mode: envelope_of(headers).limit
        for mode, headers in {
            Mode.BINARY: [(b"ce-specversion", b"1.0")],
            Mode.STRUCTURED: [(b"content-type", STRUCTURED.encode())],
            Mode.BATCH: [(b"content-type", BATCH.encode())],
            Mode.PLAIN: [(b"content-type", b"text/plain")],
        }.items()
    }

    assert limits == {
        Mode.BINARY: 1 << 20,
        Mode.STRUCTURED: 1 << 20,
        Mode.BATCH: 8 << 20,
        Mode.PLAIN: 1 << 20,
    }


NAMED = st.sampled_from(
    [*HEADERS, "ce-subject", "ce-time", "ce-xqhops", "ce-data", "content-type", "idempotency-key"]
)
KINDS = st.sampled_from(
    [STRUCTURED, BATCH, "application/json", "text/plain; charset=x", "text/plain;;=", "+json", ";"]
)
ATTRIBUTES = st.dictionaries(
    st.sampled_from([*LEAST, "time", "data", "x"]), st.text(max_size=9) | st.integers() | st.none()
)


@given(
    st.dictionaries(NAMED, st.binary(max_size=9) | KINDS.map(str.encode)),
    st.binary(max_size=9) | ATTRIBUTES.map(lambda doc: json.dumps({**LEAST, **doc}).encode()),
    st.dictionaries(st.sampled_from(["type", "source", "subject", "wait"]), st.text(max_size=9)),
    st.booleans(),
)
def test_anything_is_read_or_refused_and_what_is_read_is_sound(headers, content, query, whole):
    sent = {**(HEADERS if whole else {}), **headers}

    try:
        docs = read(sent, content, query)
    except RefusedError:
        return

    assert [read_cloud_event(json.loads(json.dumps(doc))).to_json() for doc in docs] == docs


# --- the witness ---------------------------------------------------------------------------------


@given(TEXTS, TEXTS, TEXTS, DATA)
def test_we_read_what_the_witness_writes(id, subject, extension, data):
    attributes = {
        **LEAST, "id": id, "subject": subject, "ext": extension, "datacontenttype": "application/json",
        "time": TIME,
    }  # fmt: skip
    event = Witness({**attributes, "time": datetime.fromisoformat(TIME)}, data)

    for message in (to_binary_event(event), to_structured_event(event)):
        assert read(message.headers, message.body) == [{**attributes, "data": data}]


@given(st.binary(min_size=1, max_size=40))
def test_bytes_of_the_witness_are_base64(content):
    attributes = {**LEAST, "datacontenttype": "application/octet-stream", "time": TIME}
    event = Witness({**attributes, "time": datetime.fromisoformat(TIME)}, content)
    binary, structured = to_binary_event(event), to_structured_event(event)

    (ours,) = read(binary.headers, binary.body)

    assert [ours] == read(structured.headers, structured.body)
    assert (
        from_http_event(
            HTTPMessage({"Content-Type": STRUCTURED}, json.dumps(ours).encode())
        ).get_data()
        == content
    )
