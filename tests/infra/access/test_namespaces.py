"""Namespaces: the first ones, their credentials, and what is stored of them."""

from __future__ import annotations

import re
from hashlib import sha256

import orjson
import pytest

from tests.kit.http.worlds import KEY, USER
from tests.kit.http.worlds import world as opened
from xingqiao.actions import Document, Quotas, Write
from xingqiao.infra.access.namespaces import AuthError, Namespaces, first_namespaces
from xingqiao.infra.clock import SystemClock
from xingqiao.infra.stores import MemoryStore

CREDENTIALS = f"{USER}:{KEY}"
OPERATOR_USER = "operator"


async def open_namespaces(store, guest, operator="operator:an-operators-key"):
    """The namespaces of a store, and the credentials of `guest` that are to be shown."""
    namespaces = Namespaces(store, SystemClock(), Quotas(), b"secret")
    await namespaces.load()
    return namespaces, (await first_namespaces(namespaces, guest, operator))[0]


async def kept(store):
    documents = [document async for document in store.documents("namespace")]
    return [document for document in documents if document.key != OPERATOR_USER]


async def knows(store, credentials, auth=None):
    """True if a service on this store lets these credentials in."""
    async with opened(store, auth=auth) as world:
        caller = world.caller(auth=tuple(credentials.split(":")))
        answer = await caller.get("/api/v1/namespaces")
    return answer.status_code == 200


async def test_the_first_start_makes_credentials_and_shows_them_once():
    store = MemoryStore()

    _, shown = await open_namespaces(store, None)
    _, again = await open_namespaces(store, None)

    assert re.fullmatch(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}:[A-Za-z0-9]{64}", shown)
    assert again is None
    assert await knows(store, shown)


async def test_two_services_make_different_credentials():
    shown = {(await open_namespaces(MemoryStore(), None))[1] for _ in range(3)}

    assert len(shown) == 3


async def test_keys_are_kept_as_they_are_when_there_is_nothing_to_seal_them_with():
    store = MemoryStore()
    await open_namespaces(store, CREDENTIALS)

    (document,) = await kept(store)
    assert document.key == USER
    assert orjson.loads(document.body) == {
        "name": "guest",
        "key_hash": sha256(KEY.encode()).hexdigest(),
        "limits": {},
        "credentials": KEY,
    }


async def test_credentials_that_are_given_are_not_shown_and_last():
    store = MemoryStore()

    _, shown = await open_namespaces(store, CREDENTIALS)

    assert shown is None
    assert await knows(store, CREDENTIALS)


@pytest.mark.parametrize("second", [f"{USER}:another-key", f"another:{KEY}", "other:another-key"])
async def test_credentials_that_are_given_replace_those_before(second):
    store = MemoryStore()
    await open_namespaces(store, CREDENTIALS)

    await open_namespaces(store, second)

    assert await knows(store, second)
    assert not await knows(store, CREDENTIALS)
    assert len(await kept(store)) == 1


async def test_the_same_credentials_again_change_nothing():
    store = MemoryStore()
    await open_namespaces(store, CREDENTIALS)
    before = await kept(store)

    await open_namespaces(store, CREDENTIALS)

    assert await kept(store) == before


@pytest.mark.parametrize(
    "credentials",
    ["", ":", "user", "user:", ":long-enough", "user:short", "user:has blanks", "us er:long-enough",
     "user:\n12345678", "üser:long-enough", "user:lång-enough", "u" * 129 + ":long-enough",
     "user:" + "k" * 257],
)  # fmt: skip
async def test_credentials_that_cannot_be_used_are_refused_and_nothing_is_kept(credentials):
    store = MemoryStore()

    with pytest.raises(
        AuthError, match="the credentials must be UUID:KEY, with a key of at least 8 printable"
    ):
        await open_namespaces(store, credentials)

    assert await kept(store) == []


async def test_other_namespaces_keep_their_keys_when_the_first_gets_a_new_one():
    store = MemoryStore()
    body = orjson.dumps({"name": "other", "key_hash": sha256(b"other-key").hexdigest()})
    await store.commit([Write(documents=[Document(kind="namespace", key="other-user", body=body)])])

    await open_namespaces(store, CREDENTIALS)

    assert await knows(store, "other-user:other-key")
    assert await knows(store, CREDENTIALS)
