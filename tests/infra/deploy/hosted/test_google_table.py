"""The table in Firestore: the laws of every table, and the limits of this one.

Each test runs on our own Firestore and on Google's emulator, where that is installed.
"""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.kit.deploy.firestore_emulator import firestore_emulator
from tests.kit.deploy.google_cloud import DOCUMENTS, ApiError, GoogleCloud
from tests.kit.deploy.tables import ABOUT, LAWS, ROW, begun
from xingqiao.infra.deploy.hosted import Change
from xingqiao.infra.deploy.hosted.google_account import Account, GoogleError
from xingqiao.infra.deploy.hosted.google_table import KEPT_MS, PAGE, FirestoreTable
from xingqiao.infra.deploy.hosted.ports import TooLargeError

DATABASE = "projects/p/databases/d"
pytestmark = pytest.mark.timeout(600)  # Java starts slowly on a busy machine
MINUTE = 60_000


@pytest.fixture(scope="module")
def emulated():
    with firestore_emulator() as host:
        yield host


@pytest.fixture
def cloud(monkeypatch):
    made = GoogleCloud(["me"], {("me", DOCUMENTS, DATABASE)}, [], lambda: 0)
    for name, value in made.environment("me").items():
        monkeypatch.setenv(name, value)
    yield made
    made.close()


@pytest.fixture(params=["ours", "Google's"])
def table(request, cloud, monkeypatch):
    database = DATABASE
    if request.param == "Google's":
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", request.getfixturevalue("emulated"))
        database = f"projects/p/databases/d{abs(hash(request.node.name))}"
    with closing(Account()) as account:
        yield FirestoreTable(account, database)


@pytest.fixture
def ours(cloud):
    with closing(Account()) as account:
        yield FirestoreTable(account, DATABASE)


@pytest.mark.parametrize("law", LAWS)
def test_the_table_keeps_the_laws(table, law):
    law(table)


def test_ids_that_begin_alike_are_executions_of_their_own(table):
    for id in ("law-1", "law-10", "law-1:", "law"):
        assert table.save(begun(id))

    assert table.save(Change(id="law-1", version=2, at_ms=6, fibers={"0/2": ROW}))
    assert set(table.load("law-1").fibers) == {"0", "0/2"}
    assert set(table.load("law-10").fibers) == {"0"}


def test_the_largest_state_fits(table):
    """A fiber, an outcome, and a program, each as large as they may be, and messages beside them."""
    text = "ü" * 63_000  # six bytes each, in JSON
    much = [{"note": {"is": "begin", "text": "x" * 370_000}} for _ in range(5)]
    assert table.save(begun("law-l", fibers={"0": {**ROW, "text": text}}, unsent=much))
    assert table.save(
        Change(id="law-l", version=2, at_ms=6, outcome={"value": text}, ended_ms=6, unsent=much)
    )
    assert table.save(Change(id="law-p", version=1, at_ms=5, about={"program": "x" * 899_980}))

    assert table.load("law-l").outcome == {"value": text}
    assert table.load("law-l").unsent[2]["sends"] == much
    assert len(table.load("law-p").about["program"]) == 899_980


def test_a_change_that_is_too_large_is_told_apart_and_writes_nothing(table):
    with pytest.raises(TooLargeError, match="the change is too large for Firestore: "):
        table.save(begun("law-x", fibers={"0": {**ROW, "text": "x" * 1_048_576}}))

    assert table.load("law-x") is None


def test_a_change_of_more_than_a_request_holds_is_too_large(ours):
    fibers = {f"0/{n}": {**ROW, "text": "x" * 900_000} for n in range(11)}
    assert ours.save(begun("law-y", fibers=fibers))
    fibers["0/11"] = {**ROW, "text": "x" * 900_000}

    with pytest.raises(TooLargeError, match="Request payload size exceeds the limit"):
        ours.save(begun("law-z", fibers=fibers))


