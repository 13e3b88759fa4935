"""Records of functions: what is written is read, and other APIs cannot tear one from its versions."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from xingqiao.actions import Action, Change, Code, ConflictError, Write
from xingqiao.composer import Name
from xingqiao.infra.lambdas.records import Alias, Events, Policy, Record, Records, Url, remnant
from xingqiao.infra.stores import MemoryStore

NAME = Name("guest", None, "greet")
URL = Url(id="abc", auth="NONE", cors={"MaxAge": 1}, mode="BUFFERED", created_ms=1, modified_ms=2)
RECORD = Record(
    published=3, source="hash", versions=(1, 3), tags={"k": "v"}, reserved=5,
    aliases={
        "live": Alias(name="live", version="3", description="", weights=(("1", 0.5),), revision="r")
    },
    policies={"live": Policy(revision="r", statements=({"Sid": "one"},))}, urls={"live": URL},
    events={"": Events(modified_ms=1, retries=0, age_s=60)},
)  # fmt: skip


def action(name="greet"):
    return Action(Name("guest", None, name), exec=Code("python:3"))


FUNCTION, FIRST, THIRD = action(), action("greet@1"), action("greet@3")


async def opened(record=RECORD):
    """Records in which one is stored, and their store."""
    store = MemoryStore()
    records = Records(store)
    await keep(store, records.kept(NAME, record))
    return records, store


async def keep(store, attachment):
    assert await store.commit([Write(documents=list(attachment.documents))]) == []
    attachment.applied()


def test_a_record_is_read_as_it_was_written():
    assert Record.from_json(json.loads(json.dumps(RECORD.to_json()))) == RECORD


async def test_all_of_it_is_there_after_a_restart():
    _, store = await opened()
    again = Records(store)
    await again.load()

    assert again.record(FUNCTION) == RECORD
    assert again.published(NAME) == 3
    assert again.url("abc") == (str(NAME), "live")
    assert again.aliased(NAME, "live", "0") in {"1", "3"}
    assert again.aliased(NAME, "none", "0") is None


async def test_a_url_that_is_gone_leads_nowhere():
    records, store = await opened()
    await keep(store, records.kept(NAME, replace(RECORD, urls={})))

    assert records.url("abc") is None


async def test_of_two_changes_at_once_one_is_refused():
    records, store = await opened()
    first, second = (records.kept(NAME, replace(RECORD, reserved=n)) for n in (1, 2))
    await keep(store, first)

    assert await store.commit([Write(documents=list(second.documents))]) == [0]
    assert records.record(FUNCTION).reserved == 1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (Change(FIRST, put=(FIRST,)), "a published version of a Lambda function"),
        (Change(FIRST, gone=(FIRST,)), "a published version of a Lambda function"),
        (Change(FUNCTION, gone=(FUNCTION,)), "a Lambda function with published versions"),
        (Change(FUNCTION, gone=(FUNCTION, THIRD)), "a Lambda function with published versions"),
    ],
)
async def test_another_api_can_neither_change_a_version_nor_leave_one_behind(change, why):
    records, _ = await opened()

    with pytest.raises(ConflictError, match=why):
        records.attachment(change)


async def test_a_namespace_goes_with_its_functions_and_numbers_are_not_given_again():
    records, store = await opened()
    await keep(store, records.attachment(Change(None, gone=(FUNCTION, FIRST, THIRD))))

    assert records.record(FUNCTION) == remnant(RECORD) == Record(published=3)
    assert records.url("abc") is None


async def test_nothing_is_left_of_a_function_without_versions():
    records, store = await opened(Record(tags={"k": "v"}))
    await keep(store, records.attachment(Change(FUNCTION, gone=(FUNCTION,))))

    assert [document async for document in store.documents("lambda")] == []
