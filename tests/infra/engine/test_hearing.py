"""CloudEvents: accepted once, matched in order, nothing lost or done twice over a crash."""

from __future__ import annotations

import asyncio

import anyio.lowlevel
import pytest

from tests.kit.actions.things import StandingClock
from tests.kit.engine.cloudevents import (
    event,
    kept,
    named,
    received,
    send,
    trigger,
)
from tests.kit.engine.engines import CODE, GUEST, DyingStore, begun, world
from tests.kit.engine.faulty import FaultyStore
from tests.kit.engine.restarts import restarted
from xingqiao.actions import (
    Action,
    ActivationRow,
    InDoubtError,
    InvalidError,
    NotFoundError,
    Query,
    Quotas,
    ThrottledError,
    TooLargeError,
    Trigger,
    UnavailableError,
)
from xingqiao.infra.engine import EngineSettings, EventBounds, Pacing
from xingqiao.infra.engine.pending_events import size_of
from xingqiao.infra.stores import MemoryStore, SqliteStore

ANSWERS = {"work": {}, "other": {}}


@pytest.fixture
async def made():
    async with world(answers=ANSWERS) as made:
        await made.put(work=None, other=None)
        yield made


async def bounded(**bounds):
    made = await begun(answers=ANSWERS, settings=EngineSettings(events=EventBounds(**bounds)))
    await made.put(work=None)
    return made


async def paused(store=None, **how):
    """A world that accepts CloudEvents, and matches none before it begins."""
    made = await begun(store, ANSWERS, paused=True, **how)
    await made.put(work=None, other=None)
    return made


async def letters(made):
    await made.settle()
    return made.engine.letters.list(GUEST)


# --- who hears --------------------------------------------------------------------------------


async def test_a_cloudevent_fires_the_triggers_that_it_fits(made):
    await trigger(made, "placed", parameters=[{"key": "n", "value": 1}])
    await trigger(made, "paid", "order.paid", rules=["other"])

    accepted = await made.engine.events.accept(GUEST, [event(data={"total": 7})])
    await made.engine.events.settled(GUEST, accepted.keys)
    await made.settle()

    assert (accepted.accepted, accepted.duplicates, accepted.conflicts) == (1, 0, 0)
    [invocation] = made.hands.invoked
    assert invocation.action.name == named("work")
    assert invocation.params == {"n": 1, "total": 7, "__ow_event": event().attributes}
    assert await kept(made, "cloudevent") == {}


async def test_each_trigger_has_an_activation_and_each_rule_an_invocation(made):
    await trigger(made, "b", rules=["work", "other"])
    await trigger(made, "a")

    [key] = await send(made, event())

    found = await made.engine.events.get(GUEST, key)
    assert [each["trigger"] for each in found["fired"]] == ["/guest/a", "/guest/b"]
    for each in found["fired"]:
        record = await made.engine.records.activation(GUEST, each["activationId"])
        assert f"/{GUEST}/{record['name']}" == each["trigger"]
    await made.settle()
    assert sorted(made.hands.names) == ["other", "work", "work"]
    rows = await made.store.find(ActivationRow, Query(namespace=GUEST, limit=100))
    assert len(rows) == 5


async def test_it_tells_what_became_of_it(made):
    await trigger(made, "placed")

    [key] = await send(made, event())

    found = await made.engine.events.get(GUEST, key)
    [fired] = found.pop("fired")
    assert found == {"key": key, "state": "fired", "seen": made.clock.ms, "refused": []}
    assert fired["trigger"] == "/guest/placed"


async def test_one_that_nobody_wants_is_unclaimed(made):
    await trigger(made, "paid", "order.paid")
    await trigger(made, "rung", None)
    await trigger(made, "unruled", rules=[])

    [key] = await send(made, event())

    found = await made.engine.events.get(GUEST, key)
    assert (found["state"], found["fired"]) == ("unclaimed", [])
    assert made.engine.counters.events_unclaimed == 1
    assert made.engine.counters.events_matched == 0


