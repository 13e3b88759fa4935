"""Who asks: what each secret becomes, tokens that are got in time and once, and that nothing of it is shown."""

from __future__ import annotations

import asyncio
import base64
import hmac
from contextlib import asynccontextmanager

import anyio.lowlevel
import pytest

from tests.kit.actions.things import StandingClock
from tests.rigs.answers import answer, cut
from tests.rigs.issuers import Entra, Google, IbmIam
from xingqiao.actions import parsed_remote
from xingqiao.adapters import Authorizers, Egress, Fault, Rules, SecretError, Tokens, adapters
from xingqiao.adapters.credentials import CredentialsError, Expiring
from xingqiao.adapters.port import HttpRequest
from xingqiao.infra.clock import SystemClock

pytestmark = pytest.mark.usefixtures("no_secret_is_shown")

SECRET = "a-secret-that-nobody-sees"
AUDIENCE = "https://f-1.run.app"
ASK = HttpRequest(
    method="POST", url="https://h/", headers={"Idempotency-Key": "k-1"}, body=b'{"n":1}'
)


@asynccontextmanager
async def opened(clock=None):
    async with Egress(Rules(["127.0.0.1"]), clock or SystemClock()) as egress:
        yield Tokens(egress, clock or SystemClock())


def basic(text):
    return f"Basic {base64.b64encode(text.encode()).decode()}"


# --- secrets that stay the same ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("secret", "headers"),
    [
        ("id:key", {"Authorization": basic("id:key")}),
        ("id:a:b", {"Authorization": basic("id:a:b")}),
        (
            {"type": "basic", "username": "me", "password": "über"},
            {"Authorization": basic("me:über")},
        ),
        ({"type": "bearer", "token": "t.o-k"}, {"Authorization": "Bearer t.o-k"}),
        ({"type": "header", "name": "X-Api-Key", "value": "v"}, {"X-Api-Key": "v"}),
        ({"type": "functions-key", "key": "k=="}, {"x-functions-key": "k=="}),
    ],
)
async def test_what_a_secret_puts_into_a_request(secret, headers):
    async with opened() as tokens:
        authorizer = tokens.authorizer(secret, AUDIENCE)

        assert await authorizer.headers(ASK, 0) == headers
        assert not authorizer.refused()  # there is no other
        assert all(text not in repr(authorizer) for text in headers.values())


@pytest.mark.parametrize(
    ("secret", "key"),
    [
        ("whsec_" + base64.b64encode(b"0123456789").decode(), b"0123456789"),
        ("not base64!", b"not base64!"),
    ],
)
async def test_a_body_is_signed_as_standard_webhooks_has_it(secret, key):
    async with opened() as tokens:
        authorizer = tokens.authorizer({"type": "hmac", "secret": secret}, AUDIENCE)
        headers = await authorizer.headers(ASK, 1_700_000_000_999)

    signed = hmac.digest(key, b'k-1.1700000000.{"n":1}', "sha256")
    assert headers == {
        "webhook-id": "k-1",
        "webhook-timestamp": "1700000000",
        "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
    }
    assert not authorizer.refused()
    assert secret not in repr(authorizer)


async def test_a_key_of_aws_is_none_elsewhere_and_is_not_shown():
    secret = {
        "type": "aws",
        "access_key_id": "AKIA",
        "secret_access_key": SECRET,
        "session_token": SECRET,
    }
    async with opened() as tokens:
        authorizer = tokens.authorizer(secret, AUDIENCE)

        assert (authorizer.access_key, authorizer.secret_key) == ("AKIA", SECRET)
        assert SECRET not in repr(authorizer)
        with pytest.raises(CredentialsError, match="not valid for other clouds"):
            await authorizer.headers(ASK, 0)
        assert not authorizer.refused()


