"""What is the DynamoDB store's own: how it lies in a table, whose the table is, what a crash leaves."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from dataclasses import replace

import anyio.lowlevel
import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError, ReadTimeoutError

from tests.kit.stores.tables import (
    TABLE,
    At,
    Faulty,
    client,
    dynamo_store,
    dynamodb,
    everything_in,
    refusal,
)
from xingqiao.actions import (
    ActivationRow,
    Document,
    ExecutionRow,
    Expiry,
    FiberRow,
    Query,
    Saved,
    Standing,
    Write,
)
from xingqiao.infra.stores.dynamodb.items import KEY_BYTES, PIECE_BYTES
from xingqiao.infra.stores.dynamodb.lease import LIVES_MS
from xingqiao.infra.stores.dynamodb.table import ATTEMPTS, FEW, Table, connected
from xingqiao.infra.stores.errors import StoreDoubtError, StoreError

LARGE = b"x" * (3 * PIECE_BYTES)
KEPT = {"schema", "lease", "statuses"}  # partitions that an empty store has


@pytest.fixture(autouse=True)
def region():
    with dynamodb():
        yield


def execution(id="e1", **fields):
    row = ExecutionRow(id, "guest", "hello", "running", 1000, None, b"{}")
    return row._replace(**fields)


def document(key="k", body=b"{}", *, expected=None):
    return Document(kind="action", key=key, body=body, expected=expected)


def fibers(count, of="e1"):
    return [FiberRow(of, f"{n:04}", n, True, b"{}") for n in range(count)]


def plain(number, method, call):
    return call()


async def documents(store, prefix="", **page):
    return [found async for found in store.documents("action", prefix, **page)]


def rows_in(table=TABLE):
    """All items but those that are always there."""
    return {key: item for key, item in everything_in(table).items() if key[0] not in KEPT}


# --- how it lies -------------------------------------------------------------------------------


async def test_nothing_is_left_of_what_is_deleted():
    id = f"{1:012x}0"
    row = execution(id, started_ms=1, ended_ms=2, body=LARGE)
    async with dynamo_store(client()) as store:
        write = Write(
            executions=[row],
            fibers=[FiberRow(id, "0", 5, True, LARGE)],
            history=[(id, 1, LARGE)],
            activations=[ActivationRow(id, "guest", "hello", 1, 0, None, LARGE)],
            values=[(id, "k", LARGE), (id, "l", b"")],
            documents=[document(body=LARGE)],
        )
        await store.commit([write])
        assert len(rows_in()) > 6 * 3

        gone = Write(documents=[document(body=None)], expired=Expiry(1000, 10))
        await store.commit([gone])

    assert rows_in() == {}


async def test_what_is_old_goes_a_piece_at_a_time_until_nothing_is_left():
    ids = [f"{n // 2:012x}{n:020x}" for n in range(24)]
    executions = [
        execution(id, started_ms=n, ended_ms=n + 1, status=("done", "failed")[n % 2])
        for n, id in enumerate(ids)
    ]
    steps = [
        ActivationRow(f"{id[:12]}{n:019x}a", "guest", "step", 30, 0, id, b"{}")
        for n, id in enumerate(ids)
    ]
    async with dynamo_store(client()) as store:
        values = [(id, "k", b"1") for id in ids]
        history = [(id, 1, b"[]") for id in ids]
        await store.commit(
            [Write(executions=executions, activations=steps, values=values, history=history)]
        )

        await store.commit([Write(expired=Expiry(25, 5))])  # their steps are not old enough
        assert await store.count(ExecutionRow, Query(namespace="guest")) == 24
        counts = []
        while not counts or counts[-1] != (0, 0):
            await store.commit([Write(expired=Expiry(31, 5))])
            counts.append(
                tuple([await store.count(kind, Query(namespace="guest"))
                       for kind in (ActivationRow, ExecutionRow)])
            )  # fmt: skip

    assert [steps for steps, _ in counts] == [19, 14, 9, 4, 0]
    assert all(steps <= left <= steps + 1 for steps, left in counts)
    assert rows_in() == {}


async def test_a_body_that_shrinks_leaves_no_pieces():
    async with dynamo_store(client()) as store:
        for body in (LARGE, LARGE[:-PIECE_BYTES], b"small"):
            await store.commit(
                [Write(executions=[execution(body=body)], fibers=[FiberRow("e1", "0", None, False, body)],
                       documents=[document(body=body)])]
            )  # fmt: skip
            saved = await store.load("e1")
            assert (saved.execution.body, saved.fibers[0].body) == (body, body)
            assert [found.body for found in await documents(store)] == [body]
            pieces = [key for key in rows_in() if key[0].startswith("pieces/")]
            assert len(pieces) == 3 * (len(body) // PIECE_BYTES)


async def test_an_execution_is_listed_as_it_is_and_not_as_it_was():
    async with dynamo_store(client()) as store:
        await store.commit([Write(executions=[execution()])])
        after = execution(status="done", namespace="other", started_ms=2000, ended_ms=3000)
        await store.commit([Write(executions=[after])])

        assert await store.find(ExecutionRow, Query(namespace="guest")) == []
        for query in (
            Query(namespace="other"),
            Query(namespace=None),
            Query(namespace=None, status="done"),
        ):
            assert await store.find(ExecutionRow, query) == [after]
            assert await store.count(ExecutionRow, query) == 1
        assert await store.find(ExecutionRow, Query(namespace=None, status="running")) == []


async def test_all_namespaces_are_listed_the_newest_first():
    async with dynamo_store(client()) as store:
        rows = [
            ActivationRow(str(n), f"space{n % 3}", "hello", n % 4, 0, None, b"{}", "python:3")
            for n in range(8)
        ]
        await store.commit([Write(activations=rows)])

        found = await store.find(ActivationRow, Query(namespace=None, kind="python:3", limit=5))

    assert [row.id for row in found] == ["7", "3", "6", "2", "5"]


async def test_an_entry_that_does_not_change_is_not_written_again():
    faulty = Faulty(plain)
    async with dynamo_store(faulty) as store:
        await store.commit([Write(executions=[execution()])])
        await store.commit([Write(executions=[execution(body=b"[]")])])

    written = [arguments for method, arguments in faulty.calls if method == "transact_write_items"]
    assert len(written[-1]["TransactItems"]) == 2  # the fence, and the row


async def test_reads_are_queries_that_see_every_commit():
    faulty = Faulty(plain)
    async with dynamo_store(faulty) as store:
        await store.commit(
            [Write(executions=[execution()], fibers=fibers(2), documents=[document()])]
        )
        faulty.calls.clear()
        await store.standing()
        await store.load("e1")
        await store.history("e1", 0, 10)
        await store.values("e1", ["k"])
        await documents(store, "k")
        for kind in (ExecutionRow, ActivationRow):
            for query in (Query(namespace="guest", name="hello"), Query(namespace=None)):
                await store.find(kind, query)
                await store.count(kind, query)
        calls = list(faulty.calls)

    assert {method for method, _ in calls} == {"query", "batch_get_item"}
    for method, arguments in calls:
        asked = arguments if method == "query" else arguments["RequestItems"][TABLE]
        assert asked["ConsistentRead"]


LONG = "ä" * KEY_BYTES  # twice as many bytes
KEYS = [
    "",
    "ä",
    LONG,
    LONG[:-1],
    f"{LONG}b",
    f"{LONG}a",
    f"{LONG}\U0001f600",
    "äb",
    "z",
    f"z{LONG}",
]


async def test_keys_of_documents_may_be_long():
    async with dynamo_store(client()) as store:
        await store.commit([Write(documents=[document(key, key.encode()) for key in KEYS])])
        await store.commit([Write(documents=[document(LONG, LONG.encode(), expected=1)])])
        found = await documents(store)

        assert [d.key for d in found] == sorted(KEYS)
        assert all(d.body == d.key.encode() for d in found)
        for prefix in KEYS:
            fits = sorted(key for key in KEYS if key.startswith(prefix))
            assert [d.key for d in await documents(store, prefix)] == fits
            for after in KEYS:
                left = [key for key in fits if key > after]
                assert [d.key for d in await documents(store, prefix, after=after)] == left
                page = await documents(store, prefix, after=after, limit=2)
                assert [d.key for d in page] == left[:2]


async def test_a_page_of_none_has_none():
    async with dynamo_store(client()) as store:
        await store.commit([Write(documents=[document()])])
        assert await documents(store, limit=0) == []


# --- how much it takes at once -----------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 99, 100, 250])
async def test_a_commit_of_any_size_is_one_or_leaves_no_journal(count):
    faulty = Faulty(plain)
    async with dynamo_store(faulty) as store:
        await store.commit([Write(documents=[document(f"{n:03}") for n in range(count)])])

        assert len(await documents(store)) == count
    commits = faulty.methods.count("transact_write_items") - 1  # one takes the lease
    assert commits == (1 if count <= 99 else 2 + -(-count // 99))
    assert not [key for key in everything_in() if key[0].startswith("journal")]


# --- crashes -----------------------------------------------------------------------------------


class Crash(Exception):  # noqa: N818  it is no error of ours
    """The process is gone."""


def crashing(at, *, after):
    """Dies at a call: before it is sent, or before its answer is heard; nothing is called then."""

    def fault(number, method, call):
        if number > at:
            raise Crash
        if number == at and not after:
            raise Crash
        answer = call()
        if number == at:
            raise Crash
        return answer

    return fault


@pytest.fixture
def narrow(monkeypatch):
    """Limits so low that a commit of few rows has every step that a commit may have."""
    monkeypatch.setattr("xingqiao.infra.stores.dynamodb.journal.MOST_WRITES", 9)
    monkeypatch.setattr("xingqiao.infra.stores.dynamodb.journal.MOST_BYTES", 12_000)
    monkeypatch.setattr("xingqiao.infra.stores.dynamodb.items.PIECE_BYTES", 4000)


SMALL = Write(executions=[execution("new")], fibers=fibers(1, "new"), documents=[document()])
BIG = Write(
    executions=[execution("new", body=LARGE[:4500])],
    fibers=fibers(6, "new"),
    dropped=[("old", "")],
    documents=[document()],
)
HUGE = replace(BIG, executions=[execution("new", body=LARGE[:9000])])
EVERY_SIZE = pytest.mark.parametrize("write", [SMALL, BIG, HUGE], ids=["small", "large", "huge"])


async def state(store):
    saved = [await store.load(id) for id in ("old", "new")]
    standing = await store.standing()
    return saved, sorted(standing.timers), await documents(store)


async def opened_again(clock):
    clock.ms += LIVES_MS + 1  # the dead one's lease has ended
    return dynamo_store(client(), clock)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@EVERY_SIZE
async def test_a_crash_at_any_call_of_a_commit_leaves_all_or_nothing(write, after):
    at, ended = 0, []
    while "acknowledged" not in ended:
        at += 1
        ended.append(await crashed(write, at, after=after))

    decided = [outcome for outcome in ended if outcome != "nothing"]
    assert ended == ["nothing"] * (at - len(decided)) + decided
    assert ended[0] == "nothing"
    assert ("all" in ended) is (
        after or write is not SMALL
    )  # a small one is done with its last call


async def crashed(write, at, *, after):
    """What is there after a crash at a call."""
    table = f"table-{at}"
    clock, faulty = At(), Faulty(plain)
    was, outcome = None, None
    with contextlib.suppress(Crash):  # at the latest when it would let go of its lease
        async with dynamo_store(faulty, clock, table) as store:
            await store.commit([Write(executions=[execution("old")], fibers=fibers(2, "old"))])
            was = await state(store)
            faulty.calls.clear()
            faulty.fault = crashing(at, after=after)
            await store.commit([write])
            outcome = "acknowledged"
            faulty.fault = crashing(0, after=False)
    clock.ms += LIVES_MS + 1
    async with dynamo_store(client(), clock, table) as again:
        found = await state(again)
    assert not [key for key in everything_in(table) if key[0].startswith("journal")]
    if found == was:
        assert outcome is None
        return "nothing"
    left = [] if write.dropped else fibers(2, "old")
    saved = [Saved(execution("old"), left), Saved(write.executions[0], write.fibers)]
    timers = sorted((row.due_ms, row.execution, row.fiber) for row in [*write.fibers, *left])
    assert found == (saved, timers, [replace(write.documents[0], version=1)])
    return outcome or "all"


def failing(at, *, after):
    """One call fails: it is not done, or its answer is not heard."""

    def fault(number, method, call):
        answer = None if number == at and not after else call()
        if number == at:
            raise Crash
        return answer

    return fault


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@EVERY_SIZE
async def test_a_commit_that_fails_is_done_once_when_it_is_tried_again(write, after):
    """As the engine does: it tries the same again, until it is told how it went."""
    conditional = replace(write, documents=[document(expected=0)])
    unmet = Write(executions=[execution("unmet")], documents=[document(expected=0)])
    at, answered = 0, False
    while not answered:
        at += 1
        answered = await tried([conditional, unmet], at, after=after)
    assert at > 1


async def tried(writes, at, *, after):
    """Fails at a call, then tries again. Whether the first try was answered."""
    faulty, answered = Faulty(plain), False
    async with dynamo_store(faulty, table=f"table-{at}") as store:
        faulty.calls.clear()
        faulty.fault = failing(at, after=after)
        try:
            assert await store.commit(writes) == [1]
            answered = True
        except Crash:
            assert await store.commit(writes) == [1]
        faulty.fault = plain
        assert (await store.load("new")).fibers == writes[0].fibers
        assert [found.version for found in await documents(store)] == [1]
        assert await store.load("unmet") is None
        assert await store.commit(writes) == [0, 1]
    return answered


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("write", [BIG, HUGE], ids=["large", "huge"])
async def test_a_read_after_a_failure_sees_all_or_nothing_of_what_was_decided(write):
    seen = []
    while "answered" not in seen:
        faulty, at = Faulty(plain), len(seen) + 1
        async with dynamo_store(faulty, table=f"table-{at}") as store:
            faulty.calls.clear()
            faulty.fault = failing(at, after=False)
            try:
                await store.commit([write])
                seen.append("answered")
            except Crash:
                saved = await store.load("new")
                assert saved in (None, Saved(write.executions[0], write.fibers))
                seen.append("nothing" if saved is None else "all")
            faulty.fault = plain
    assert {"nothing", "all"} < set(seen)


async def test_a_commit_that_is_done_late_is_found_out():
    """Its answer never came, and it was done after it was looked whether it was."""
    late = []

    def fault(number, method, call):
        if method == "transact_write_items" and not late:
            late.append(call)
            raise Crash
        if method == "transact_write_items" and len(late) == 1:
            late.append(None)
            late[0]()
        return call()

    faulty = Faulty(plain)
    async with dynamo_store(faulty) as store:
        faulty.fault = fault
        with pytest.raises(Crash):
            await store.commit([Write(documents=[document(expected=0)])])
        with pytest.raises(StoreError, match="an earlier commit was made in the meantime"):
            await store.commit([Write(documents=[document(expected=0)])])

        assert await store.commit([Write(documents=[document(expected=0)])]) == []
        assert [found.version for found in await documents(store)] == [1]
        assert await store.commit([Write(documents=[document(expected=0)])]) == [0]


async def test_an_answer_that_is_not_heard_is_asked_for_again():
    lost = []

    def fault(number, method, call):
        answer = call()
        if method == "transact_write_items" and not lost:
            lost.append(number)
            raise ReadTimeoutError(endpoint_url="x")
        return answer

    faulty = Faulty(plain)
    async with dynamo_store(faulty) as store:
        faulty.fault = fault
        assert await store.commit([Write(documents=[document(expected=0)])]) == []
        assert [found.version for found in await documents(store)] == [1]
    assert lost


# --- what is too much --------------------------------------------------------------------------

BUSY = [
    refusal("ProvisionedThroughputExceededException"),
    refusal("ThrottlingException"),
    refusal("TransactionCanceledException", CancellationReasons=[{"Code": "None"}, {"Code": "TransactionConflict"}]),
    refusal("TransactionInProgressException"),
    refusal("InternalServerError"),
    EndpointConnectionError(endpoint_url="x"),
]  # fmt: skip


@pytest.mark.parametrize("error", BUSY, ids=str)
async def test_what_is_too_much_is_tried_again(error):
    left = [1, 2, 3]

    def fault(number, method, call):
        if method == "transact_write_items" and left:
            left.pop()
            raise error
        return call()

    faulty = Faulty(plain)
    async with dynamo_store(faulty) as store:
        faulty.fault = fault
        assert await store.commit([Write(documents=[document()])]) == []
        assert len(await documents(store)) == 1
    assert not left


async def test_what_is_too_much_for_long_fails_and_later_it_goes_on():
    def fault(number, method, call):
        raise BUSY[0]

    faulty = Faulty(plain)
    async with dynamo_store(faulty) as store:
        faulty.calls.clear()
        faulty.fault = fault
        with pytest.raises(StoreError, match=f"table {TABLE} cannot be used now: .*It says so"):
            await store.commit([Write(documents=[document()])])
        assert len(faulty.calls) == FEW

        faulty.fault = plain
        assert await store.commit([Write(documents=[document()])]) == []


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (refusal("ProvisionedThroughputExceededException"), StoreError),
        (refusal("InternalServerError"), StoreDoubtError),
        (ReadTimeoutError(endpoint_url="http://x"), StoreDoubtError),
        (EndpointConnectionError(endpoint_url="http://x"), StoreError),
    ],
    ids=["throttled", "broken", "no answer", "not reached"],
)
async def test_a_commit_that_fails_says_whether_it_may_have_been_done(error, kind):
    def fault(number, method, call):
        if method == "transact_write_items":
            raise error
        return call()

    faulty = Faulty(plain)
    async with dynamo_store(faulty) as store:
        faulty.fault = fault
        with pytest.raises(StoreError) as raised:
            await store.commit([Write(documents=[document()])])
        assert type(raised.value) is kind
        assert bool(store._doubts) is (kind is StoreDoubtError)

        faulty.fault = plain
        assert await store.commit([Write(documents=[document()])]) == []
        assert len(await documents(store)) == 1


async def test_pauses_grow_and_are_not_all_alike():
    def fault(number, method, call):
        raise BUSY[0]

    paused = []

    async def pause(seconds):
        paused.append(seconds)

    faulty = Faulty(plain)
    table = Table(faulty, TABLE, 1, pause)
    faulty.fault = fault
    for _ in range(20):
        with pytest.raises(StoreError):
            await table.get([("pk", "sk")])
    table.close()

    by_attempt = [paused[n :: ATTEMPTS - 1] for n in range(ATTEMPTS - 1)]
    assert max(by_attempt[0]) <= 0.025 < max(by_attempt[2])
    assert max(by_attempt[-1]) <= 1.0
    assert all(len(set(times)) > 1 for times in by_attempt)


async def test_what_is_answered_in_part_is_asked_for_until_it_is_whole():
    def fault(number, method, call):
        if method != "batch_get_item":
            return call()
        asked = call.keywords["RequestItems"][TABLE]
        some = {**asked, "Keys": asked["Keys"][: number % 3]}
        left = {**asked, "Keys": asked["Keys"][number % 3 :]}
        found = (
            client().batch_get_item(RequestItems={TABLE: some})
            if some["Keys"]
            else {"Responses": {}}
        )
        return {**found, "UnprocessedKeys": {TABLE: left} if left["Keys"] else {}}

    faulty = Faulty(plain)
    async with dynamo_store(faulty) as store:
        await store.commit([Write(values=[("e1", f"k{n}", b"%d" % n) for n in range(7)])])
        faulty.fault = fault
        found = await store.values("e1", [f"k{n}" for n in range(8)])

    assert found == {f"k{n}": b"%d" % n for n in range(7)}


# --- whose it is -------------------------------------------------------------------------------


async def test_a_table_belongs_to_one_server_at_a_time():
    clock = At()
    async with dynamo_store(client(), clock) as first:
        clock.ms += 5000
        with pytest.raises(
            StoreError,
            match=rf"another server \(.*, process \d+\) is using table {TABLE}.* in 15 s",
        ):
            await dynamo_store(client(), clock).__aenter__()
        assert await first.commit([Write(documents=[document()])]) == []

    async with dynamo_store(client(), clock) as second:  # the first has let go of it
        assert len(await documents(second)) == 1


async def test_a_lease_that_is_renewed_lives_on():
    clock = At()
    async with dynamo_store(client(), clock) as store:
        for _ in range(3):
            clock.ms += LIVES_MS - 1
            assert await store._lease.renew()
        with pytest.raises(StoreError, match="another server"):
            await dynamo_store(client(), clock).__aenter__()


async def test_a_lease_is_renewed_until_it_is_lost(caplog):
    clock, faulty, turns = At(), Faulty(plain), asyncio.Queue()

    async def pause(seconds):
        await turns.put(seconds)
        await turns.join()

    def until():
        return int(everything_in()["lease", "lease"]["until_ms"]["N"])

    async def renewed():
        turns.task_done()
        return await turns.get()

    async with dynamo_store(faulty, clock, pause=pause) as store:
        assert 3 * await turns.get() < LIVES_MS / 1000
        clock.ms += 5000
        await renewed()
        assert until() == clock.ms + LIVES_MS

        faulty.fault = failing_with(refusal("ValidationException"))
        clock.ms += 5000
        await renewed()
        assert until() == clock.ms - 5000 + LIVES_MS
        assert "cannot be renewed; trying again" in caplog.text

        faulty.fault = plain
        clock.ms += LIVES_MS
        async with dynamo_store(client(), clock):
            turns.task_done()
            while "has taken table" not in caplog.text:
                await anyio.lowlevel.checkpoint()
            with pytest.raises(StoreError, match="has taken table"):
                await store.load("e1")


def failing_with(error):
    def fault(number, method, call):
        raise error

    return fault


@pytest.mark.usefixtures("narrow")
@EVERY_SIZE
async def test_whoever_has_lost_the_table_writes_nothing_any_more(write):
    clock = At()
    async with dynamo_store(client(), clock) as first:
        await first.commit([Write(executions=[execution("old")])])
        clock.ms += LIVES_MS + 1  # it slept
        async with dynamo_store(client(), clock) as second:
            was = await state(second)
            for _ in range(2):
                with pytest.raises(
                    StoreError, match=f"another server has taken table {TABLE} over"
                ):
                    await first.commit([write])
            assert not await first._lease.renew()
            assert await state(second) == was
            assert await second.commit([write]) == []
            with pytest.raises(StoreError, match="this one has stopped writing"):
                await first.load("new")


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("write", [BIG, HUGE], ids=["large", "huge"])
async def test_whoever_loses_the_table_in_the_middle_of_a_commit_leaves_the_rest_to_the_next(write):
    left = [await lost_at(1, write)]
    while left[-1] != "was never lost":
        left.append(await lost_at(len(left) + 1, write))

    decided = left.index(Saved(write.executions[0], write.fibers))
    assert left[:decided] == [None] * decided
    assert left[decided:-1] == [left[decided]] * (len(left) - 1 - decided)


async def lost_at(at, write):
    """What there is when a server is stopped at a call, another takes over, and the first goes on."""
    clock, faulty, table = At(), Faulty(plain), f"table-{at}"
    saved = "was never lost"

    def fault(number, method, call):
        if number == at:
            clock.ms += LIVES_MS + 1
            asyncio.run(taken())
        return call()

    async def taken():
        nonlocal saved
        async with dynamo_store(client(), clock, table) as other:
            saved = await other.load("new")
            await other.commit([Write(forgotten=["new"])])

    async with dynamo_store(faulty, clock, table) as first:
        faulty.calls.clear()
        faulty.fault = fault
        with contextlib.suppress(StoreError):
            await first.commit([write])
        faulty.fault = plain
    clock.ms += LIVES_MS + 1
    async with dynamo_store(client(), clock, table) as again:
        assert (await again.load("new") is None) is (saved != "was never lost")
    return saved


async def test_two_that_start_at_once_do_not_both_get_it():
    async def quick():
        async with dynamo_store(client()):
            pass

    def fault(number, method, call):
        if method == "transact_write_items":
            asyncio.run(quick())
        return call()

    with pytest.raises(StoreError, match=f"another server has just taken table {TABLE}"):
        await dynamo_store(Faulty(fault)).__aenter__()


# --- opening -----------------------------------------------------------------------------------


async def test_a_new_table_is_waited_for_until_it_is_ready():
    looks = []

    def fault(number, method, call):
        answer = call()
        if method == "describe_table" and len(looks) < 3:
            looks.append(answer["Table"].update(TableStatus="CREATING"))
        return answer

    async with dynamo_store(Faulty(fault)) as store:
        assert await store.standing() == Standing([], [])
    assert len(looks) == 3


async def test_a_table_that_is_never_ready_is_told():
    def fault(number, method, call):
        answer = call()
        if method == "describe_table":
            answer["Table"]["TableStatus"] = "CREATING"
        return answer

    assert (
        await refused(Faulty(fault)) == f"table {TABLE} is not ready after 60 s: start again later"
    )


async def refused(faulty_or_client=None, table=TABLE):
    """Why a store cannot be opened."""
    with pytest.raises(StoreError) as caught:
        await dynamo_store(faulty_or_client or client(), table=table).__aenter__()
    return str(caught.value)


def make(keys, table=TABLE, kind="S"):
    names = [{"AttributeName": n, "AttributeType": kind} for n in keys]
    schema = [
        {"AttributeName": n, "KeyType": k} for n, k in zip(keys, ("HASH", "RANGE"), strict=False)
    ]
    client().create_table(
        TableName=table, KeySchema=schema, AttributeDefinitions=names, BillingMode="PAY_PER_REQUEST"
    )


async def test_a_table_is_made_where_there_is_none_and_paid_for_by_use():
    async with dynamo_store(client()):
        pass

    table = client().describe_table(TableName=TABLE)["Table"]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


async def test_an_empty_table_that_was_made_for_it_is_taken():
    make(["pk", "sk"])
    async with dynamo_store(client()) as store:
        assert await store.standing() == Standing([], [])


@pytest.mark.parametrize(
    ("keys", "kind", "shown"),
    [(["id"], "S", "id"), (["pk"], "S", "pk"), (["sk", "pk"], "S", "sk, pk"), (["pk", "sk"], "N", "pk, sk")],
)  # fmt: skip
async def test_a_table_with_other_keys_is_refused(keys, kind, shown):
    make(keys, kind=kind)

    said = await refused()

    assert said.startswith(f"table {TABLE} has another schema: its keys are {shown}, and must be")


async def test_a_table_that_something_else_uses_is_refused_and_left_alone():
    make(["pk", "sk"])
    client().put_item(TableName=TABLE, Item={"pk": {"S": "theirs"}, "sk": {"S": "x"}})

    assert "is used by something else" in await refused()

    assert list(everything_in()) == [("theirs", "x")]


async def test_a_table_of_a_newer_version_is_refused():
    async with dynamo_store(client()):
        pass
    item = {"pk": {"S": "schema"}, "sk": {"S": "schema"}, "version": {"N": "2"}}
    client().put_item(TableName=TABLE, Item=item)

    assert "another version of this program (schema 2, this one knows 1)" in await refused()


@pytest.mark.parametrize("at", range(1, 12))
async def test_a_start_that_fails_anywhere_can_be_done_again(at):
    clock, faulty = At(), Faulty(crashing(at, after=True))
    with contextlib.suppress(Crash):
        async with dynamo_store(faulty, clock):
            pass
    clock.ms += LIVES_MS + 1

    async with dynamo_store(client(), clock) as store:
        assert await store.commit([Write(documents=[document()])]) == []


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (refusal("UnrecognizedClientException"), "the credentials are refused"),
        (refusal("AccessDeniedException"), "the credentials are refused"),
        (refusal("ExpiredTokenException"), "the credentials are refused"),
        (refusal("ValidationException"), "ValidationException: It says so."),
        (EndpointConnectionError(endpoint_url="x"), "Could not connect"),
        (NoCredentialsError(), "Unable to locate credentials"),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["describe_table", "batch_get_item"])
async def test_what_refuses_is_told(error, text, method):
    make(["pk", "sk"])

    def fault(number, called, call):
        if called == method:
            raise error
        return call()

    said = await refused(Faulty(fault))

    assert said.startswith(f"table {TABLE} cannot be used")
    assert text in said


def test_without_boto3_it_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)

    with pytest.raises(StoreError, match=r"needs boto3: pip install 'xingqiao\[aws\]', or in a"):
        connected(1)


def test_without_a_region_it_is_told_how_to_set_one(monkeypatch, tmp_path):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))

    with pytest.raises(StoreError, match="needs a region: set AWS_REGION"):
        connected(1)

    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        with monkeypatch.context() as setting:
            setting.setenv(name, "ap-east-1")
            assert connected(1).meta.region_name == "ap-east-1"


def test_a_region_that_is_none_is_told(monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "no region")

    with pytest.raises(StoreError, match="the DynamoDB store cannot be used"):
        connected(1)


def test_a_profile_that_is_not_there_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(StoreError, match="nobody"):
        connected(1)