async def test_an_inactive_rule_is_left_out(made):
    await trigger(made, "placed", rules=["work", "other"])
    await made.engine.registry.set_status(named("placed-work"), "inactive")

    await send(made, event())
    await made.settle()

    assert made.hands.names == ["other"]


async def test_a_trigger_hears_from_its_change_on(made):
    await trigger(made, "placed", "order.paid")
    await send(made, event("1"))
    await made.engine.registry.put(
        Trigger, named("placed"), {"filter": {"prefix": {"type": "order."}}}, overwrite=True
    )
    await send(made, event("2"))
    await made.engine.registry.put(Trigger, named("placed"), {"filter": None}, overwrite=True)
    await send(made, event("3"))
    await made.settle()

    assert received(made) == ["2"]


async def test_another_namespace_hears_nothing(made):
    await trigger(made, "placed")

    accepted = await made.engine.events.accept("other", [event()])
    await made.engine.events.settled("other", accepted.keys)
    await made.settle()

    assert made.hands.invoked == []
    assert (await made.engine.events.get("other", accepted.keys[0]))["state"] == "unclaimed"
    with pytest.raises(NotFoundError):
        await made.engine.events.get(GUEST, accepted.keys[0])


# --- addressed --------------------------------------------------------------------------------


async def test_one_that_is_addressed_fires_that_trigger_whatever_its_filter(made):
    await trigger(made, "rung", None)
    await trigger(made, "paid", "order.paid", rules=["other"])
    await trigger(made, "placed", rules=["other"])

    for name in ("rung", "paid"):
        await send(made, event(), trigger=named(name))
        again = await made.engine.events.accept(GUEST, [event()], trigger=named(name))
        assert (again.accepted, again.duplicates) == (0, 1)
    await made.settle()

    assert sorted(made.hands.names) == ["other", "work"]
    assert (await made.engine.events.accept(GUEST, [event()])).accepted == 1


async def test_there_must_be_the_trigger_that_it_is_addressed_to(made):
    with pytest.raises(NotFoundError):
        await made.engine.events.accept(GUEST, [event()], trigger=named("none"))

    assert await kept(made, "heard") == {}


# --- twice ------------------------------------------------------------------------------------


async def test_a_second_delivery_is_a_duplicate_and_fires_nothing(made):
    await trigger(made, "placed")
    keys = await send(made, event("1"))

    for _ in range(2):
        again = await made.engine.events.accept(GUEST, [event("1"), event("2")])
        await made.engine.events.settled(GUEST, again.keys)
        await made.settle()

    assert again.keys == (*keys, again.keys[1])
    assert (again.accepted, again.duplicates, again.conflicts) == (0, 2, 0)
    assert received(made) == ["1", "2"]
    assert made.engine.counters.events_accepted == 2
    assert made.engine.counters.events_duplicates == 3


async def test_two_of_one_key_in_a_batch_are_one_and_a_duplicate(made):
    await trigger(made, "placed")

    accepted = await made.engine.events.accept(GUEST, [event("1"), event("2"), event("1")])
    await made.settle()

    assert (accepted.accepted, accepted.duplicates, accepted.conflicts) == (2, 1, 0)
    assert accepted.keys[0] == accepted.keys[2]
    assert received(made) == ["1", "2"]


async def test_deliveries_at_the_same_time_are_one_and_duplicates(made):
    await trigger(made, "placed")

    found = await asyncio.gather(
        *(made.engine.events.accept(GUEST, [event("1")]) for _ in range(5))
    )
    await made.settle()

    assert sorted(each.accepted for each in found) == [0, 0, 0, 0, 1]
    assert sum(each.duplicates for each in found) == 4
    assert received(made) == ["1"]


@pytest.mark.parametrize("matched", [True, False])
async def test_another_content_under_a_known_key_is_a_conflict_and_not_taken(matched):
    made = await begun(answers=ANSWERS) if matched else await paused()
    await made.put(work=None)
    await trigger(made, "placed")
    await made.engine.events.accept(GUEST, [event("1", data=1)])
    if matched:
        await made.settle()

    again = await made.engine.events.accept(
        GUEST, [event("1", data=2), event("1", data=1), event("2")]
    )
    made.begin()
    await made.settle()

    assert (again.accepted, again.duplicates, again.conflicts) == (1, 1, 1)
    assert received(made) == ["1", "2"]
    assert made.hands.invoked[0].params["value"] == 1
    assert made.engine.counters.events_conflicts == 1
    await made.kill()


