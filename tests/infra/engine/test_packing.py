"""Records and entries in their short forms are read as they were."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.actions.things import python
from xingqiao.actions import ActivationRow, Closed, Opened
from xingqiao.composer import NOTHING, Entry
from xingqiao.infra.engine.packing import (
    KINDS,
    packed_activation,
    packed_entries,
    unpacked_activation,
    unpacked_entries,
)

ID, CAUSE, OTHER = "a" * 32, "b" * 32, "c" * 32
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
scheduled = st.fixed_dictionaries({"path": st.text(), "action": st.text(), "activation": st.text()})
details = st.one_of(
    st.just({}),
    scheduled,
    scheduled.map(lambda detail: {**detail, "tell": "go"}),
    st.dictionaries(st.sampled_from(["activation", "action", "path", "variables"]), json_values),
)
entries = st.builds(
    Entry,
    st.integers(0, 1 << 42),
    st.sampled_from(["0", "0/1.0"]),
    st.integers(0, 99),
    st.sampled_from([*KINDS, "Pivot", "x"]),
    details,
    st.just(NOTHING) | json_values,
)


def kept(value):
    return {"v": value}


@given(st.lists(entries, max_size=4))
def test_entries_are_read_as_they_were_written(written):
    body = packed_entries(written, kept)

    expected = [entry.to_json(kept) for entry in written]
    assert unpacked_entries(body) == expected
    assert [[*doc] for doc in unpacked_entries(body)] == [[*doc] for doc in expected], "the order"


@given(st.lists(entries, max_size=4))
def test_entries_of_earlier_versions_are_read(written):
    documents = [entry.to_json(kept) for entry in written]

    assert unpacked_entries(orjson.dumps(documents)) == documents


@given(st.lists(entries, max_size=4))
def test_a_list_has_one_element_for_each_entry(written):
    """So whoever counts entries need not read them."""
    assert len(orjson.loads(packed_entries(written, kept))) == len(written)


def test_the_numbers_of_kinds_are_in_stores_and_stay():
    assert KINDS == (
        "ExecutionStarted", "ExecutionSucceeded", "ExecutionFailed", "ExecutionCancelled",
        "StepScheduled", "StepAccepted", "StepSucceeded", "StepFailed", "RetryScheduled",
        "TimerStarted", "TimerFired", "Forked", "Joined", "BranchFailed",
        "StateEntered", "StateExited", "MessageReceived", "MessageConsumed",
    )  # fmt: skip


def row(body, cause=None):
    return ActivationRow(ID, "guest", "hello", 1000, 0, cause, body)


@pytest.mark.parametrize("cause", [None, CAUSE])
@pytest.mark.parametrize("execution", [ID, CAUSE, OTHER])
@pytest.mark.parametrize("code", [None, "Timeout"])
@pytest.mark.parametrize(
    "more", [(), (256,), (None, {"cloud": "aws"}), (None, None, ["ValueError"])]
)
def test_an_activation_is_read_as_it_was_written(cause, execution, code, more):
    closed = Closed(1030, 30, 1, False, None, None, ["a line"], *more)
    opened = Opened(id=ID, action=python(), namespace="guest", asked_ms=999, cause=cause)

    body = packed_activation(opened, closed, (2, {"v": {}}), code, execution)

    read = unpacked_activation(row(body, cause))
    assert read == {
        "about": orjson.loads(opened.action.about),
        "closed": read["closed"],
        "execution": execution,
        "size": 2,
        "result": {"v": {}},
        **({"code": code} if code else {}),
    }
    told = [*Closed(*read["closed"])]
    assert (told[:-1], [*told[-1]]) == ([*closed][:-1], [*closed.raised])


def test_an_activation_of_an_earlier_version_is_read():
    document = {"about": {"version": "0.0.1", "annotations": []}, "closed": [1], "execution": ID}

    assert unpacked_activation(row(orjson.dumps(document))) == document