MALFORMED = [
    (None, "a secret is a text 'id:key', or has a 'type' of basic, bearer"),
    (7, "a secret is a text"),
    ([SECRET], "a secret is a text"),
    ({}, "has a 'type' of"),
    ({"type": "password", "password": SECRET}, "has a 'type' of"),
    ({"type": ["basic"]}, "has a 'type' of"),
    (SECRET, "must be 'id:key', on one line"),
    (f"id:{SECRET}\n", "must be 'id:key', on one line"),
    ({"type": "basic", "username": "me"}, "of type 'basic' needs 'password', a text"),
    ({"type": "basic", "username": "", "password": SECRET}, "of type 'basic' needs 'username'"),
    ({"type": "bearer", "token": 7}, "of type 'bearer' needs 'token', a text"),
    ({"type": "bearer", "token": f"{SECRET}\n"}, "of type 'bearer' needs 'token', a text of one line"),
    ({"type": "bearer", "token": f"{SECRET} b"}, "'token' of a secret of type 'bearer' must be ASCII"),
    ({"type": "header", "name": "X Key", "value": SECRET}, "needs a 'name' that a header may have"),
    ({"type": "header", "name": "Host", "value": SECRET}, "needs a 'name' that a header may have"),
    ({"type": "header", "name": "X-Key", "value": f"{SECRET}\r\nA: b"}, "needs 'value', a text of one"),
    ({"type": "functions-key"}, "of type 'functions-key' needs 'key'"),
    ({"type": "iam"}, "of type 'iam' needs 'apikey'"),
    ({"type": "iam", "apikey": SECRET, "url": "iam.test"}, "'url' of a secret of type 'iam' must be"),
    ({"type": "iam", "apikey": SECRET, "url": "https://[::1"}, "'url' of a secret of type 'iam' must"),
    ({"type": "iam", "apikey": SECRET, "url": f"https://me:{SECRET}@h/"}, "'url' of a secret of type"),
    ({"type": "entra", "tenant": "t", "client_id": "c"}, "of type 'entra' needs 'client_secret'"),
    ({"type": "service_account"}, "of type 'service_account' needs 'token_uri'"),
    (
        {"type": "service_account", "token_uri": "https://h/", "client_email": "e", "private_key": SECRET},
        "a service account needs a 'private_key' in PEM",
    ),
    ({"type": "hmac"}, "of type 'hmac' needs 'secret'"),
    ({"type": "hmac", "secret": f"whsec_{SECRET}!"}, "what follows 'whsec_' in a secret must be base64"),
    ({"type": "aws", "access_key_id": "A"}, "of type 'aws' needs 'secret_access_key'"),
    ({"type": "aws", "access_key_id": "A", "secret_access_key": SECRET, "session_token": 1}, "needs 'session_token'"),
]  # fmt: skip


@pytest.mark.parametrize(("secret", "text"), MALFORMED)
async def test_a_secret_that_is_malformed_is_named_and_not_shown(secret, text):
    async with opened() as tokens:
        with pytest.raises(SecretError) as refused:
            tokens.authorizer(secret, AUDIENCE)

    assert text in str(refused.value)
    assert SECRET not in str(refused.value)


# --- tokens ------------------------------------------------------------------------------------


def iam(host, **options):
    issuer = IbmIam(host, key=SECRET, **options)
    return issuer, {"type": "iam", "apikey": SECRET, "url": issuer.url}


def entra(host, **options):
    scope = f"{AUDIENCE}/.default"
    issuer = Entra(host, tenant="a-tenant", client="me", secret=SECRET, scope=scope, **options)
    secret = {"type": "entra", "tenant": "a-tenant", "client_id": "me", "client_secret": SECRET}
    return issuer, {**secret, "authority": host.url}


def google(host, **options):
    issuer = Google(host, audience=AUDIENCE, **options)
    return issuer, issuer.account


@pytest.mark.parametrize("make", [iam, entra, google])
async def test_a_token_is_got_once_for_all_who_wait(host, make):
    issuer, secret = make(host)
    async with opened() as tokens:
        authorizer = tokens.authorizer(secret, AUDIENCE)
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(authorizer.headers(ASK, 0)) for _ in range(10)]

        headers = [task.result() for task in asked]

    assert issuer.asked == 1
    assert headers == [{"Authorization": f"Bearer {issuer.issued[0]}"}] * 10
    assert issuer.issued[0] not in repr(authorizer)
    assert SECRET not in repr(authorizer)