async def test_a_delivery_with_a_trace_of_its_own_is_a_duplicate(made):
    await made.engine.events.accept(GUEST, [event("1", traceparent="00-1")])

    again = await made.engine.events.accept(GUEST, [event("1", traceparent="00-2")])

    assert (again.duplicates, again.conflicts) == (1, 0)


async def test_within_the_horizon_a_duplicate_is_known_and_after_it_is_not(made):
    await trigger(made, "placed")
    await send(made, event("1"))
    seen_ms = made.clock.ms

    assert await made.engine.events.forget("", 10, seen_ms) == ""
    await made.settle()
    assert (await made.engine.events.accept(GUEST, [event("1")])).duplicates == 1

    assert await made.engine.events.forget("", 10, seen_ms + 1) == ""
    await made.settle()
    assert await kept(made, "heard") == {}
    assert (await made.engine.events.accept(GUEST, [event("1")])).accepted == 1


async def test_markers_are_forgotten_page_by_page(made):
    await send(made, *(event(n) for n in range(25)))

    last = await made.engine.events.forget("", 10, made.clock.ms)
    assert last == sorted(await kept(made, "heard"))[9]
    assert await made.engine.events.forget("", 10, made.clock.ms + 1) == ""
    await made.settle()

    assert await kept(made, "heard") == {}


async def test_one_that_is_pending_is_not_forgotten():
    made = await paused()
    await made.engine.events.accept(GUEST, [event("1")])

    await made.engine.events.forget("", 10, made.clock.ms + 1)
    await made.engine._tick.settled()

    assert (await made.engine.events.accept(GUEST, [event("1")])).duplicates == 1
    await made.kill()


# --- order ------------------------------------------------------------------------------------


async def test_they_are_matched_in_the_order_in_which_they_are_accepted(made):
    await trigger(made, "placed")

    for batch in range(3):
        await made.engine.events.accept(GUEST, [event(f"{batch}.{n}") for n in range(40)])
    await made.settle()

    assert received(made) == [f"{batch}.{n}" for batch in range(3) for n in range(40)]


async def test_namespaces_take_turns():
    made = await paused()
    await made.engine.registry.put(Action, named("work", "other"), CODE, overwrite=False)
    for namespace in (GUEST, "other"):
        await trigger(made, "placed", namespace=namespace)
    await made.engine.events.accept(GUEST, [event(n) for n in range(30)])
    await made.engine.events.accept("other", [event(n) for n in range(3)])

    made.begin()
    await made.settle()

    order = [invocation.namespace for invocation in made.hands.invoked]
    assert order[:6] == [GUEST, "other"] * 3
    assert order[6:] == [GUEST] * 27
    await made.kill()


# --- bounds -----------------------------------------------------------------------------------


async def test_a_batch_may_have_so_many():
    made = await bounded(batch=3)

    assert (await made.engine.events.accept(GUEST, [event(n) for n in range(3)])).accepted == 3
    with pytest.raises(TooLargeError, match="A batch may have 3 CloudEvents, not 4"):
        await made.engine.events.accept(GUEST, [event(n) for n in range(3, 7)])
    assert len(await kept(made, "heard")) == 3
    assert (await made.engine.events.accept(GUEST, [])).keys == ()
    await made.kill()


async def test_one_and_a_batch_may_be_so_large():
    size = size_of(event("1", data="x" * 100))
    made = await bounded(event_bytes=size, batch_bytes=2 * size)

    fits = [event(n, data="x" * 100) for n in range(2)]
    assert (await made.engine.events.accept(GUEST, fits)).accepted == 2
    with pytest.raises(TooLargeError, match="CloudEvent 1 is larger than allowed"):
        await made.engine.events.accept(GUEST, [event("5"), event("6", data="x" * 101)])
    with pytest.raises(TooLargeError, match="The batch is larger than allowed"):
        await made.engine.events.accept(GUEST, [*fits, event("7")])
    assert len(await kept(made, "heard")) == 2
    await made.kill()


