"""What each cloud says in its own words, and what that means."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tests.kit.actions.things import Answers, invocation
from tests.kit.adapters.asking import check, run
from tests.kit.contracts.elsewhere import SECRET, action, opened
from tests.rigs.answers import held
from tests.rigs.issuers import IbmIam
from xingqiao.adapters.ambient import azure as azure_identity
from xingqiao.adapters.ambient import google as google_identity
from xingqiao.adapters.credentials import CredentialsError, SecretError
from xingqiao.infra.clock import SystemClock

pytestmark = pytest.mark.usefixtures("no_secret_is_shown")


# --- checks, mistakes, identities --------------------------------------------------------------


async def test_a_check_tells_what_is_wrong_with_a_secret(host):
    issuer = IbmIam(host, key="another")
    secrets = {"mine": {"type": "iam", "apikey": SECRET, "url": issuer.url}}
    exec = {"kind": "http", "function": f"{host.url}/fn", "credentials": "mine"}

    found = await check(exec, secrets)

    assert (found.code, found.may_have_run) == ("Permission", "no")
    assert SECRET not in str(found)
    assert (await check(exec, {})).code == "Permission"


async def test_a_key_of_aws_is_refused_by_other_clouds(host):
    secrets = {"mine": {"type": "aws", "access_key_id": "A", "secret_access_key": SECRET}}

    ended = await run(
        {"kind": "http", "function": host.url, "credentials": "mine"}, secrets=secrets
    )

    assert ended.told == ("Permission", "no")


class Mistaken:
    """An `Adapter` of ours that breaks the law."""

    cloud = "http"

    def ambient(self, target):
        return None

    async def invoke(self, request):
        raise ValueError("a mistake")

    async def stop(self, request, receipt):
        raise ValueError("another")


async def test_a_mistake_of_ours_is_an_answer_too(caplog):
    answers = Answers()
    async with opened() as invoker:
        invoker._adapters = {"http": Mistaken()}
        asked = invocation(action({"kind": "http", "function": "https://h/"}))
        answers.invoke(invoker, asked)

        completion = await answers.next()
    assert (completion.outcome.code, completion.may_have_run) == ("InternalError", "unknown")
    assert "The adapter for 'http' raised an exception" in caplog.text


async def test_who_waits_for_a_token_waits_no_longer_than_the_deadline(host):
    slow = held()
    host.on("POST", "/identity/token", slow)
    secrets = {"mine": {"type": "iam", "apikey": SECRET, "url": f"{host.url}/identity/token"}}

    ended = await run(
        {"kind": "http", "function": host.url, "credentials": "mine"},
        secrets=secrets,
        timeout_ms=1000,
    )
    slow.release()

    assert ended.told == ("Unavailable", "no")
    assert ended.completion.ended_ms - ended.completion.started_ms < 5000


class Nobody:
    """What the SDK of Azure has: a credential that cannot be had."""

    def get_token(self, scope):
        raise ValueError(f"{scope} {SECRET}")


@pytest.mark.parametrize(
    ("identity", "cloud"), [(google_identity, "Google"), (azure_identity, "Azure")]
)
async def test_what_the_server_runs_with_is_asked_of_the_sdk(monkeypatch, identity, cloud):
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere")
    sdk = ModuleType("azure.identity")
    sdk.DefaultAzureCredential = Nobody
    monkeypatch.setitem(sys.modules, "azure.identity", sdk)
    monkeypatch.setitem(sys.modules, "azure", ModuleType("azure"))
    authorizer = identity(SystemClock())("https://h/.default")

    with pytest.raises(CredentialsError) as refused:
        await authorizer.headers(None, 0)

    assert f"{cloud}'s usual chain gives this server no credentials" in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("identity", "module", "extra"),
    [
        (google_identity, "google.oauth2.id_token", "xingqiao[gcp]"),
        (azure_identity, "azure.identity", "xingqiao[azure]"),
    ],
)
def test_an_sdk_that_is_not_there_is_named(monkeypatch, identity, module, extra):
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(SecretError) as refused:
        identity(SystemClock())("https://h/.default")

    assert extra in str(refused.value)