def test_many_fibers_that_are_gone_are_removed(table):
    names = [f"0/{n}" for n in range(250)]
    assert table.save(begun("law-d", fibers={"0": ROW, **dict.fromkeys(names[:89], ROW)}))
    for version in range(2, 4):
        some = names[(version - 1) * 89 : version * 89]
        assert table.save(
            Change(id="law-d", version=version, at_ms=6, fibers=dict.fromkeys(some, ROW))
        )

    assert table.save(
        Change(id="law-d", version=4, at_ms=6, fibers={"0": ROW}, dropped=["0", *names])
    )
    assert set(table.load("law-d").fibers) == {"0"}


def test_fibers_that_cannot_be_removed_do_no_harm(ours, cloud):
    """More than one commit takes: the first is the change."""
    names = [f"0/{n}" for n in range(300)]
    assert ours.save(begun("law-n"))

    post, commits = cloud.firestore._commit, []

    def refusing(parent, body):
        commits.append(len(body["writes"]))
        if len(commits) > 1:
            raise ApiError(503, "UNAVAILABLE", "try again")
        return post(parent, body)

    cloud.firestore._commit = refusing

    assert ours.save(Change(id="law-n", version=2, at_ms=6, fibers={"0": ROW}, dropped=names))
    assert commits == [203, 100]


def test_all_that_is_due_is_found_page_by_page_the_earliest_first(table):
    for n in range(PAGE + 5):
        assert table.save(begun(f"law-{n}", due_ms=(1 + n % 7) * MINUTE))

    found = list(table.due(6 * MINUTE))

    assert sorted(found) == sorted(f"law-{n}" for n in range(PAGE + 5) if n % 7 < 6)
    assert [int(id[4:]) % 7 for id in found] == sorted(int(id[4:]) % 7 for id in found)


def test_what_ended_long_ago_is_removed_and_nothing_else(table):
    much = [{"note": {"is": "begin", "text": "x" * 370_000}} for _ in range(5)]
    for id in ("law-old", "law-new", "law-on"):
        assert table.save(begun(id, unsent=much, fibers={"0": ROW, "0/1": ROW}))
    for id, at in (("law-old", 9), ("law-new", 10)):
        assert table.save(Change(id=id, version=2, at_ms=at, outcome={"value": {}}, ended_ms=at))

    table.expire(8 + KEPT_MS)
    assert table.load("law-old") is not None
    table.expire(9 + KEPT_MS)

    assert table.load("law-old") is None
    assert not table._of("law-old")
    assert table.load("law-new").outcome == {"value": {}}
    assert set(table.load("law-on").fibers) == {"0", "0/1"}


def test_documents_are_spread(ours, cloud):
    for n in range(50):
        assert ours.save(begun(f"01a{n:029}"))

    places = {name.rpartition("/")[2][:2] for name in cloud.firestore.documents}
    assert len(places) > 30


@pytest.mark.parametrize("reason", ["ABORTED", "FAILED_PRECONDITION"])
def test_what_was_not_written_for_another_reason_is_not_taken_for_begun(ours, cloud, reason):
    cloud.refuse = {":commit": ApiError(409, reason, "too much contention")}
    with pytest.raises(GoogleError, match=f"{reason}: too much contention"):
        ours.save(begun("law-a"))

    assert ours.save(begun("law-a"))
    cloud.refuse = {":commit": ApiError(409, reason, "too much contention")}
    assert not ours.save(Change(id="law-a", version=2, at_ms=6))
    assert ours.load("law-a").version == 1


def test_an_error_of_firestore_is_no_refusal(ours, cloud):
    cloud.refuse = {":commit": ApiError(503, "UNAVAILABLE", "try again")}

    with pytest.raises(GoogleError, match="was answered 503 UNAVAILABLE: try again"):
        ours.save(Change(id="law-e", version=1, at_ms=5, about=ABOUT))