async def test_others_have_their_turns_while_a_large_batch_is_read(made):
    batch, turns = [event(n) for n in range(500)], 0
    accepting = asyncio.ensure_future(made.engine.events.accept(GUEST, batch))
    while not made.engine.events._pending.held(GUEST):
        await anyio.lowlevel.checkpoint()
        turns += 1

    assert turns > 5
    assert (await accepting).accepted == 500


async def test_what_is_not_json_is_refused(made):
    with pytest.raises(InvalidError, match="CloudEvent 1 is not JSON"):
        await made.engine.events.accept(GUEST, [event("1"), event("2", data={1})])

    assert await kept(made, "heard") == {}


async def test_so_many_may_wait_and_there_is_room_again_when_they_are_matched():
    made = await paused(settings=EngineSettings(events=EventBounds(pending=3, all_pending=4)))
    await made.engine.events.accept(GUEST, [event(n) for n in range(3)])

    with pytest.raises(ThrottledError, match="Send these again later"):
        await made.engine.events.accept(GUEST, [event("9")])
    with pytest.raises(ThrottledError):
        await made.engine.events.accept("other", [event("8"), event("9")])
    assert (await made.engine.events.accept("other", [event("8")])).accepted == 1
    assert made.engine.counters.events_refused == 3
    made.begin()
    await made.settle()

    again = await made.engine.events.accept(GUEST, [event(n) for n in range(8, 11)])
    assert again.accepted == 3
    await made.kill()


async def test_duplicates_give_their_room_back():
    made = await paused(settings=EngineSettings(events=EventBounds(pending=2)))
    await made.engine.events.accept(GUEST, [event("1")])

    for _ in range(3):
        assert (await made.engine.events.accept(GUEST, [event("1")])).duplicates == 1
    assert (await made.engine.events.accept(GUEST, [event("2")])).accepted == 1
    await made.kill()


async def test_a_sender_who_leaves_takes_no_room_away_from_the_bounds():
    store = DyingStore(MemoryStore(), 0)
    made = await begun(store, settings=EngineSettings(events=EventBounds(pending=1)))
    store.armed = True
    sending = asyncio.ensure_future(made.engine.events.accept(GUEST, [event("1")]))
    await store.dead.wait()
    sending.cancel()
    await asyncio.wait([sending])

    refused = asyncio.ensure_future(made.engine.events.accept(GUEST, [event("2")]))
    for _ in range(5):
        await anyio.lowlevel.checkpoint()

    assert refused.done()
    assert isinstance(refused.exception(), ThrottledError)
    await made.kill()


# --- dead letters -----------------------------------------------------------------------------


async def test_a_trigger_that_is_gone_meanwhile_is_a_dead_letter():
    made = await paused()
    await trigger(made, "rung", None, rules=[])
    accepted = await made.engine.events.accept(GUEST, [event()], trigger=named("rung"))
    await made.engine.registry.remove(Trigger, named("rung"))

    made.begin()
    [letter] = await letters(made)

    assert (letter["kind"], letter["target"]) == ("cloudevent", "/guest/rung")
    assert (letter["code"], letter["mayHaveRun"]) == ("Unavailable", "no")
    found = await made.engine.events.get(GUEST, accepted.keys[0])
    assert (found["state"], found["fired"]) == ("refused", [])
    assert found["refused"] == [{"trigger": "/guest/rung", "error": letter["message"]}]
    with pytest.raises(NotFoundError):
        await made.engine.letters.retry(GUEST, letter["id"])
    assert await letters(made) == [letter]
    await made.kill()


