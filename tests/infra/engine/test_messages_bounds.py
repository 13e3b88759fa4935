"""Bounds on what an execution is told: in bytes, in depth, and in what stays in memory or in the store."""

from __future__ import annotations

import asyncio

import anyio.lowlevel
import pytest

from tests.kit.engine.engines import HELD, begun, world
from tests.kit.engine.mail import GUEST, kinds, stored, tell, undelivered
from xingqiao import composer
from xingqiao.actions import InvalidError, TooLargeError, TooManyMessagesError
from xingqiao.composer import (
    MAX_INBOX_BYTES,
    MAX_MESSAGE_BYTES,
    Execution,
    Limits,
    any_of,
    path,
    receive,
)
from xingqiao.infra.engine import EngineSettings
from xingqiao.infra.engine.live import LiveExecution
from xingqiao.infra.engine.messages import checked_size
from xingqiao.infra.engine.resets import Place
from xingqiao.infra.stores import MemoryStore

GO = receive("go")
LONG = "n" * 200
ANSWERS = {"a": HELD, "b": {"b": 1}}


LEAVES = pytest.mark.parametrize("made", [0], indirect=True)


@pytest.fixture(params=[0, 2_000], ids=["leaving", "staying"])
async def made(request):
    """Executions that wait leave memory at once, or stay for a while when they were told something."""
    async with world(answers=ANSWERS, settings=EngineSettings(dormant=request.param)) as made:
        await made.put(
            a=None,
            b=None,
            main=GO,
            later=composer.sequence("a", GO, GO),
            reject=receive(any_of("go", "no")),
            kept=composer.sequence("a", GO, "a"),
            teller=composer.tell(path("$.to"), LONG, path("$.text")),
        )
        yield made


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


# --- bytes of an inbox ----------------------------------------------------------------------------


