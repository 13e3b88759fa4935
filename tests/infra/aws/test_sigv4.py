"""Signatures: AWS' own signer is let in, and nobody else."""

from __future__ import annotations

import json
from email.utils import formatdate

import pytest

from tests.kit.http.worlds import KEY, USER
from tests.kit.http.worlds import world as opened
from tests.kit.stepfunctions.clients import URL, Aws, told
from xingqiao.actions import Document, Write
from xingqiao.infra.aws.sigv4 import CACHED
from xingqiao.infra.stores import MemoryStore

MINUTES = 60_000
MISMATCH = (
    "InvalidSignatureException",
    (
        "The request signature we calculated does not match the signature you provided. Check your "
        "AWS Secret Access Key and signing method. Consult the service documentation for details."
    ),
)
UNKNOWN = ("UnrecognizedClientException", "The security token included in the request is invalid.")
NAMED = "AWS4-HMAC-SHA256 Credential="


async def who(params, caller, api):
    return {"namespace": caller.namespace, "params": params}


OPERATIONS = {"ListStateMachines": who}


def aws(world, *args, **options):
    return Aws(world, *args, operations=OPERATIONS, **options)


async def refused(world, **options):
    return await aws(world, **options).refused("ListStateMachines")


async def altered(world, content=b"{}", url=URL, **changes):
    """What is told of a request that is changed after it was signed."""
    client = aws(world)
    headers = client.signed(b"{}", client.headers("ListStateMachines"))
    given = {name: value for name, value in {**headers, **changes}.items() if value is not None}
    return told(await client.send(content, given, url))


async def test_who_signs_with_the_key_of_a_namespace_is_of_it(world):
    answer = await aws(world)("ListStateMachines", maxResults=3)

    assert answer == {"namespace": "guest", "params": {"maxResults": 3}}


@pytest.mark.parametrize(
    "url",
    ["http://sync-test/", "http://test:3233/", "http://sync-localhost:4566/", "http://[::1]:80/",
     "http://test/a%20b/c/?b=2&a=1&a=0&c", "http://test/x/../y//z/", "http://test/?q=a%2Fb~c"],
)  # fmt: skip
async def test_any_host_and_path_may_be_asked(world, url):
    client = aws(world)
    answer = await client.post(b"{}", client.headers("ListStateMachines"), url)

    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("region", ["us-east-1", "eu-central-2", "x" * CACHED])
async def test_any_region_may_be_signed_for(world, region):
    assert (await aws(world, region=region)("ListStateMachines"))["namespace"] == "guest"


async def test_blanks_in_headers_do_not_count(world):
    client = aws(world)
    headers = client.headers("ListStateMachines") | {"X-Amz-Note": "a   b", "Other": "x\t y"}

    assert (await client.post(b"{}", headers)).status_code == 200


async def test_a_date_header_will_do(world):
    client = aws(world)
    headers = client.headers("ListStateMachines") | {"Date": formatdate(usegmt=True)}

    assert (await client.post(b"{}", headers)).status_code == 200


@pytest.mark.parametrize("skew", [-5 * MINUTES, -1, 0, 5 * MINUTES])
async def test_a_signature_of_five_minutes_around_now_counts(world, skew):
    assert (await aws(world, skew_ms=skew)("ListStateMachines"))["namespace"] == "guest"


async def test_one_that_is_older_or_newer_does_not(world):
    world.clock.ms = 1_700_000_000_000  # 2023-11-14T22:13:20Z

    code, old = await refused(world, skew_ms=-5 * MINUTES - 1000)
    _, new = await refused(world, skew_ms=5 * MINUTES + 1000)

    assert code == "InvalidSignatureException"
    assert old == (
        "Signature expired: 20231114T220819Z is now earlier than 20231114T220820Z "
        "(20231114T221320Z - 5 min.)"
    )
    assert new == (
        "Signature not yet current: 20231114T221821Z is still later than 20231114T221820Z "
        "(20231114T221320Z + 5 min.)"
    )


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"key_id": "nobody"}, UNKNOWN),
        ({"key_id": USER.upper()}, UNKNOWN),
        ({"secret": KEY + "x"}, MISMATCH),
        ({"secret": ""}, MISMATCH),
        ({"session": "a-session"}, UNKNOWN),
        ({"session": "action-0"}, UNKNOWN),
        ({"service": "lambda"}, ("InvalidSignatureException", "Credential should be scoped to correct service: 'states'. ")),
    ],
)  # fmt: skip
async def test_who_cannot_sign_is_refused(world, options, error):
    assert await refused(world, **options) == error


async def test_whatever_was_signed_cannot_be_changed(world):
    for changes in (
        {"content": b'{"maxResults": 3}'},
        {"url": URL + "?a=1"},
        {"url": "http://test/elsewhere"},
        {"url": "http://elsewhere/"},
        {"X-Amz-Target": "AWSStepFunctions.DeleteStateMachine"},
        {"Content-Type": "text/plain"},
    ):
        assert await altered(world, **changes) == MISMATCH, changes


async def test_what_it_was_signed_for_must_be_signed_with_it(world):
    client = aws(world)
    headers = client.signed(b"{}", client.headers("ListStateMachines"))
    for name, shown in (("host", "'Host' or ':authority'"), ("x-amz-target", "'X-Amz-Target'")):
        listed = headers["Authorization"].replace(f"{name};", "").replace(f";{name}", "")
        assert told(await client.send(b"{}", {**headers, "Authorization": listed})) == (
            "InvalidSignatureException",
            f"{shown} must be a 'SignedHeader' in the AWS Authorization.",
        )
    note = {**headers, "X-Amz-Note": "more"}
    assert (await client.send(b"{}", note)).json()["message"].startswith("'X-Amz-Note' must")


