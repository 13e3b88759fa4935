"""Records and versions of state machines: stored with their action, and gone with it."""

from __future__ import annotations

import json

import pytest

from xingqiao.actions import MACHINE, Action, Catalog, Change, Code, Composed, Write
from xingqiao.composer import Name
from xingqiao.infra.stepfunctions.records import Alias, Configuration, Record, Records, Version
from xingqiao.infra.stores import MemoryStore

ACCOUNT = "111111111111"
ARN = "arn:aws:iam::111111111111:role/any"
CONFIGURATION = Configuration(role=ARN, tracing=True)
VERSION = Version(
    number=1, revision=None, description="first", created_ms=2, type="STANDARD",
    configuration=CONFIGURATION,
)  # fmt: skip
LIVE = Alias(name="live", description=None, routes=((1, 100),), created_ms=3, updated_ms=4)
RECORD = Record(
    created_ms=1, first="0.0.1", configuration=CONFIGURATION, tags={"k": "v"}, published=1,
    aliases={"live": LIVE},
)  # fmt: skip


def machine(name="m", package=None):
    return Action(Name("guest", package, name), exec=Composed(MACHINE, {}, None), updated_ms=7)


M = machine()
CODE = Action(M.name, exec=Code("python:3"))


async def opened():
    """Records with a machine and its version, and their store."""
    store = MemoryStore()
    records = Records(store, ACCOUNT)
    await keep(store, kept(records, RECORD))
    return records, store


def kept(records, record):
    stored = {
        "number": 1, "revision": None, "description": "first", "created_ms": 2, "type": "STANDARD",
        "configuration": record.to_json()["configuration"], "definition": "{}",
    }  # fmt: skip
    document = records.written("machine-version", "guest/m/0000000001", stored)
    return records.kept(M, record, {1: VERSION}, [document])


async def keep(store, attachment):
    assert await store.commit([Write(documents=list(attachment.documents))]) == []
    attachment.applied()


async def stored(store):
    kinds = ("machine", "machine-version")
    return [document.key for kind in kinds async for document in store.documents(kind)]


def test_a_record_is_read_as_it_was_written():
    assert Record.from_json(json.loads(json.dumps(RECORD.to_json()))) == RECORD


async def test_all_of_it_is_there_after_a_restart():
    _, store = await opened()
    again = Records(store, ACCOUNT)
    left = await again.load(Catalog([M]))

    assert left.documents == []
    assert (again.record(M), again.versions(M)) == (RECORD, {1: VERSION})
    assert await again.definition(M, 1) == "{}"


async def test_what_is_left_of_an_action_that_is_gone_is_removed_at_a_start():
    _, store = await opened()
    again = Records(store, ACCOUNT)
    await keep(store, await again.load(Catalog()))

    assert await stored(store) == []
    assert again.versions(M) == {}


async def test_of_two_changes_at_once_one_is_refused():
    records, store = await opened()
    first, second = kept(records, RECORD), kept(records, RECORD)
    await keep(store, first)

    assert await store.commit([Write(documents=list(second.documents))]) == [0]


@pytest.mark.parametrize("change", [Change(M, gone=(M,)), Change(CODE, put=(CODE,))])
async def test_a_machine_that_goes_or_becomes_another_action_takes_all_of_it_along(change):
    records, store = await opened()
    await keep(store, records.attachment(change))

    assert await stored(store) == []
    assert records.versions(M) == {}
    assert records.record(M).published == 0


async def test_a_machine_that_another_api_makes_has_a_record_with_defaults():
    records, store = await opened()
    other = machine("other")
    await keep(store, records.attachment(Change(other, put=(other,))))

    assert await stored(store) == ["guest/m", "guest/other", "guest/m/0000000001"]
    made = records.record(other)
    assert (made.created_ms, made.first, made.configuration) == (
        7, other.version, Configuration(role="arn:aws:iam::111111111111:role/xingqiao"),
    )  # fmt: skip


async def test_a_change_that_is_no_machines_adds_nothing():
    records, _ = await opened()
    packaged, code = machine("m", "p"), Action(Name("guest", None, "c"), exec=Code("python:3"))

    assert records.attachment(Change(packaged, put=(packaged, code))).documents == []
    assert records.attachment(Change(M, put=(M,))).documents == []  # it has one