async def test_a_payload_that_is_too_large_with_the_parameters_is_a_dead_letter():
    settings = EngineSettings(quotas=lambda _: Quotas(payload_bytes=400))
    async with world(answers=ANSWERS, settings=settings) as made:
        await made.put(work=None, other=None)
        await trigger(made, "small")
        await trigger(made, "big", rules=["other"], parameters=[{"key": "n", "value": "x" * 300}])

        [key] = await send(made, event(data={"to": "x" * 50}))
        [letter] = await letters(made)

        assert letter["target"] == "/guest/big"
        assert "Request larger than allowed" in letter["message"]
        assert made.hands.names == ["work"]
        whole = await made.engine.letters.get(GUEST, letter["id"])
        assert whole["params"] == event(data={"to": "x" * 50}).to_json()
        found = await made.engine.events.get(GUEST, key)
        assert (found["state"], len(found["fired"]), len(found["refused"])) == ("fired", 1, 1)


async def test_a_fire_over_its_limit_is_a_dead_letter_and_is_retried_to_that_trigger_only():
    clock, settings = StandingClock(), EngineSettings(quotas=lambda _: Quotas(fires_per_minute=1))
    async with world(answers=ANSWERS, clock=clock, settings=settings) as made:
        await made.put(work=None, other=None)
        await trigger(made, "a")
        await trigger(made, "b", rules=["other"])
        await send(made, event(data={"n": 1}))
        [letter] = await letters(made)
        assert (letter["target"], letter["attempts"]) == ("/guest/b", 1)
        assert made.hands.names == ["work"]
        with pytest.raises(ThrottledError):
            await made.engine.letters.retry(GUEST, letter["id"])
        assert await letters(made) == [letter]

        clock.ms += 60_000
        activation = await made.engine.letters.retry(GUEST, letter["id"])
        with pytest.raises(NotFoundError):
            await made.engine.letters.retry(GUEST, letter["id"])

        assert await letters(made) == []
        assert made.hands.names == ["work", "other"]
        assert made.hands.invoked[1].params == made.hands.invoked[0].params
        assert (await made.engine.records.activation(GUEST, activation))["name"] == "b"


@pytest.mark.parametrize(("hops", "loops"), [(32, False), (33, True), ("33", False), (None, False)])
async def test_a_cloudevent_of_a_long_chain_is_a_dead_letter(made, hops, loops):
    await trigger(made, "placed")

    [key] = await send(made, event() if hops is None else event(xqhops=hops))
    found = await letters(made)

    expected = [("EventLoop", "no")] * loops
    assert [(letter["code"], letter["mayHaveRun"]) for letter in found] == expected
    assert len(made.hands.invoked) == (not loops)
    assert (await made.engine.events.get(GUEST, key))["state"] == ("refused" if loops else "fired")


async def test_a_rule_that_cannot_begin_is_a_dead_letter_of_its_own(made):
    await trigger(made, "placed", rules=["work", "other"])
    await made.engine.registry.remove(Action, named("other"))

    [key] = await send(made, event())
    [letter] = await letters(made)

    assert (letter["kind"], letter["target"]) == ("trigger", "/guest/other")
    assert letter["rule"] == "/guest/placed-other"
    assert (await made.engine.events.get(GUEST, key))["state"] == "fired"
    assert made.hands.names == ["work"]


# --- emitted ----------------------------------------------------------------------------------


async def test_one_that_is_emitted_is_heard_after_the_commit_that_it_gathers_in(made):
    await trigger(made, "placed")

    made.engine.events.emitted(GUEST, event("1"))
    assert made.hands.invoked == []
    await made.settle()

    assert received(made) == ["1"]
    assert (await made.engine.events.get(GUEST, event("1").key))["state"] == "fired"
    assert made.engine.counters.events_accepted == 1


async def test_one_that_is_emitted_finds_room_where_there_is_none():
    made = await bounded(pending=0)
    await trigger(made, "placed")

    made.engine.events.emitted(GUEST, event("1"))
    await made.settle()

    assert received(made) == ["1"]
    await made.kill()


async def test_one_that_is_emitted_in_what_is_withdrawn_is_not_heard(made):
    await trigger(made, "placed")

    def begins_and_fails():
        with made.engine._tick.apart():
            made.engine.events.emitted(GUEST, event("1"))
            raise LookupError

    with pytest.raises(LookupError):
        begins_and_fails()
    await made.settle()

    assert received(made) == []
    assert await kept(made, "heard") == {}