@pytest.mark.parametrize(
    ("header", "error"),
    [
        (None, ("MissingAuthenticationTokenException", "Missing Authentication Token")),
        ("", ("MissingAuthenticationTokenException", "Missing Authentication Token")),
        ("Basic eDp5", ("IncompleteSignatureException", "Unsupported AWS 'algorithm': it must be 'AWS4-HMAC-SHA256'.")),
        ("AWS4-HMAC-SHA256 nothing", ("IncompleteSignatureException", "Invalid key=value pair (missing equal-sign) in Authorization header.")),
        (NAMED + "a/b", ("IncompleteSignatureException", "Authorization header requires 'Signature' parameter. Authorization header requires 'SignedHeaders' parameter.")),
        (NAMED + "a/b, Signature=0, SignedHeaders=host", ("IncompleteSignatureException", "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got 'a/b'")),
        (NAMED + "a/b/c/d/aws5, Signature=0, SignedHeaders=host", ("InvalidSignatureException", "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws5'.")),
        (NAMED + "a/20240101/c/d/aws4_request, Signature=0, SignedHeaders=host", ("InvalidSignatureException", "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '20240101' != '20231114', from '20231114T221320Z'.")),
    ],
)  # fmt: skip
async def test_an_authorization_that_is_none_is_told_what_it_lacks(world, header, error):
    world.clock.ms = 1_700_000_000_000
    assert await altered(world, Authorization=header) == error


@pytest.mark.parametrize("date", ["yesterday", "20231399T000000Z", "2023-11-14T22:13:20Z"])
async def test_a_date_that_is_none_is_refused(world, date):
    code, _ = await altered(world, **{"X-Amz-Date": date})

    assert code == "IncompleteSignatureException"


async def test_without_a_date_it_is_incomplete(world):
    assert await altered(world, **{"X-Amz-Date": None}) == (
        "IncompleteSignatureException",
        "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.",
    )


async def test_an_action_signs_with_the_key_that_it_is_given(world):
    now = world.clock.ms
    _, _, key = world.api.namespaces.action_key("guest", now).partition(":")
    session = key.rpartition("-")[0]

    assert (await aws(world, USER, key, session)("ListStateMachines"))["namespace"] == "guest"
    assert await refused(world, secret=key) == MISMATCH
    assert await refused(world, secret=KEY, session=session) == MISMATCH
    world.clock.ms = now + MINUTES
    assert (await aws(world, USER, key, session)("ListStateMachines"))["namespace"] == "guest"
    world.clock.ms = now + MINUTES + 1
    assert await refused(world, secret=key, session=session) == UNKNOWN


async def test_a_namespace_that_is_gone_cannot_sign(world):
    user, key = (await world.api.namespaces.create("team", {})).split(":")
    assert (await aws(world, user, key)("ListStateMachines"))["namespace"] == "team"
    again = (await world.api.namespaces.rotate("team")).split(":")
    assert (await aws(world, *again)("ListStateMachines"))["namespace"] == "team"
    assert await refused(world, key_id=user, secret=key) == UNKNOWN

    await world.api.namespaces.delete("team")

    assert await refused(world, key_id=again[0], secret=again[1]) == UNKNOWN


# --- keys that were kept as hashes only ----------------------------------------------------------


async def old_store():
    """What a version before this one has left: the hash of the key `a-key-for-tests`."""
    store = MemoryStore()
    async with opened(store):
        pass
    (document,) = [d async for d in store.documents("namespace") if d.key == USER]
    body = json.loads(document.body)
    del body["credentials"]
    await store.commit([Write(documents=[Document(kind="namespace", key=USER, body=json.dumps(body).encode())])])  # fmt: skip
    return store


async def kept(store):
    (document,) = [d async for d in store.documents("namespace") if d.key == USER]
    return json.loads(document.body)


async def test_a_hash_is_not_enough_until_its_key_is_shown_once():
    store = await old_store()
    async with opened(store, auth=None) as world:
        code, message = await refused(world)
        assert code == "UnrecognizedClientException"
        assert "has only the hash" in message
        assert "rotated" in message
        assert (
            await world.caller(auth=(USER, "another")).get("/api/v1/namespaces")
        ).status_code == 401
        assert (await refused(world))[1] == message

        assert (await world.client.get("/actions")).status_code == 200

        assert (await aws(world)("ListStateMachines"))["namespace"] == "guest"
        assert (await kept(store))["credentials"] == KEY
    async with opened(store, auth=None) as world:
        assert (await aws(world)("ListStateMachines"))["namespace"] == "guest"


async def test_a_key_that_is_shown_while_another_is_given_does_not_come_back():
    store = await old_store()
    async with opened(store, auth=None) as world:
        assert world.api.namespaces.authenticated(USER, KEY) == "guest"
        user, key = (await world.api.namespaces.rotate("guest")).split(":")
        await world.api.namespaces.keep()

        assert await refused(world) == UNKNOWN
        assert (await aws(world, user, key)("ListStateMachines"))["namespace"] == "guest"
    async with opened(store, auth=None) as world:
        assert await refused(world) == UNKNOWN


def test_what_is_secret_is_not_shown_by_accident():
    from xingqiao.infra.access.namespaces import Namespace

    namespace = Namespace(name="guest", uuid=USER, key_hash="0", key=KEY)

    assert KEY not in repr(namespace)