async def test_a_token_is_got_anew_at_four_fifths_of_its_life(host):
    issuer, secret = iam(host, expires_in_s=1000)
    clock = StandingClock(SystemClock().now_ms())
    async with opened(clock) as tokens:
        authorizer = tokens.authorizer(secret, AUDIENCE)
        asked = []
        for moment_ms in (0, 799_999, 1):
            clock.ms += moment_ms
            await authorizer.headers(ASK, clock.ms)
            asked.append(issuer.asked)

    assert asked == [1, 1, 2]


async def test_a_token_that_was_refused_is_not_given_again(host):
    issuer, secret = iam(host)
    async with opened() as tokens:
        authorizer = tokens.authorizer(secret, AUDIENCE)
        first = await authorizer.headers(ASK, 0)
        assert authorizer.refused()

        assert await authorizer.headers(ASK, 0) != first
    assert issuer.asked == 2


async def test_a_token_that_is_refused_to_many_is_got_anew_once(host):
    issuer, secret = iam(host)
    async with authorizers("127.0.0.1") as (found, kept):
        kept.secrets["guest", "mine"] = secret
        leases = [found.of(remote(credentials="mine"), "guest") for _ in range(10)]
        before = [await lease.headers(ASK, 0) for lease in leases]
        issuer.expire()

        after = [await lease.headers(ASK, 0) for lease in leases if lease.refused()]

    assert issuer.asked == 2
    assert len(after) == 10
    assert after[0] != before[0]
    assert all(headers == after[0] for headers in after)


async def test_what_was_never_given_was_not_refused(host):
    host.on("POST", "/identity/token", answer(None, 401))
    async with authorizers("127.0.0.1") as (found, kept):
        kept.secrets["guest", "mine"] = {
            "type": "iam",
            "apikey": "wrong",
            "url": f"{host.url}/identity/token",
        }
        lease = found.of(remote(credentials="mine"), "guest")
        with pytest.raises(CredentialsError):
            await lease.headers(ASK, 0)

        assert not lease.refused()  # so a wrong key is not tried twice


async def test_who_gives_up_waiting_leaves_others_waiting():
    asked, gate = [], asyncio.Event()

    async def fetch():
        asked.append(1)
        await gate.wait()
        return "token", 3600.0

    expiring = Expiring(fetch, StandingClock())
    async with asyncio.TaskGroup() as group:
        impatient, patient = [group.create_task(expiring.headers(ASK, 0)) for _ in range(2)]
        while not asked:
            await anyio.lowlevel.checkpoint()
        impatient.cancel()
        gate.set()

        assert await patient == {"Authorization": "Bearer token"}
    assert len(asked) == 2


REFUSED = [
    (answer({"errorMessage": f"no key {SECRET}"}, 400), ("Permission", "no", False)),
    (answer({"error": f"no {SECRET}"}, 401), ("Permission", "no", False)),
    (answer(None, 429), ("Unavailable", "no", True)),
    (answer(f"down {SECRET}", 503), ("Unavailable", "no", True)),
    (answer({"token": "t"}), ("BadResponse", "no", False)),
    (answer({"access_token": None}), ("BadResponse", "no", False)),
    (answer({"access_token": "a\r\nb"}), ("BadResponse", "no", False)),
    (answer({"access_token": "t", "expires_in": "soon"}), ("BadResponse", "no", False)),
    (answer({"access_token": "t", "expires_in": "NaN"}), ("BadResponse", "no", False)),
    (answer(["t"]), ("BadResponse", "no", False)),
    (answer(f"<html>{SECRET}"), ("BadResponse", "no", False)),
    (answer("x" * 70_000), ("PayloadTooLarge", "no", False)),
    (cut(), ("Lost", "no", True)),
]


@pytest.mark.parametrize(("said", "told"), REFUSED)
async def test_a_token_that_cannot_be_had_means_that_nothing_ran(host, said, told):
    host.on("POST", "/identity/token", said)
    secret = {"type": "iam", "apikey": SECRET, "url": f"{host.url}/identity/token"}
    async with opened() as tokens:
        authorizer = tokens.authorizer(secret, AUDIENCE)
        with pytest.raises(CredentialsError) as refused:
            await authorizer.headers(ASK, 0)

    fault = refused.value.fault
    assert (fault.code, fault.may_have_run, fault.transient) == told
    assert SECRET not in f"{fault} {refused.value}"