# --- waiting ----------------------------------------------------------------------------------


async def test_who_waits_for_effects_has_them_in_the_store(made):
    await trigger(made, "placed")
    keys = [(await made.engine.events.accept(GUEST, [event(n)])).keys[0] for n in range(20)]

    await made.engine.events.settled(GUEST, [*keys, "unknown"])

    states = {(await made.engine.events.get(GUEST, key))["state"] for key in keys}
    assert states == {"fired"}
    assert await kept(made, "cloudevent") == {}


async def test_who_waits_for_effects_hears_that_the_server_stops():
    made = await paused()
    accepted = await made.engine.events.accept(GUEST, [event()])
    waiting = asyncio.ensure_future(made.engine.events.settled(GUEST, accepted.keys))
    await made.until(lambda: made.engine.events._pending.find(GUEST, accepted.keys[0]).waiting)

    made.engine.events.stop()

    with pytest.raises(UnavailableError, match="closed"):
        await waiting
    with pytest.raises(UnavailableError, match="closed"):
        await made.engine.events.settled(GUEST, accepted.keys)
    await made.kill()


async def test_who_does_not_wait_any_more_keeps_nobody_from_anything():
    made = await paused()
    await trigger(made, "placed")
    accepted = await made.engine.events.accept(GUEST, [event("1"), event("2")])
    gone, first, stopped = (
        asyncio.ensure_future(made.engine.events.settled(GUEST, [key]))
        for key in (accepted.keys[0], accepted.keys[0], accepted.keys[1])
    )
    find = made.engine.events._pending.find
    await made.until(lambda: all(find(GUEST, key).waiting for key in accepted.keys))
    gone.cancel()
    stopped.cancel()

    made.begin()
    await first
    await made.settle()

    assert received(made) == ["1", "2"]
    await made.kill()


async def test_who_gave_up_waiting_is_not_told_of_the_stop():
    made = await paused()
    accepted = await made.engine.events.accept(GUEST, [event()])
    waiting = asyncio.ensure_future(made.engine.events.settled(GUEST, accepted.keys))
    await made.until(lambda: made.engine.events._pending.find(GUEST, accepted.keys[0]).waiting)
    waiting.cancel()
    await asyncio.wait([waiting])

    made.engine.events.stop()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    await made.kill()


async def test_gauges_tell_how_many_wait_and_for_how_long():
    made = await paused()
    await made.engine.events.accept(GUEST, [event("1")])
    made.clock.ms += 7_000
    await made.engine.events.accept("other", [event("1"), event("2")])

    gauges = made.engine.gauges()
    assert (gauges["cloudevents_pending"], gauges["cloudevents_pending_longest_s"]) == (3, 7)
    made.begin()
    await made.settle()

    gauges = made.engine.gauges()
    assert (gauges["cloudevents_pending"], gauges["cloudevents_pending_longest_s"]) == (0, 0)
    await made.kill()


# --- a namespace goes -------------------------------------------------------------------------


async def test_a_namespace_that_is_removed_leaves_nothing():
    made = await paused()
    await trigger(made, "placed")
    accepted = await made.engine.events.accept(GUEST, [event(n) for n in range(3)])
    await made.engine.events.accept("guest2", [event("1")])
    arriving = asyncio.ensure_future(made.engine.events.accept(GUEST, [event("9", type="x")]))
    waiting = asyncio.ensure_future(made.engine.events.settled(GUEST, accepted.keys))
    await made.until(lambda: made.engine.events._pending.find(GUEST, accepted.keys[0]).waiting)

    made.begin()  # what is cleared is in line by then
    await made.engine.events.clear(GUEST)
    await waiting
    await arriving
    await made.settle()

    assert received(made) == []
    assert {key.partition("/")[0] for key in await kept(made, "heard")} == {"guest2"}
    assert await kept(made, "cloudevent") == {}
    await made.kill()


# --- a store that does not commit -------------------------------------------------------------


