"""What rules remember: over several fires, over crashes, and until they forget it."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.kit.engine.cloudevents import event, kept, named, trigger
from tests.kit.engine.engines import GUEST, DyingStore, begun, world
from xingqiao.actions import Document, Quotas, Rule, Write
from xingqiao.infra.engine import EngineSettings, EventBounds, check
from xingqiao.infra.stores import MemoryStore

BIN, SHELF = "$.event.data.bin", "$.event.data.shelf"
THREE = {"join": {"of": ["a", "b", "c"], "member": BIN}}
LAST = {"last": {"$path": "$.event.data.n"}}
CHANGED = {"op": "ne", "left": {"path": "$.event.data.n"}, "right": {"path": "$.context.last"}}


@pytest.fixture
async def made():
    async with world(answers={"work": {}}) as made:
        await deployed(made)
        yield made


async def deployed(made, **memory):
    await made.put(work=None)
    await trigger(made, "counted", "bin.counted", rules=())
    if memory:
        await ruled(made, **memory)


async def ruled(made, name="r", **memory):
    doc = {"trigger": "/_/counted", "action": "/_/work", **memory}
    return await made.engine.registry.put(Rule, named(name), doc, overwrite=True)


async def tell(made, *datas, first=1):
    """Sends CloudEvents in one batch, and waits until all of their effects are durable."""
    events = [
        event(first + index, "bin.counted", data if isinstance(data, dict) else {"bin": data})
        for index, data in enumerate(datas)
    ]
    accepted = await made.engine.events.accept(GUEST, events)
    await made.engine.events.settled(GUEST, accepted.keys)
    await made.settle()
    return accepted.keys


def bins(made):
    """The bins of the CloudEvents that have invoked the action."""
    return [invocation.params.get("bin") for invocation in made.hands.invoked]


async def again(made):
    """The same after a crash."""
    await made.kill()
    return await begun(made.store, {"work": {}}, clock=made.clock)


async def rows(made):
    return {**await kept(made, "rulecontext"), **await kept(made, "joined")}


# --- conditions -------------------------------------------------------------------------------


async def test_a_rule_without_a_condition_remembers_nothing(made):
    await ruled(made, context={"a": 1})
    await tell(made, "a", "b")

    assert bins(made) == ["a", "b"]
    assert await rows(made) == {}


async def test_cloudevents_of_one_commit_are_judged_one_after_the_other(made):
    await ruled(made, condition={"count": 2})

    await tell(made, *"abcde")

    assert bins(made) == ["b", "d"]
    assert (await rows(made))["/guest/r/whole"]["counted"] == 1


async def test_a_count_that_begins_anew_leaves_no_document(made):
    await ruled(made, condition={"count": 2})

    await tell(made, *"ab")

    assert await rows(made) == {}


async def test_a_join_fires_once_with_the_results_in_order(made):
    await ruled(made, condition=THREE)

    await tell(made, *"cab", "x", *"abc")

    [invocation] = made.hands.invoked
    assert invocation.params["bin"] == "b"
    assert invocation.params["__ow_context"] == {
        "members": ["a", "b", "c"],
        "results": [{"bin": "a"}, {"bin": "b"}, {"bin": "c"}],
    }
    [(key, state)] = (await rows(made)).items()
    assert (key, state["done"]) == ("/guest/r/whole", True)


async def test_a_member_of_a_join_costs_one_document():
    async with world(answers={"work": {}}) as made:
        await deployed(made, condition={"join": {"of": 100, "member": BIN}})
        await tell(made, 1)
        writes = []
        commit = made.store.commit
        made.store.commit = lambda batch: writes.extend(batch) or commit(batch)
        await tell(made, 2, first=2)

    kinds = [document.kind for write in writes for document in write.documents]
    assert (kinds.count("joined"), kinds.count("rulecontext")) == (1, 0)


async def test_a_join_with_another_list_takes_what_has_come_before(made):
    await ruled(made, condition={"join": {"of": ["a", "b"], "member": BIN}})
    await tell(made, "a")

    await ruled(made, condition={"join": {"of": ["b", "c"], "member": BIN}})
    await tell(made, *"bc", first=2)

    assert bins(made) == ["c"]
    assert [key for key in await rows(made) if key != "/guest/r/whole"] == []


async def test_each_value_has_a_join_of_its_own(made):
    await ruled(made, condition={"join": {"of": 2, "member": BIN}, "by": SHELF})
    datas = [{"bin": bin, "shelf": shelf} for bin, shelf in ("ax", "ay", "ax", "by", "bx", "cx")]

    await tell(made, *datas)

    assert [each.params["shelf"] for each in made.hands.invoked] == ["y", "x"]


async def test_a_throttled_rule_fires_once_in_each_span(made):
    await ruled(made, condition={"throttle_ms": 1000})
    await tell(made, *"ab")
    made.clock.ms += 999
    await tell(made, "c", first=3)
    made.clock.ms += 1
    await tell(made, "d", first=4)

    assert bins(made) == ["a", "d"]


async def test_the_context_follows_the_fires(made):
    await ruled(made, condition=CHANGED, context={"last": 1}, assign=LAST)

    await tell(made, *({"n": n} for n in (1, 2, 2, 3)))

    assert [each.params["n"] for each in made.hands.invoked] == [2, 3]
    assert (await rows(made))["/guest/r/whole"]["context"] == {"last": 3}


async def test_a_fire_without_a_cloudevent_is_judged_by_its_payload(made):
    await ruled(made, condition={"join": {"of": 2, "member": BIN}})

    ids = [await made.engine.firing.fire(named("counted"), {"bin": bin}) for bin in "aab"]
    await made.settle()

    assert ids[:2] == [None, None]
    assert ids[2] is not None
    assert made.hands.invoked[0].params["__ow_context"]["results"] == [{"bin": "a"}, {"bin": "b"}]


async def test_a_fire_that_cannot_be_judged_is_told_in_the_activation(made):
    await ruled(made, condition=THREE)

    [key] = await tell(made, {"other": 1})

    [fired] = (await made.engine.events.get(GUEST, key))["fired"]
    record = await made.engine.records.activation(GUEST, fired["activationId"])
    [line] = map(json.loads, record["logs"])
    assert line["error"].startswith("condition.join.member: $.event.data.bin must lead to a string")
    assert line["rule"] == "guest/r"
    assert await rows(made) == {}


async def test_a_cloudevent_that_only_changes_a_context_was_judged(made):
    await ruled(made, condition=THREE)

    [key] = await tell(made, "a")

    told = await made.engine.events.get(GUEST, key)
    assert told["state"] == "judged"
    assert told["fired"] == [{"trigger": "/guest/counted", "activationId": None}]


async def test_a_commit_that_changes_a_context_is_never_withdrawn(made):
    plain, counting = await ruled(made, "plain"), await ruled(made, condition={"count": 2})

    for rule, alone in ((plain, True), (counting, False)):
        with made.engine._tick.apart() as unit:
            made.engine.contexts.judge(rule, {"data": {}}, 1)
        assert unit.alone is alone


# --- what is refused --------------------------------------------------------------------------


async def test_a_fire_that_is_refused_changes_no_context_and_counts_when_it_is_sent_again():
    settings = EngineSettings(quotas=lambda _: Quotas(fires_per_minute=1))
    async with world(answers={"work": {}}, settings=settings) as made:
        await deployed(made, condition=THREE)
        await tell(made, *"ab")
        [letter] = made.engine.letters.list(GUEST)
        before = await rows(made)
        made.clock.ms += 120_000

        await made.engine.letters.retry(GUEST, letter["id"])

        assert len(before) == 2
        assert len(await rows(made)) == 3


async def test_results_that_make_a_payload_too_large_make_a_dead_letter():
    settings = EngineSettings(quotas=lambda _: Quotas(payload_bytes=3_000))
    async with world(answers={"work": {}}, settings=settings) as made:
        await deployed(made, condition={"join": {"of": 2, "member": BIN}})

        await tell(made, {"bin": "a", "text": "x" * 1500}, {"bin": "b", "text": "x" * 1500})

        assert made.hands.invoked == []
        [letter] = made.engine.letters.list(GUEST)
        assert letter["target"] == "/guest/work"


# --- latched ----------------------------------------------------------------------------------


async def test_a_transient_rule_fires_once_and_becomes_inactive(made):
    await ruled(made, transient=True)

    await tell(made, *"ab")

    assert bins(made) == ["a"]
    assert made.engine.catalog.get(Rule, named("r")).status == "inactive"


async def test_a_transient_rule_that_is_enabled_begins_anew(made):
    await ruled(made, transient=True, condition={"count": 2})
    await tell(made, *"abcd")

    await made.engine.registry.set_status(named("r"), "active")
    after = await rows(made)
    await tell(made, *"efgh", first=5)

    assert after == {}
    assert bins(made) == ["b", "f"]


async def test_a_rule_that_is_transient_no_longer_fires_each_time(made):
    await ruled(made, transient=True)
    await tell(made, "a")
    await ruled(made, transient=False)
    await made.engine.registry.set_status(named("r"), "active")

    await tell(made, *"bc", first=2)

    assert bins(made) == ["a", "b", "c"]


async def test_a_rule_that_is_updated_as_it_fires_becomes_inactive_as_it_is_then(made):
    await ruled(made, transient=True)
    events = [event(1, "bin.counted", {"bin": "a"})]

    put, accepted = await asyncio.gather(
        ruled(made, transient=True, annotations=[{"key": "new", "value": 1}]),
        made.engine.events.accept(GUEST, events),
    )
    await made.engine.events.settled(GUEST, accepted.keys)
    await made.settle()

    rule = made.engine.catalog.get(Rule, named("r"))
    assert (rule.status, rule.annotations) == ("inactive", put.annotations)


@pytest.mark.parametrize(("transient", "status"), [(True, "inactive"), (False, "active")])
async def test_a_rule_changed_in_the_commit_of_its_deactivation_is_deactivated_as_changed(
    made, transient, status
):
    await ruled(made, transient=True)
    tick, submit = made.engine._tick, made.engine._tick.submit

    def both(unit, **how):
        tick.submit = submit
        taken = submit(unit, **how)
        made.engine.registry.deactivate(named("r"))  # the store refuses it: it comes second
        return taken

    tick.submit = both
    await ruled(made, transient=transient, publish=True)
    await made.settle()

    rule = made.engine.catalog.get(Rule, named("r"))
    assert (rule.status, rule.publish) == (status, True)


# --- forgotten --------------------------------------------------------------------------------


async def test_a_rule_that_is_deleted_takes_all_with_it(made):
    await ruled(made, condition=THREE)
    await ruled(made, "other", condition=THREE)
    await tell(made, *"ab")
    assert len(await rows(made)) == 6

    await made.engine.registry.remove(Rule, named("r"))
    left = await rows(made)
    await ruled(made, condition=THREE)
    await tell(made, "c", first=3)

    assert {key.split("/")[2] for key in left} == {"other"}
    assert len(made.hands.invoked) == 1  # of the other


async def test_an_update_keeps_what_a_rule_remembers_unless_a_context_is_given(made):
    await ruled(made, condition=THREE)
    await tell(made, *"ab")

    await ruled(made)
    kept_rows = await rows(made)
    await ruled(made, context={})

    assert len(kept_rows) == 3
    assert await rows(made) == {}
    assert made.engine.contexts.shown(made.engine.catalog.get(Rule, named("r"))) == []


async def test_what_a_rule_hears_while_it_is_deleted_goes_too():
    store = MemoryStore()
    made = await begun(store, {"work": {}})
    await deployed(made, condition=THREE)
    commit, gate, reached = store.commit, asyncio.Event(), asyncio.Event()

    async def held(batch):
        result = await commit(batch)
        if any(d.key == "/guest/r" and d.body is None for w in batch for d in w.documents):
            reached.set()
            await gate.wait()  # it is deleted in the store, and not yet in the catalog
        return result

    store.commit = held
    removing = asyncio.ensure_future(made.engine.registry.remove(Rule, named("r")))
    await reached.wait()
    made.engine.contexts.judge(made.engine.catalog.get(Rule, named("r")), {"data": {"bin": "a"}}, 1)
    gate.set()
    await removing
    await made.settle()

    assert await rows(made) == {}
    await made.kill()


async def test_what_a_crash_has_left_of_a_deleted_rule_is_deleted_at_the_start():
    store = MemoryStore()
    state = b'{"context":{},"value":null,"counted":1,"fired_ms":null,"done":false}'
    await store.commit(
        [Write(documents=[Document(kind="rulecontext", key="/guest/gone/whole", body=state)])]
    )
    async with world(store, {"work": {}}) as made:
        await made.settle()

        assert await rows(made) == {}


# --- bounds -----------------------------------------------------------------------------------


async def test_contexts_that_are_over_make_room_and_others_do_not():
    settings = EngineSettings(events=EventBounds(remembered_bytes=1_000))
    async with world(answers={"work": {}}, settings=settings) as made:
        await deployed(made, condition={"throttle_ms": 10, "by": SHELF})
        await tell(made, *({"bin": str(n), "shelf": n} for n in range(4)))
        full = bins(made)
        made.clock.ms += 10
        keys = await tell(made, *({"bin": str(n), "shelf": n} for n in range(4, 10)), first=5)
        [fired] = (await made.engine.events.get(GUEST, keys[-1]))["fired"]
        record = await made.engine.records.activation(GUEST, fired["activationId"])

    assert full == ["0", "1", "2"]
    assert bins(made) == ["0", "1", "2", "4", "5", "6"]
    assert "remember 1000 bytes" in record["logs"][0]


async def test_a_check_of_the_store_reads_what_rules_remember(made):
    await ruled(made, condition=THREE)
    await ruled(made, "once", transient=True)
    await tell(made, "a")

    whole = await check(made.store)
    broken = [
        Document(kind="rulecontext", key="/guest/r/whole", body=b"{}"),
        Document(kind="joined", key="/guest/r/whole/1", body=b"{}"),
    ]
    await made.store.commit([Write(documents=broken)])
    damaged = await check(made.store)

    assert whole.faults == []
    assert (whole.counts["contexts of rules"], whole.counts["members of joins"]) == (2, 1)
    assert len(damaged.faults) == 2


# --- crashes ----------------------------------------------------------------------------------


async def test_what_is_remembered_outlives_a_crash():
    made = await begun(MemoryStore(), {"work": {}})
    await deployed(made, condition={**THREE, "by": SHELF}, context={"a": 1})
    datas = [{"bin": bin, "shelf": shelf} for bin, shelf in ("bx", "ax", "ay")]
    await tell(made, *datas)
    shown = made.engine.contexts.shown(made.engine.catalog.get(Rule, named("r")))

    made = await again(made)

    after = made.engine.contexts.shown(made.engine.catalog.get(Rule, named("r")))
    assert sorted(after, key=lambda doc: doc["by"]) == sorted(shown, key=lambda doc: doc["by"])
    await tell(made, {"bin": "c", "shelf": "x"}, first=4)
    assert made.hands.invoked[0].params["__ow_context"]["members"] == ["a", "b", "c"]
    await made.kill()


CASES = {
    "count": ({"condition": {"count": 2}}, 3),
    "join": ({"condition": {"join": {"of": [*"abcdef"], "member": BIN}}}, 1),
    "any six": ({"condition": {"join": {"of": 6, "member": BIN}}}, 1),
    "transient": ({"transient": True}, 1),
    "changed": ({"condition": CHANGED, "assign": LAST}, 3),
}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("case", CASES)
async def test_whatever_commit_it_dies_at_each_cloudevent_counts_once(case, when):
    memory, fires = CASES[case]
    datas = [{"bin": bin, "n": n} for bin, n in zip("abcdef", (1, 1, 2, 2, 3, 3), strict=True)]
    for at in range(30):
        store = DyingStore(MemoryStore(), at, when)
        made = await begun(store, {"work": {}})
        await deployed(made, **memory)
        store.armed = True
        sending = asyncio.ensure_future(each_by_itself(made, datas))
        dying = asyncio.ensure_future(store.dead.wait())
        await asyncio.wait([sending, dying], return_when=asyncio.FIRST_COMPLETED)
        died = store.dead.is_set()
        for task in (sending, dying):
            task.cancel()
        await asyncio.gather(sending, dying, return_exceptions=True)
        await made.kill()

        made = await begun(store._store, {"work": {}}, clock=made.clock)
        await each_by_itself(made, datas)  # the sender sends all again

        invoked = [row for row in await made.activations() if row.name == "work"]
        assert len(invoked) == fires, at
        if case == "transient":
            assert made.engine.catalog.get(Rule, named("r")).status == "inactive"
        await made.kill()
        if not died:
            break
    assert not died
    assert at > 6


async def each_by_itself(made, datas):
    for number, data in enumerate(datas, 1):
        await tell(made, data, first=number)


# --- shown ------------------------------------------------------------------------------------


async def test_it_shows_who_has_come_and_who_is_missing(made):
    rule = await ruled(made, condition={**THREE, "by": SHELF}, context={"n": 0})
    await tell(made, {"bin": "c", "shelf": 1}, {"bin": "a", "shelf": 1}, {"bin": "b", "shelf": 2})

    assert made.engine.contexts.shown(rule) == [
        {"context": {"n": 0}, "by": 2, "joined": 1, "seen": ["b"], "missing": ["a", "c"]},
        {"context": {"n": 0}, "by": 1, "joined": 2, "seen": ["c", "a"], "missing": ["b"]},
    ]


async def test_it_shows_how_far_a_count_is_when_it_fired_and_what_is_done(made):
    counting = await ruled(made, "counting", condition={"count": 5})
    throttled = await ruled(made, "throttled", condition={"throttle_ms": 5})
    joined = await ruled(made, "joined", condition={"join": {"of": 1, "member": BIN}})
    joining = await ruled(made, "joining", condition={"join": {"of": 9, "member": BIN}})
    await tell(made, "a")

    shown = made.engine.contexts.shown
    assert shown(counting) == [{"context": {}, "counted": 1}]
    assert shown(throttled) == [{"context": {}, "fired_ms": made.clock.ms}]
    assert shown(joined) == [{"context": {}, "done": True}]
    assert shown(joining) == [{"context": {}, "joined": 1, "seen": ["a"]}]