async def test_what_gets_a_token_goes_nowhere_without_tls():
    async with Egress(Rules(), SystemClock()) as egress:
        secret = {"type": "iam", "apikey": SECRET, "url": "http://93.184.216.34/token"}
        with pytest.raises(CredentialsError) as refused:
            await Tokens(egress, SystemClock()).authorizer(secret, AUDIENCE).headers(ASK, 0)

    assert refused.value.fault.code == "Permission"
    assert "use https://" in str(refused.value)


# --- which secret ------------------------------------------------------------------------------


class Kept:
    """`Secrets` that can change."""

    def __init__(self):
        self.secrets, self.trusted = {}, set()

    def find(self, namespace, name):
        return self.secrets.get((namespace, name))

    def ambient(self, namespace):
        return namespace in self.trusted


@asynccontextmanager
async def authorizers(*allowed):
    kept, clock = Kept(), SystemClock()
    async with Egress(Rules(allowed), clock) as egress:
        found = adapters(egress, clock, 1000)
        yield Authorizers(kept, Tokens(egress, clock), found), kept


def remote(kind="http", **options):
    least = {"openwhisk:action": {"function": "f", "host": "https://h"}}
    return parsed_remote({"kind": kind, **least.get(kind, {"function": "https://h/f"}), **options})


async def test_a_secret_is_that_of_the_actions_own_namespace():
    async with authorizers() as (found, kept):
        kept.secrets["guest", "mine"] = "id:guest"

        assert found.of(remote(), "guest") is None
        mine = found.of(remote(credentials="mine"), "guest")
        assert mine is found.of(remote(credentials="mine"), "guest")
        with pytest.raises(
            SecretError, match="namespace 'other' has no secret 'mine': xingqiao secret"
        ):
            found.of(remote(credentials="mine"), "other")


async def test_a_secret_that_has_changed_is_used_at_once():
    async with authorizers() as (found, kept):
        kept.secrets["guest", "mine"] = "id:before"
        await found.of(remote(credentials="mine"), "guest").headers(ASK, 0)

        kept.secrets["guest", "mine"] = "id:after"

        headers = await found.of(remote(credentials="mine"), "guest").headers(ASK, 0)
        assert headers == {"Authorization": basic("id:after")}


@pytest.mark.parametrize("kind", ["http", "openwhisk:action"])
async def test_what_the_server_runs_with_is_for_whom_the_operator_trusts(kind):
    async with authorizers() as (found, kept):
        with pytest.raises(SecretError, match="may not use this server's own credentials"):
            found.of(remote(kind, credentials="ambient"), "guest")
        kept.trusted.add("guest")

        assert (
            found.of(remote(kind, credentials="ambient"), "guest") is None
        )  # it has none for these


async def test_the_server_shows_itself_to_nobody_on_behalf_of_another():
    """A token for one service, sent to another, would let that one outgoing the first as this server."""
    aimed = {"audience": "https://victim.example", "credentials": "ambient"}
    async with authorizers() as (found, kept):
        kept.trusted.add("guest")

        with pytest.raises(SecretError, match="'audience' must be of the function's own host"):
            found.of(remote("gcp:function", **aimed), "guest")
        found.of(remote("gcp:function", **{**aimed, "audience": "https://h/other"}), "guest")


@pytest.mark.parametrize("kind", ["gcp:function"])
async def test_what_the_server_runs_with_may_not_be_there(kind, monkeypatch):
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere")
    async with authorizers() as (found, kept):
        kept.trusted.add("guest")
        authorizer = found.of(remote(kind, credentials="ambient"), "guest")
        with pytest.raises(CredentialsError) as refused:
            await authorizer.headers(ASK, 0)

    assert isinstance(refused.value.fault, Fault)
    assert "usual chain gives this server no credentials" in str(refused.value)