async def test_a_store_that_does_not_commit_keeps_nothing_and_takes_no_room():
    store = FaultyStore(MemoryStore(), 0, times=None)
    settings = EngineSettings(
        pacing=Pacing(commit_retry_s=0, commit_deadline_s=0), events=EventBounds(pending=1)
    )
    made = await begun(store, ANSWERS, settings=settings)
    await made.put(work=None)
    await trigger(made, "placed")
    store.armed = True
    with pytest.raises(UnavailableError) as raised:
        await made.engine.events.accept(GUEST, [event("1")])
    assert not isinstance(raised.value, InDoubtError)

    store.room = True
    await made.until(lambda: made.engine.healthy)

    assert await kept(made, "heard") == {}
    assert (await made.engine.events.accept(GUEST, [event("1")])).accepted == 1
    await made.settle()
    assert received(made) == ["1"]
    await made.kill()


@pytest.mark.parametrize("does", ["refuses", "doubts"])
async def test_effects_are_kept_while_the_store_does_not_commit_them(does):
    store = FaultyStore(MemoryStore(), 1, times=2 if does == "refuses" else 1, does=does)
    settings = EngineSettings(pacing=Pacing(commit_retry_s=0.01, commit_deadline_s=0))
    made = await begun(store, ANSWERS, settings=settings)
    await made.put(work=None)
    await trigger(made, "placed")
    store.armed = True
    [key] = (await made.engine.events.accept(GUEST, [event("1")])).keys
    for _ in range(2):  # before and after the engine has noticed it
        with pytest.raises(InDoubtError):
            await made.engine.events.settled(GUEST, [key])

    await made.until(lambda: made.engine.healthy)
    await made.settle()

    assert store.failed == (2 if does == "refuses" else 1)
    assert received(made) == ["1"]
    assert await kept(made, "cloudevent") == {}
    assert (await made.engine.events.get(GUEST, key))["state"] == "fired"
    await made.kill()


async def test_one_in_doubt_is_heard_once_when_the_store_commits():
    store = FaultyStore(MemoryStore(), 0, times=1, does="doubts")
    settings = EngineSettings(pacing=Pacing(commit_retry_s=0.01, commit_deadline_s=0))
    made = await begun(store, ANSWERS, settings=settings)
    await made.put(work=None)
    await trigger(made, "placed")
    store.armed = True
    with pytest.raises(InDoubtError):
        await made.engine.events.accept(GUEST, [event("1")])

    await made.until(lambda: made.engine.healthy)
    again = await made.engine.events.accept(GUEST, [event("1")])
    await made.settle()

    assert again.duplicates == 1
    assert received(made) == ["1"]
    await made.kill()


@pytest.mark.parametrize("withdrawn", [True, False])
async def test_an_internal_error_makes_a_dead_letter_for_each_trigger(made, monkeypatch, withdrawn):
    await trigger(made, "a")
    await trigger(made, "b", rules=["other"])
    firing, gather = made.engine.firing, made.engine.firing.gather

    def broken(name, given):
        if name == named("b"):
            made.engine._tick.gathering.alone = withdrawn  # as it is when an entity has changed
            raise LookupError("a bug")
        return gather(name, given)

    monkeypatch.setattr(firing, "gather", broken)
    [key] = await send(made, event("1"))
    found = await letters(made)

    assert {letter["target"] for letter in found} == {"/guest/a", "/guest/b"}
    assert {(letter["code"], letter["mayHaveRun"]) for letter in found} == {
        ("InternalError", "unknown")
    }
    assert (await made.engine.events.get(GUEST, key))["state"] == "refused"
    assert made.hands.names == ["work"] * (not withdrawn)
    assert await kept(made, "cloudevent") == {}
    monkeypatch.undo()
    for letter in found:
        await made.engine.letters.retry(GUEST, letter["id"])
    await made.settle()
    assert sorted(made.hands.names) == ["other", "work", *["work"] * (not withdrawn)]


# --- crashes ----------------------------------------------------------------------------------


