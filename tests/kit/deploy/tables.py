"""The laws of a `Table`, for any that is empty of executions named `law-...`."""

from __future__ import annotations

from xingqiao.infra.deploy.hosted.ports import Change

ABOUT = {"composition": "/_/main", "started_ms": 5, "reply": None, "depth": 0}
ROW = {"fiber": {"id": "0", "text": "Zürich \U0001f6a2"}, "asked": 5, "tries": 1}
MINUTE = 60_000


def begun(id, **fields):
    given = {
        "fibers": {"0": ROW},
        "unsent": [{"invoke": "0", "turn": 1}],
        "due_ms": MINUTE,
        **fields,
    }
    return Change(id=id, version=1, at_ms=5, about=ABOUT, **given)


def an_execution_is_as_it_was_saved(table):
    assert table.load("law-1") is None
    assert table.save(begun("law-1"))

    record = table.load("law-1")

    assert (record.version, record.about, record.fibers) == (1, ABOUT, {"0": ROW})
    assert record.unsent == {1: {"at": 5, "sends": [{"invoke": "0", "turn": 1}]}}
    assert (record.outcome, record.ended_ms) == (None, None)


def of_one_version_there_is_one(table):
    assert table.save(begun("law-2"))
    assert not table.save(begun("law-2"))
    second = Change(id="law-2", version=2, at_ms=6, fibers={"0": {**ROW, "tries": 2}})

    assert table.save(second)
    assert not table.save(second)
    assert not table.save(begun("law-2"))  # its beginning comes again, and late
    assert not table.save(Change(id="law-2", version=4, at_ms=6))
    assert not table.save(Change(id="law-never", version=2, at_ms=6))
    assert table.load("law-2").fibers["0"]["tries"] == 2
    assert table.load("law-never") is None


def a_refused_change_writes_nothing(table):
    assert table.save(begun("law-3"))

    assert not table.save(
        Change(id="law-3", version=3, at_ms=6, fibers={"0": ROW, "0/1.0": ROW}, unsent=[{"x": 1}])
    )
    record = table.load("law-3")
    assert (record.version, set(record.fibers), set(record.unsent)) == (1, {"0"}, {1})


def many_fibers_are_one_change(table):
    members = {f"0/1.{i}": ROW for i in range(89)}
    assert table.save(begun("law-4", fibers={"0": ROW, **members}))

    assert set(table.load("law-4").fibers) == {"0", *members}


def what_was_sent_is_forgotten_and_nothing_else(table):
    assert table.save(begun("law-5"))
    assert table.save(Change(id="law-5", version=2, at_ms=7, unsent=[{"timer": "0", "at": 9}]))

    table.sent("law-5", 1)
    table.sent("law-5", 1)

    record = table.load("law-5")
    assert record.unsent == {2: {"at": 7, "sends": [{"timer": "0", "at": 9}]}}
    assert (record.version, record.fibers) == (2, {"0": ROW})


def much_that_is_to_be_sent_is_forgotten_too(table):
    """More than one row of any table holds, and than one of them takes at once."""
    much = [{"note": {"is": "begin", "text": f"{n}" * 370_000}} for n in range(5)]
    assert table.save(begun("law-8", unsent=much, fibers={"0": {**ROW, "text": "x" * 370_000}}))
    assert table.save(Change(id="law-8", version=2, at_ms=7, unsent=[{"timer": "0", "at": 9}]))
    assert table.load("law-8").unsent[1] == {"at": 5, "sends": much}

    table.sent("law-8", 1)

    assert table.load("law-8").unsent == {2: {"at": 7, "sends": [{"timer": "0", "at": 9}]}}
    assert set(table.load("law-8").fibers) == {"0"}
    table.sent("law-8", 1)
    table.sent("law-8", 2)
    assert table.load("law-8").unsent == {}


def what_has_ended_has_its_outcome_and_no_fibers(table):
    assert table.save(begun("law-6", fibers={"0": ROW, "0/1.0": ROW}))
    ended = Change(
        id="law-6", version=2, at_ms=9, dropped=["0/1.0"], outcome={"value": {"n": 1}}, ended_ms=9
    )
    assert table.save(ended)

    record = table.load("law-6")

    assert (record.outcome, record.ended_ms) == ({"value": {"n": 1}}, 9)
    assert "0" not in record.fibers


def what_is_due_is_found(table):
    assert table.save(begun("law-7", due_ms=3 * MINUTE))

    assert "law-7" not in set(table.due(3 * MINUTE - 1))
    assert "law-7" in set(table.due(3 * MINUTE))
    assert table.save(Change(id="law-7", version=2, at_ms=9, due_ms=None))
    assert "law-7" not in set(table.due(9 * MINUTE))


LAWS = [
    an_execution_is_as_it_was_saved,
    of_one_version_there_is_one,
    a_refused_change_writes_nothing,
    many_fibers_are_one_change,
    what_was_sent_is_forgotten_and_nothing_else,
    much_that_is_to_be_sent_is_forgotten_too,
    what_has_ended_has_its_outcome_and_no_fibers,
    what_is_due_is_found,
]
