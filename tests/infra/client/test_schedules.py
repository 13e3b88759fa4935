"""Requests for schedules on a server."""

from __future__ import annotations

import pytest

from tests.kit.client.wires import scripted
from tests.kit.infra.servers import AUTH
from xingqiao.client import InDoubtError, connect

DESCRIBED = (200, {}, {"name": "n", "document": {"spec": {}}, "status": "active"})
PATH = "/api/v1/namespaces/_/schedules"


async def asked(verb, *args, answers=(DESCRIBED,), **options):
    """The requests of a method, and what it returns."""
    async with scripted(*answers) as server, connect(server.url, AUTH) as x:
        found = await getattr(x.schedule("every day"), verb)(*args, **options)
    return [(method, target, body) for method, target, _, body in server.requests], found


@pytest.mark.parametrize(
    ("verb", "args", "options", "request_"),
    [
        ("create", ({"spec": {}},), {}, ("PUT", "?overwrite=false", {"spec": {}})),
        ("create", ({},), {"overwrite": True}, ("PUT", "?overwrite=true", {})),
        ("describe", (), {}, ("GET", "", None)),
        ("pause", (), {}, ("POST", "/pause", None)),
        ("resume", (), {}, ("POST", "/resume", None)),
        ("trigger", (), {}, ("POST", "/trigger", {})),
        ("trigger", (), {"overlap": "skip"}, ("POST", "/trigger", {"overlap": "skip"})),
        ("backfill", (1, "2027"), {}, ("POST", "/backfill", {"from": 1, "to": "2027"})),
        ("delete", (), {}, ("DELETE", "", None)),
    ],
)
async def test_a_method_is_a_request(verb, args, options, request_):
    method, rest, body = request_

    requests, found = await asked(verb, *args, **options)

    assert requests == [(method, f"{PATH}/every%20day{rest}", body)]
    assert found == DESCRIBED[2]


async def test_the_document_is_read_from_the_description():
    requests, found = await asked("get")

    assert requests == [("GET", f"{PATH}/every%20day", None)]
    assert found == {"spec": {}}


async def test_what_only_reads_is_sent_again():
    requests, found = await asked("describe", answers=(None, None, DESCRIBED))

    assert len(requests) == 3
    assert found == DESCRIBED[2]


@pytest.mark.parametrize(
    ("verb", "args"), [("create", ({},)), ("trigger", ()), ("backfill", (1, 2)), ("delete", ())]
)
async def test_runs_are_not_started_twice(verb, args):
    with pytest.raises(InDoubtError):
        await asked(verb, *args, answers=(None, DESCRIBED))


async def test_schedules_are_listed_page_by_page():
    first = [{"name": f"s{n}"} for n in range(200)]
    answers = (200, {}, first), (200, {}, [{"name": "t"}])
    async with scripted(*answers) as server, connect(server.url, AUTH) as x:
        names = [each.name async for each in x.schedules()]

    assert names == [doc["name"] for doc in first] + ["t"]
    assert [target for _, target, _, _ in server.requests] == [
        f"{PATH}?limit=200&skip=0",
        f"{PATH}?limit=200&skip=200",
    ]