async def filled(made, name, left):
    """An execution that may be told `left` bytes more."""
    id = await made.start(name)
    part = 1 << 19
    for _ in range(MAX_INBOX_BYTES // part - 1):
        await tell(made, id, "x", "x" * (part - 2))
    await tell(made, id, "x", "x" * (part - 2 - left))
    return id


@LEAVES
@pytest.mark.parametrize("again", [False, True])
async def test_an_inbox_is_full_at_so_many_bytes_and_not_before(made, again):
    id = await filled(made, "main", 10)
    if again:
        await made.settle()
        assert id not in made.engine._parts.runs  # its size is known again when it comes back

    with pytest.raises(TooManyMessagesError, match=r"32 messages .* 16777206 bytes together"):
        await tell(made, id, "x", "x" * 9)
    await tell(made, id, "x", "x" * 8)
    with pytest.raises(TooManyMessagesError):
        await tell(made, id, "x", 1)
    await tell(made, id, "go", {"heard": "at once"})

    assert await made.result(id) == {"heard": "at once"}


async def test_bytes_are_counted_not_characters(made):
    id = await filled(made, "main", 10)

    with pytest.raises(TooManyMessagesError):
        await tell(made, id, "x", "é" * 5)
    assert await tell(made, id, "x", "é" * 4)


async def test_there_is_room_again_when_messages_were_received(made):
    id = await made.start("kept")
    await made.until(lambda: made.hands.invoked)
    for _ in range(32):
        await tell(made, id, "go", "x" * ((1 << 19) - 2))
    with pytest.raises(TooManyMessagesError):
        await tell(made, id, "go", 1)

    made.hands.finish(made.hands.invoked[0].activation, {})
    await made.until(lambda: len(made.hands.invoked) == 2)

    assert await tell(made, id, "go", 1)


async def test_a_step_that_tells_a_full_inbox_fails(made):
    id = await filled(made, "main", 10)

    answer = await made.record(await made.start("teller", {"to": id, "text": "x" * 100}))

    assert answer["response"]["result"]["error"]["code"] == "TooManyMessages"


async def test_a_reset_tells_again_what_was_accepted_however_much_it_is(made, monkeypatch):
    monkeypatch.setattr("xingqiao.composer.machine.listening.MAX_INBOX_BYTES", 4)
    id = await made.start("later")
    await made.until(lambda: made.hands.invoked)
    made.hands.finish(made.hands.invoked[0].activation, {})
    await made.settle()
    for n in range(2):
        await tell(made, id, "go", f"x{n}")  # 4 bytes each
    await made.result(id)

    run = await made.engine.resets.reset(GUEST, id, Place(to="first"))

    await made.until(lambda: len(made.hands.invoked) == 2)
    assert await undelivered(made, run) == ["x0", "x1"]
    with pytest.raises(TooManyMessagesError):
        await tell(made, run, "go", 1)


@LEAVES
async def test_pages_are_the_same_in_memory_and_in_the_store(made):
    resting, live = await made.start("main"), await made.start("later")
    for id in (resting, live):
        for n in range(5):
            await tell(made, id, "x", n)
    await made.settle()
    parts = made.engine._parts
    assert (resting in parts.runs, live in parts.runs) == (False, True)

    for id in (resting, live):
        first = await made.engine.messages.undelivered(GUEST, id, 0, 2)
        rest = await made.engine.messages.undelivered(GUEST, id, first[-1]["seq"], 9)
        assert [one["payload"] for one in (*first, *rest)] == [*range(5)]


# --- a message that its receiver could not have -----------------------------------------------------


@pytest.mark.parametrize("name", ["main", "reject"])
async def test_the_largest_message_that_is_accepted_is_received(made, name):
    low, high = 1 << 19, 1 << 20  # accepted, refused
    while high - low > 1:
        middle = (low + high) // 2
        try:
            checked_size("go", "x" * middle, 1 << 20)
            low = middle
        except TooLargeError:
            high = middle
    id = await made.start(name)

    with pytest.raises(TooLargeError, match=r"larger value than allowed where it is received"):
        await tell(made, id, "go", "x" * high)
    await tell(made, id, "go", "x" * low)

    assert (await made.record(id))["response"]["success"]


async def test_the_deepest_message_that_is_accepted_is_received(made):
    id = await made.start("main")

    for depth in (201, 240, 253, 300):
        with pytest.raises(InvalidError, match="malformed: it nests deeper than 200 levels"):
            await tell(made, id, "go", nested(depth))
    await tell(made, id, "go", nested(200))

    assert (await made.record(id))["response"]["success"]


async def test_a_server_with_small_values_accepts_small_messages():
    made = await begun(
        MemoryStore(), ANSWERS, settings=EngineSettings(limits=Limits(value_bytes=1000))
    )
    await made.put(a=None, main=GO)
    id = await made.start("main")

    with pytest.raises(TooLargeError):
        await tell(made, id, "go", "x" * 1000)
    await tell(made, id, "go", "x" * 900)

    assert await made.result(id) == {"value": "x" * 900}
    await made.kill()


@pytest.mark.parametrize("value", ["\ud800", float("nan"), {1: 2}, object()])
def test_what_is_not_json_is_refused(value):
    with pytest.raises(InvalidError, match="payload of a message is malformed"):
        checked_size("go", value, 1 << 20)


def test_bytes_are_bounded_whatever_the_characters():
    with pytest.raises(TooLargeError, match=f"> {MAX_MESSAGE_BYTES} bytes"):
        checked_size("go", "é" * (MAX_MESSAGE_BYTES // 2), 1 << 30)


async def test_a_step_that_tells_too_much_fails_and_not_the_receiver(made):
    id = await made.start("main")
    text = "x" * ((1 << 20) - 100)  # a value, and none with the name of a message around it

    answer = await made.record(await made.start("teller", {"to": id, "text": text}))

    assert answer["response"]["result"]["error"]["code"] == "PayloadTooLarge"
    assert await undelivered(made, id) == []


# --- an execution that is broken --------------------------------------------------------------------


@pytest.mark.parametrize("heard", [False, True])
async def test_one_that_ends_by_a_mistake_of_ours_leaves_no_messages(made, monkeypatch, heard):
    id = await made.start("later")
    await made.until(lambda: made.hands.invoked)
    for n in range(3):
        await tell(made, id, "go", n)
    assert len(await stored(made, "message")) == 3

    def broken(self, *arguments):
        if heard:
            self.inbox.take([self.inbox.first("go")])
        raise RuntimeError

    monkeypatch.setattr(Execution, "deliver", broken)
    made.hands.finish(made.hands.invoked[0].activation, {})

    answer = await made.record(id)
    assert answer["response"]["result"]["error"]["code"] == "InternalError"
    assert await stored(made, "message") == []
    assert (await kinds(made, id))[-2:] == ["MessageDropped", "ExecutionFailed"]


async def test_one_whose_changes_cannot_be_written_leaves_no_messages(made, monkeypatch):
    id = await made.start("later")
    await made.until(lambda: made.hands.invoked)
    await tell(made, id, "go", 1)
    write, tries = LiveExecution.write, []

    def once(self, *arguments):
        tries.append(self)
        if len(tries) == 1:
            raise RuntimeError
        write(self, *arguments)

    monkeypatch.setattr(LiveExecution, "write", once)
    made.hands.finish(made.hands.invoked[0].activation, {})

    assert not (await made.record(id))["response"]["success"]
    assert await stored(made, "message") == []


async def test_one_that_was_told_nothing_ends_as_before(made, monkeypatch):
    id = await made.start("later")
    await made.until(lambda: made.hands.invoked)
    monkeypatch.setattr(Execution, "deliver", None)

    made.hands.finish(made.hands.invoked[0].activation, {})

    await made.record(id)
    assert "MessageDropped" not in await kinds(made, id)


# --- ids --------------------------------------------------------------------------------------------


async def test_ids_are_forgotten_when_the_store_knows_them(made):
    id = await made.start("later")  # it stays in memory: a step is under way
    await made.until(lambda: made.hands.invoked)
    run = made.engine._parts.runs[id]

    for n in range(20):
        assert await tell(made, id, "x", n, message=f"m{n}")
    await made.settle()

    assert made.engine._parts.runs[id] is run
    assert run.execution.inbox.ids == set()
    for n in range(20):
        assert not await tell(made, id, "x", n, message=f"m{n}")


async def test_an_id_is_taken_once_however_slow_the_store_is(made, monkeypatch):
    """One looks into the store before a message is durable, and goes on after its id is forgotten."""
    id = await made.start("later")
    await made.until(lambda: made.hands.invoked)
    documents, slow = made.store.documents, [asyncio.Event()]

    async def looked(kind, *arguments, **options):
        found = [document async for document in documents(kind, *arguments, **options)]
        if kind == "told" and slow:
            await slow.pop().wait()
        for document in found:
            yield document

    late = slow[0]
    monkeypatch.setattr(made.store, "documents", looked)
    first = asyncio.ensure_future(tell(made, id, "x", 1, message="m"))
    while slow:
        await anyio.lowlevel.checkpoint()
    second = asyncio.ensure_future(tell(made, id, "x", 2, message="m"))
    for _ in range(100):
        await anyio.lowlevel.checkpoint()
    late.set()

    assert sorted([await first, await second]) == [False, True]
    assert len(await undelivered(made, id)) == 1
