"""Definitions with too many values are refused before they are parsed; what is in strings is not counted."""

from __future__ import annotations

import asyncio
import json

import anyio.lowlevel
import pytest

from xingqiao import composer
from xingqiao.actions import TooLargeError
from xingqiao.infra.http.members import MAX_MEMBERS, SLICE_BYTES, check_members

TOO_MANY = (
    f"The request has more than {MAX_MEMBERS} JSON values, which is the limit of a definition."
)


async def accepted(text):
    try:
        await check_members(bytearray(text.encode()))
    except TooLargeError:
        return False
    return True


def listed(count):
    return "[" + ",".join(["0"] * count) + "]"


@pytest.mark.parametrize(("count", "fits"), [(MAX_MEMBERS, True), (MAX_MEMBERS + 1, False)])
async def test_there_may_be_so_many_values_and_no_more(count, fits):
    assert await accepted(listed(count)) == fits


async def test_what_stands_in_a_string_is_not_counted():
    assert await accepted(json.dumps({"code": "[{,}]\n" * MAX_MEMBERS}))


@pytest.mark.parametrize("before", range(8))
@pytest.mark.parametrize("inside", ['\\"', '"', "\\", "\\\\", "[", 'a"'])
async def test_it_is_counted_in_slices_that_may_end_anywhere(before, inside):
    code = "x" * (SLICE_BYTES - before - 12) + inside * 8 + ",[{" * MAX_MEMBERS
    around = '{{"code": {}, "values": {}}}'

    assert await accepted(around.format(json.dumps(code), listed(MAX_MEMBERS - 4)))
    assert not await accepted(around.format(json.dumps(code), listed(MAX_MEMBERS + 1)))


async def test_backslashes_and_quotes_alone_are_no_values():
    assert await accepted("\\" * (MAX_MEMBERS + 1))
    assert await accepted('"' * (MAX_MEMBERS + 1) + "," * MAX_MEMBERS)


async def test_such_a_definition_is_refused(client):
    body = {
        "exec": {"kind": "composition", "composition": {"type": "literal", "value": [0] * 200_000}}
    }

    answer = await client.put("/actions/bomb", json=body)

    assert (answer.status_code, answer.json()["error"]) == (413, TOO_MANY)
    assert (await client.get("/actions/bomb")).status_code == 404


def large(text="one"):
    """A composition that is checked on a thread."""
    body = composer.sequence(*[text] * 2_000).to_json()
    return {"exec": {"kind": "composition", "composition": body}}


async def test_a_large_definition_is_put_and_got_as_any(world, client):
    put = await client.put("/actions/large", json=large())
    got = await client.get("/actions/large")

    assert (put.status_code, got.status_code) == (200, 200)
    assert got.json()["exec"]["composition"] == large()["exec"]["composition"]
    assert world.engine.threads.done >= 3  # parsed, checked, written


async def test_one_that_is_wrong_is_refused_as_any(client):
    body = large()
    body["exec"]["composition"]["components"][1_999] = {"type": "actoin"}

    answer = await client.put("/actions/large", json=body)

    assert answer.status_code == 400
    assert answer.json()["error"].endswith("'actoin' does not exist: did you mean 'action'?")


async def test_of_two_at_once_one_is_in_conflict(client):
    answers = await asyncio.gather(*[client.put("/actions/large", json=large()) for _ in range(2)])

    assert sorted(answer.status_code for answer in answers) == [200, 409]


async def test_one_is_not_put_over_what_came_while_it_was_checked(world, client):
    await world.put("large", "echo")
    first = asyncio.ensure_future(client.put("/actions/large?overwrite=true", json=large()))
    while not world.engine.threads.done:  # it is parsed, and will be checked
        await anyio.lowlevel.checkpoint()
    second = await client.put("/actions/large?overwrite=true", json=large("two"))

    codes = sorted([(await first).status_code, second.status_code])
    assert codes in ([200, 200], [200, 409])
    version = (await client.get("/actions/large?code=false")).json()["version"]
    assert version == ("0.0.3" if codes == [200, 200] else "0.0.2")