async def test_what_was_pending_is_matched_in_order_at_the_next_start(tmp_path):
    async with SqliteStore(tmp_path) as store:
        made = await paused(store)
        await trigger(made, "placed")
        for batch in (range(5), range(5, 20)):
            await made.engine.events.accept(GUEST, [event(n, data={"n": n}) for n in batch])
        accepted = await made.engine.events.accept(GUEST, [event("x")], trigger=named("placed"))

        again = await restarted(made)
        await again.settle()

        assert received(again) == [*map(str, range(20)), "x"]
        assert again.hands.invoked[7].params["n"] == 7
        assert (await again.engine.events.get(GUEST, accepted.keys[0]))["state"] == "fired"
        assert (await again.engine.events.accept(GUEST, [event(3, data={"n": 3})])).duplicates == 1
        once_more = await restarted(again)
        await once_more.settle()
        assert once_more.hands.invoked == []
        await once_more.kill()


async def test_the_order_holds_when_the_clock_is_set_back_at_a_restart():
    made = await paused()
    await trigger(made, "placed")
    await made.engine.events.accept(GUEST, [event("1"), event("2")])

    await made.kill()
    made.clock.ms -= 3_600_000
    again = await begun(made.store, ANSWERS, clock=made.clock, paused=True)
    await again.engine.events.accept(GUEST, [event("3")])
    last = await restarted(again)
    await last.settle()

    assert received(last) == ["1", "2", "3"]
    await last.kill()


BATCHES = [[event("1"), event("2")], [event("2"), event("3", type="order.paid"), event("1")]]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_whatever_commit_it_dies_at(when):
    """A sender asks again until it hears that a batch is durable. Each CloudEvent fires each trigger once."""
    at, died = 0, True
    while died:
        kept_store = MemoryStore()
        store = DyingStore(kept_store, at, when)
        made = await begun(store, ANSWERS, clock=StandingClock())
        await made.put(work=None, other=None)
        await trigger(made, "a")
        await trigger(made, "b", rules=["work", "other"])
        await trigger(made, "paid", "order.paid", rules=["other"])
        store.armed = True
        sending = asyncio.ensure_future(send_all(made))
        dead = asyncio.ensure_future(store.dead.wait())
        await asyncio.wait((sending, dead), return_when=asyncio.FIRST_COMPLETED)
        died = store.dead.is_set()
        for task in (sending, dead):
            task.cancel()
        await made.kill()
        again = await begun(kept_store, ANSWERS, clock=made.clock)
        await send_all(again)
        await again.settle()
        assert await fires(again) == {
            "1": ["a", "b"], "2": ["a", "b"], "3": ["paid"],
        }  # fmt: skip
        assert await kept(again, "cloudevent") == {}
        names = [row.name for row in await again.activations()]
        assert {name: names.count(name) for name in {*names}} == {
            "a": 2, "b": 2, "paid": 1, "work": 4, "other": 3,
        }  # fmt: skip
        await again.kill()
        at += 1
    assert at >= 4


async def send_all(made):
    for batch in BATCHES:
        await send(made, *batch)


async def fires(made):
    """The triggers that each CloudEvent has fired, by its id, as their activations tell."""
    found = {}
    for row in await made.activations():
        if row.kind == "trigger":
            record = await made.engine.records.activation(GUEST, row.id)
            id = record["response"]["result"]["__ow_event"]["id"]
            found.setdefault(id, []).append(row.name)
    return {id: sorted(names) for id, names in found.items()}


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_dead_letter_is_there_once_whatever_commit_it_dies_at(when):
    at, died = 0, True
    while died:
        kept_store = MemoryStore()
        store = DyingStore(kept_store, at, when)
        made = await begun(store, ANSWERS, clock=StandingClock())
        await trigger(made, "rung", rules=[])
        store.armed = True
        sending = asyncio.ensure_future(send(made, event(xqhops=33)))
        dead = asyncio.ensure_future(store.dead.wait())
        await asyncio.wait((sending, dead), return_when=asyncio.FIRST_COMPLETED)
        died = store.dead.is_set()
        for task in (sending, dead):
            task.cancel()
        await made.kill()
        again = await begun(kept_store, ANSWERS, clock=made.clock)
        await send(again, event(xqhops=33))
        assert [letter["code"] for letter in await letters(again)] == ["EventLoop"]
        await again.kill()
        at += 1
    assert at >= 2
