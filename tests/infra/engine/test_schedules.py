"""Schedules as an engine keeps them: what they start, what they hear, and what a crash leaves of it."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import GUEST, HELD, DyingStore, begun
from tests.kit.engine.faulty import FaultyStore
from tests.kit.engine.restarts import restarted
from tests.kit.engine.scheduling import (
    EACH_MINUTE,
    MINUTE,
    QUICK,
    described,
    done,
    ended,
    furnished,
    met,
    params,
)
from xingqiao.actions import (
    ConflictError,
    InDoubtError,
    InvalidError,
    NotFoundError,
    Quotas,
    ThrottledError,
    UnavailableError,
)
from xingqiao.composer import Failure, ensure, sequence
from xingqiao.infra.engine import EngineSettings, Pacing, schedules
from xingqiao.infra.stores import MemoryStore


async def test_a_time_starts_a_run_with_its_input_and_the_next_run_has_its_result():
    made = await furnished()
    first = described(made)
    assert first["next"][0] % MINUTE == 0
    made.clock.ms += MINUTE
    await ended(made, 1)
    made.clock.ms += MINUTE
    await ended(made, 2)

    shown = described(made)
    assert params(made) == [{"n": 1}, {"n": 1, "__ow_last_result": {"fine": True}}]
    assert [run["status"] for run in shown["last"]] == ["succeeded", "succeeded"]
    assert shown["last"][0]["at"] == first["next"][0]
    assert shown["last"][0]["id"].startswith("s-20")
    assert shown["last"][0]["id"].endswith("Z")
    assert shown["next"][0] == first["next"][2]
    assert (shown["status"], shown["open"], shown["missed"], shown["skipped"]) == (
        "active",
        0,
        0,
        0,
    )
    await made.kill()


async def test_a_composition_is_a_run_too():
    made = await furnished()
    await made.put(c=sequence("a", "a"))
    await made.engine.schedules.put(
        GUEST, "c", {**EACH_MINUTE, "do": {"action": "c", "input": {"n": 2}}}
    )
    made.clock.ms += MINUTE
    await ended(made, 1, "c")

    run = described(made, "c")["last"][0]
    assert run["status"] == "succeeded"
    assert await made.result(run["activationId"]) == {"fine": True}
    await made.kill()


async def test_while_a_run_is_open_times_are_skipped_or_wait():
    made = await furnished(answers={"a": HELD})
    await made.engine.schedules.put(GUEST, "b", {**EACH_MINUTE, "overlap": "buffer_one"})
    made.clock.ms += MINUTE
    await made.until(lambda: len(made.hands.done) == 2)
    made.clock.ms += 2 * MINUTE
    await made.until(lambda: described(made, "b")["skipped"] == 1)
    await made.until(lambda: described(made)["skipped"] == 2)
    assert (described(made)["buffered"], described(made, "b")["buffered"]) == (0, 1)

    for activation in [*made.hands.done]:
        made.hands.finish(activation, {"fine": True})
    await ended(made, 1)
    await ended(made, 1, "b")
    await met(made, 2, "b")
    assert (described(made)["open"], described(made, "b")["open"]) == (0, 1)
    await made.kill()


@pytest.mark.parametrize("overlap", ["cancel_other", "terminate_other"])
async def test_a_time_stops_the_open_run_and_starts_when_that_has_ended(overlap):
    made = await furnished(answers={"a": HELD}, overlap=overlap)
    made.clock.ms += MINUTE
    await met(made, 1)
    await made.until(lambda: made.hands.done)
    made.clock.ms += MINUTE
    await ended(made, 1)
    await met(made, 2)

    assert [run["status"] for run in described(made)["last"]] == ["cancelled", "running"]
    await made.kill()


async def test_a_run_that_fails_pauses_the_schedule_where_that_is_asked_for():
    made = await furnished(answers={"a": Failure("Broken", "broken")}, pause_on_failure=True)
    made.clock.ms += MINUTE
    await ended(made, 1)
    shown = described(made)
    made.clock.ms += 5 * MINUTE

    assert (shown["status"], shown["last"][0]["status"]) == ("paused", "failed")
    assert "has failed: Broken: broken" in shown["why"]
    resumed = await made.engine.schedules.resume(GUEST, "s")
    assert (resumed["status"], resumed["missed"], len(resumed["last"])) == ("active", 0, 1)
    made.clock.ms += MINUTE
    await ended(made, 2)
    failure = made.hands.invoked[1].params["__ow_last_failure"]
    assert failure == {"code": "Broken", "error": "broken"}
    await made.kill()


async def test_a_paused_schedule_can_be_triggered_and_filled_back():
    made = await furnished(answers={"a": HELD}, paused=True)
    now = made.clock.ms
    await made.engine.schedules.trigger(GUEST, "s")
    shown = await made.engine.schedules.backfill(GUEST, "s", (now - 1 - 2 * MINUTE, now - 1))
    assert shown["status"] == "paused"
    await made.until(lambda: described(made)["open"] == 4)
    await made.engine.schedules.backfill(GUEST, "s", (now - 1 - 2 * MINUTE, now - 1))
    await made.until(lambda: described(made)["open"] == 7)

    assert len({run["id"] for run in described(made)["last"]}) == 7
    await made.engine.schedules.trigger(GUEST, "s")
    assert described(made)["skipped"] == 1
    await made.engine.schedules.trigger(GUEST, "s", "allow_all")
    assert described(made)["open"] == 8
    await made.kill()


async def test_an_update_counts_from_now_and_keeps_the_open_run():
    made = await furnished(answers={"a": HELD})
    made.clock.ms += MINUTE
    await met(made, 1)
    with pytest.raises(ConflictError, match="already exists"):
        await made.engine.schedules.put(GUEST, "s", EACH_MINUTE)
    hourly = {**EACH_MINUTE, "spec": {"intervals": "1h"}, "overlap": "allow_all"}
    shown = await made.engine.schedules.put(GUEST, "s", hourly, overwrite=True)
    assert shown["next"][0] % (60 * MINUTE) == 0
    assert (shown["open"], shown["overlap"]) == (1, "allow_all")
    paused = await made.engine.schedules.put(GUEST, "s", {**hourly, "paused": True}, overwrite=True)
    going = await made.engine.schedules.put(GUEST, "s", {**hourly, "paused": False}, overwrite=True)
    assert (paused["status"], going["status"]) == ("paused", "active")
    await made.kill()


THICKET = {  # it leaves out more times than a search looks at
    "cron": "* * * * *",
    "skip": [{"month": "*", "day": "*", "hour": "*", "minute": "*"}],
}


@pytest.mark.parametrize("spec", [THICKET, {"cron": "0 0 30 2 *"}])
async def test_an_update_that_would_end_the_schedule_is_refused_and_the_old_one_stays(spec):
    made = await furnished()
    before = described(made)
    with pytest.raises(InvalidError, match="would never start a run"):
        await made.engine.schedules.put(GUEST, "s", {**EACH_MINUTE, "spec": spec}, overwrite=True)

    assert described(made) == before
    made = await restarted(made)
    assert described(made)["document"] == before["document"]
    await made.kill()


async def test_a_schedule_that_has_ended_may_have_another_note():
    made = await furnished()
    short = {**EACH_MINUTE, "spec": {"intervals": "1m", "end": made.clock.ms + 2 * MINUTE}}
    await made.engine.schedules.put(GUEST, "s", short, overwrite=True)
    made.clock.ms += 5 * MINUTE
    await made.until(lambda: described(made)["status"] == "ended")

    noted = {**short, "note": "it is over"}
    shown = await made.engine.schedules.put(GUEST, "s", noted, overwrite=True)
    assert (shown["status"], shown["note"]) == ("ended", "it is over")
    await made.kill()


async def test_a_schedule_is_deleted_while_its_run_is_open():
    made = await furnished(answers={"a": HELD})
    made.clock.ms += MINUTE
    await met(made, 1)
    run = described(made)["last"][0]["activationId"]
    gone = await made.engine.schedules.remove(GUEST, "s")
    await made.until(lambda: made.hands.done)
    made.hands.finish(run, {"late": True})

    assert gone["open"] == 1
    assert await made.result(run) == {"late": True}
    for ask in (made.engine.schedules.pause, made.engine.schedules.remove):
        with pytest.raises(NotFoundError):
            await ask(GUEST, "s")
    assert made.engine.schedules.names(GUEST) == []
    assert [d.key for kind in KINDS async for d in made.store.documents(kind)] == []
    await made.kill()


KINDS = ("scheduled", "scheduled-state")


async def test_a_limit_ends_a_schedule():
    made = await furnished(limit=2)
    for count in (1, 2):
        made.clock.ms += MINUTE
        await ended(made, count)
    shown = described(made)
    assert (shown["status"], shown["left"], shown["next"]) == ("ended", 0, [])
    await made.kill()


async def test_what_cannot_start_is_told_and_kept_as_a_dead_letter():
    made = await furnished(put=False)
    doc = {**EACH_MINUTE, "do": {"action": "nobody"}, "pause_on_failure": True}
    await made.engine.schedules.put(GUEST, "s", doc)
    made.clock.ms += MINUTE
    await met(made, 1)

    shown = described(made)
    assert (shown["status"], shown["last"][0]["status"]) == ("paused", "refused")
    assert "does not exist" in shown["last"][0]["error"]
    (letter,) = made.engine.letters.list(GUEST)
    assert (letter["kind"], letter["rule"], letter["target"]) == (
        "schedule",
        "/guest/s",
        "/guest/nobody",
    )
    with pytest.raises(NotFoundError):
        await made.engine.schedules.trigger(GUEST, "s")
    with pytest.raises(InvalidError, match="would never start"):
        await made.engine.schedules.put(GUEST, "t", {**EACH_MINUTE, "spec": {"cron": "0 0 30 2 *"}})
    with pytest.raises(InvalidError, match="name"):
        await made.engine.schedules.put(GUEST, "a/b/c", EACH_MINUTE)
    await made.kill()


async def test_a_time_that_is_throttled_is_met_later():
    settings = EngineSettings(pacing=Pacing(look_s=0.001), quotas=lambda _: Quotas(concurrent=1))
    made = await furnished(answers={"a": HELD}, settings=settings, overlap="allow_all")
    made.clock.ms += 2 * MINUTE
    await met(made, 1)
    await made.until(lambda: made.hands.done)
    with pytest.raises(ThrottledError):
        await made.engine.schedules.trigger(GUEST, "s")
    made.hands.finish(next(iter(made.hands.done)), {"fine": True})
    await ended(made, 1)
    made.clock.ms += 1_000
    await met(made, 2)
    assert [run["status"] for run in described(made)["last"]] == ["succeeded", "running"]
    await made.kill()


# --- crashes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("overlap", ["skip", "buffer_all", "allow_all", "terminate_other"])
async def test_a_crash_at_any_commit_neither_skips_nor_repeats_a_time(at, when, overlap):
    store = MemoryStore()
    dying = DyingStore(store, at, when)
    made = await furnished(dying, overlap=overlap)
    start = made.clock.ms
    dying.armed = True
    made.clock.ms += MINUTE
    await made.until(lambda: dying.dead.is_set() or done(made))
    if not dying.dead.is_set():
        made.clock.ms += MINUTE
        await made.until(lambda: dying.dead.is_set() or done(made) == 2)
    later = await _again(made, store)
    while done(later) < 3:
        later.clock.ms += MINUTE
        count = done(later) + 1
        await ended(later, count)

    await later.until(lambda: described(later)["open"] == 0)
    await later.until(lambda: described(later)["next"][0] > later.clock.ms)
    await later.until(lambda: described(later)["open"] == 0)
    shown = described(later)
    runs, first = shown["last"], start // MINUTE * MINUTE + MINUTE
    times = [*range(first, later.clock.ms + 1, MINUTE)]
    met = [run["at"] for run in runs]
    assert len(met) + shown["skipped"] + shown["buffered"] == len(times)
    assert met == [at for at in times if at in met]
    assert overlap in ("skip", "terminate_other") or not shown["skipped"]
    records = [row.id for row in await later.activations()]
    assert sorted(records) == sorted(run["activationId"] for run in runs)
    await later.kill()


async def _again(made, store):
    await made.kill()
    made.store = store
    return await begun(store, made.hands.answers, clock=made.clock, settings=QUICK)


async def test_an_end_that_a_crash_kept_from_its_schedule_is_met_after_it():
    store = MemoryStore()
    made = await furnished(store, {"a": HELD}, overlap="buffer_one")
    made.clock.ms += MINUTE
    await made.until(lambda: made.hands.done)
    made.clock.ms += MINUTE
    await made.until(lambda: described(made)["buffered"] == 1)
    made.engine.schedules.stop()
    run = described(made)["last"][0]["activationId"]
    made.hands.finish(run, {"fine": True})
    assert await made.result(run) == {"fine": True}
    later = await _again(made, store)
    await ended(later, 1)
    await met(later, 2)

    assert described(later)["last"][0]["status"] == "succeeded"
    assert later.hands.invoked[0].params == {"n": 1, "__ow_last_result": {"fine": True}}
    await later.kill()


async def test_times_that_were_missed_are_met_within_the_window_and_counted_beyond_it():
    made = await furnished(overlap="allow_all", catchup="2m")
    later = await restarted(made, seconds=5 * 60)
    await ended(later, 2)
    shown = described(later)
    assert (shown["missed"], len(shown["last"])) == (3, 2)
    await later.kill()


async def test_a_store_that_fails_for_a_while_loses_no_time():
    pacing = Pacing(look_s=0.001, commit_retry_s=0, commit_deadline_s=0)
    faulty = FaultyStore(MemoryStore(), 0, times=3)
    made = await furnished(faulty, settings=EngineSettings(pacing=pacing))
    faulty.armed = True
    made.clock.ms += MINUTE

    def gone_on():
        made.clock.ms += 1
        return done(made) == 1

    await made.until(gone_on)
    assert len(made.hands.invoked) == 1
    await made.kill()


async def test_a_paused_server_shows_schedules_and_meets_none():
    store = MemoryStore()
    made = await furnished(store)
    await made.kill()
    made.clock.ms += 3 * MINUTE
    held = await begun(store, made.hands.answers, clock=made.clock, settings=QUICK, paused=True)
    await held.until(lambda: True)
    assert described(held)["last"] == []
    held.engine.recovery.begin()
    held.engine.schedules.begin()
    held.engine.schedules.begin()
    await ended(held, 1)
    await held.kill()


async def test_a_stopped_engine_refuses(caplog):
    made = await furnished()
    await made.engine.__aexit__(None, None, None)
    with pytest.raises(UnavailableError):
        await made.engine.schedules.pause(GUEST, "s")


async def test_a_second_fire_of_an_instant_is_refused_by_its_id():
    made = await furnished()
    made.clock.ms += MINUTE
    await ended(made, 1)
    run = described(made)["last"][0]
    found = await made.engine.identities.run_of(GUEST, run["id"])
    assert found == run["activationId"]
    await made.engine.schedules.remove(GUEST, "s")
    earlier = {**EACH_MINUTE, "spec": {"intervals": "60s"}}
    made.clock.ms = run["at"]
    await made.engine.schedules.put(GUEST, "s", earlier)
    await ended(made, 1)

    (again,) = described(made)["last"]
    assert (again["id"], again["status"]) == (run["id"], "refused")
    assert "has succeeded already" in again["error"]
    assert len(made.hands.invoked) == 1
    assert made.engine.letters.list(GUEST) == []
    await made.kill()


async def test_an_internal_error_is_logged_and_tried_again_later(caplog, monkeypatch):
    made = await furnished()
    resolve = made.engine.catalog.resolve

    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(made.engine.catalog, "resolve", broken)
    made.clock.ms += MINUTE
    await made.until(lambda: "failed because of an internal error" in caplog.text)
    monkeypatch.setattr(made.engine.catalog, "resolve", resolve)
    assert caplog.text.count("internal error") == 1
    made.clock.ms += 1_000
    await ended(made, 1)
    await made.kill()


async def test_a_cancelled_composition_ends_with_its_finalizers_before_the_next_begins():
    made = await furnished(put=False)
    made.hands.answers["a"] = HELD
    made.hands.answers["last"] = HELD
    await made.put(last=None, c=ensure("a", "last"))
    doc = {**EACH_MINUTE, "do": {"action": "c"}, "overlap": "cancel_other"}
    await made.engine.schedules.put(GUEST, "s", doc)
    made.clock.ms += MINUTE
    await made.until(lambda: made.hands.names == ["a"])
    made.clock.ms += MINUTE
    await made.until(lambda: made.hands.names == ["a", "last"])
    shown = described(made)
    assert (shown["open"], shown["buffered"]) == (1, 1)
    made.hands.finish(made.hands.invoked[1].activation, {})
    await made.until(lambda: made.hands.names == ["a", "last", "a"])
    await met(made, 2)

    assert [run["status"] for run in described(made)["last"]] == ["cancelled", "running"]
    assert described(made)["buffered"] == 0
    await made.kill()


async def test_a_run_is_found_by_its_id_and_carries_the_options_of_its_schedule():
    made = await furnished(answers={"a": HELD})
    await made.put(c=sequence("a", "a"))
    do = {"action": "c", "id": "mine", "memo": {"m": 1}, "run_timeout": "1h"}
    await made.engine.schedules.put(GUEST, "c", {**EACH_MINUTE, "do": do})
    made.clock.ms += MINUTE
    await met(made, 1, "c")
    run = described(made, "c")["last"][0]
    live = made.engine._parts.runs[run["activationId"]]

    assert run["id"].startswith("mine-2023-11-14T")
    assert await made.engine.identities.run_of(GUEST, run["id"]) == live.id
    options = live.origin.options
    assert (options.id, options.memo, options.run_timeout_ms) == (run["id"], {"m": 1}, 3_600_000)
    await made.kill()


async def test_a_schedule_that_was_made_anew_may_fill_the_same_period_again():
    made = await furnished()
    period = (0, 2 * MINUTE)
    await made.engine.schedules.backfill(GUEST, "s", period)
    await ended(made, 3)
    await made.engine.schedules.remove(GUEST, "s")
    await made.engine.schedules.put(GUEST, "s", EACH_MINUTE)
    await made.engine.schedules.backfill(GUEST, "s", period)
    await ended(made, 3)

    assert len(made.hands.invoked) == 6
    await made.kill()


class Hanging:
    """A store that does not answer commits any more when `hangs` is set."""

    def __init__(self, store):
        self._store, self.hangs = store, False

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def commit(self, writes):
        if self.hangs:
            await asyncio.Event().wait()
        return await self._store.commit(writes)


@pytest.mark.parametrize("asks", ["create", "put", "pause", "resume", "trigger", "remove"])
async def test_what_may_not_be_durable_is_not_said_to_be(asks):
    store = Hanging(MemoryStore())
    pacing = Pacing(look_s=0.001, commit_deadline_s=0.02, commit_grace_s=0.02, commit_retry_s=0.005)
    made = await furnished(store, settings=EngineSettings(pacing=pacing))
    schedules = made.engine.schedules
    asked = {
        "create": lambda: schedules.put(GUEST, "t", EACH_MINUTE),
        "put": lambda: schedules.put(GUEST, "s", EACH_MINUTE, overwrite=True),
    }
    store.hangs = True

    with pytest.raises(InDoubtError):
        await asked.get(asks, lambda: getattr(schedules, asks)(GUEST, "s"))()
    await made.kill()


async def test_more_schedules_than_are_met_at_the_same_time_are_all_met(monkeypatch):
    monkeypatch.setattr(schedules, "AT_ONCE", 2)
    made = await furnished(put=False)
    names = [f"s{n}" for n in range(7)]
    for name in names:
        await made.engine.schedules.put(GUEST, name, EACH_MINUTE)

    for count in (1, 2):
        made.clock.ms += MINUTE
        for name in names:
            await ended(made, count, name)

    assert len(made.hands.invoked) == 2 * len(names)
    assert made.engine.schedules._workers == 0
    await made.kill()


async def test_a_schedule_that_waits_because_a_run_has_ended_is_met_before_others_when_its_time_comes(
    monkeypatch,
):
    made = await furnished(put=False)
    line = made.engine.schedules
    for name in ("other", "one"):
        await line.put(GUEST, name, EACH_MINUTE)
    await made.settle()
    monkeypatch.setattr(schedules, "AT_ONCE", 0)  # from now on they only line up
    other, one = line._kept.values()
    for kept in (other, one):
        line._wake(kept, urgent=False)
    line._ring(one.key, "")

    assert [line._line.take() for _ in range(2)] == [one, other]
    await made.kill()
