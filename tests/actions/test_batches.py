"""The documents of batches, and their progress as a value."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.actions import BATCH_VERBS, BatchProgress, InvalidError, InvalidFilterError, batch_of
from xingqiao.actions.batches import MAX_ERRORS, MAX_REASON, PAGE

WHERE = "status = 'failed'"
DETAILS = {
    "tell": {"name": "go"}, "reset": {"to": "first"}, "annotate": {"attributes": {"a": 1}},
}  # fmt: skip


def document(**fields):
    return {"where": WHERE, "do": "cancel", **fields}


@pytest.mark.parametrize("do", BATCH_VERBS)
def test_each_operation_is_read_and_written(do):
    doc = document(do=do, per_second=2, reason="why", id="b")
    if do in DETAILS:
        doc["with"] = DETAILS[do]

    read = batch_of(doc)

    assert (read.where, read.do, read.given) == (WHERE, do, DETAILS.get(do, {}))
    assert batch_of(read.to_json()) == read
    assert read.to_json() == doc


@pytest.mark.parametrize(
    "details",
    [
        ("tell", {"name": "go", "payload": None}),
        ("reset", {"to": 3, "messages": "drop"}),
        ("reset", {"to": {"step": "charge"}}),
        ("annotate", {"memo": None}),
        ("cancel", {}),
        ("cancel", None),
    ],
)
def test_the_details_of_an_operation(details):
    do, given_details = details

    assert batch_of(document(do=do, **{"with": given_details})).given == (given_details or {})


@pytest.mark.parametrize(
    ("doc", "why"),
    [
        ([], "a batch is an object"),
        (document(wher="x"), "'wher' does not exist: where, do, with"),
        ({"do": "cancel"}, "'where' must be a filter"),
        (document(where=" "), "'where' must be a filter"),
        (document(where=7), "'where' must be a filter"),
        (document(do="stop"), "'do' must be one of annotate, .*, not 'stop'"),
        (document(do=["cancel"]), "'do' must be one of"),
        ({"where": WHERE}, "'do' must be one of .*, not None"),
        (document(**{"with": []}), "'with' must be an object"),
        (document(**{"with": {"x": 1}}), "'with.x' does not exist: 'cancel' needs no 'with'"),
        (document(do="tell"), "'with.name' is missing"),
        (document(do="tell", **{"with": {"name": "$a"}}), "'with.name' cannot be used"),
        (document(do="tell", **{"with": {"to": 1}}), "'with.to' does not exist: name, payload"),
        (document(do="reset"), "'with.to' must be the number of an entry"),
        (document(do="reset", **{"with": {"to": True}}), "'with.to' must be"),
        (document(do="reset", **{"with": {"to": {"step": 1}}}), "'with.to' must be"),
        (
            document(do="reset", **{"with": {"to": 1, "messages": "x"}}),
            "'with.messages' must be 'keep' or 'drop'",
        ),
        (document(do="annotate"), "'annotate' needs 'attributes'"),
        (
            document(do="annotate", **{"with": {"attributes": []}}),
            "'with.attributes' must be an object",
        ),
        (document(reason=7), "'reason' must be a text"),
        (document(id=7), "'id' must be a text"),
        (document(per_second="x"), "'per_second' must be a number from 0.01 to 1000"),
        (document(per_second=True), "'per_second'"),
    ],
)
def test_a_malformed_document_names_the_field(doc, why):
    with pytest.raises(InvalidError, match=why):
        batch_of(doc)


@pytest.mark.parametrize(
    ("field", "within", "beyond"),
    [
        ("reason", "x" * MAX_REASON, "x" * (MAX_REASON + 1)),
        ("per_second", 0.01, 0.009),
        ("per_second", 1000, 1000.1),
    ],
)
def test_the_limits_of_a_field(field, within, beyond):
    assert batch_of(document(**{field: within}))
    with pytest.raises(InvalidError, match=f"'{field}'"):
        batch_of(document(**{field: beyond}))


def test_a_filter_is_read_with_its_attributes_and_has_an_order_that_stands():
    read = batch_of(document(where="a = 'x' order by started asc"))
    changing = batch_of(document(where=WHERE + " ORDER BY ended"))

    assert read.filter({"a": "text"}).ascending
    with pytest.raises(InvalidFilterError, match="at 0: no attribute 'a'"):
        read.filter({})
    with pytest.raises(InvalidFilterError, match=f"at {len(WHERE) + 1}: a batch goes through"):
        changing.filter({})


@pytest.mark.parametrize(
    ("per_second", "page"), [(None, PAGE), (0.01, 1), (0.25, 3), (1, 10), (10, 100), (1000, 100)]
)
def test_a_page_has_no_more_executions_than_ten_seconds_allow(per_second, page):
    read = batch_of(document(per_second=per_second))

    assert read.page == page
    assert read.most(80) == 9 * page
    assert read.most(1) == page


TURNS = st.lists(st.sampled_from(["done", "failed", "changed", "gone", "left out"]), max_size=250)


@given(TURNS, st.one_of(st.none(), st.floats(0.01, 1000)))
def test_the_progress_counts_each_execution_once_and_survives_storing(turns, per_second):
    progress, number = BatchProgress(), 0
    for number, turn in enumerate(turns):
        page = progress.on_page(1 + number // PAGE, number)
        assert page.on_page(page.page, 10**9) == page, "a page that was begun goes on"
        place = (number, str(number))
        if turn == "left out":
            progress = page.passed(place)
        else:
            progress = page.counted(place, turn, "e" * 1000)
        stored = json.loads(json.dumps(progress.to_json()))
        assert BatchProgress.from_json(stored) == progress
        assert progress.place == place

    shown = progress.shown()
    assert {turn: turns.count(turn) for turn in ("done", "failed", "changed", "gone")} == {
        name: shown[name] for name in ("done", "failed", "changed", "gone")
    }
    assert len(shown["errors"]) == min(MAX_ERRORS, turns.count("failed"))
    assert all(len(each["error"]) == 200 for each in shown["errors"])
    due_ms = progress.due_ms(per_second)
    if per_second is None:
        assert due_ms is None
    else:
        assert (due_ms - progress.since_ms) * per_second >= 1000 * progress.handled - 1e-6


def test_nothing_is_due_when_all_is_over():
    assert BatchProgress(handled=9, over=True).due_ms(1.0) is None
