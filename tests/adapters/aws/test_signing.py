"""Who asks AWS: botocore's chain, asked seldom and once; signatures; nothing of it is shown."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from datetime import UTC, datetime, timedelta

import pytest

from tests.kit.actions.things import StandingClock
from tests.kit.adapters.aws_world import KEYS, environment, live_in
from xingqiao.adapters.aws.signing import AGAIN_MS, Chain, KeySource, Signer
from xingqiao.adapters.credentials import AwsKeys, CredentialsError
from xingqiao.adapters.port import HttpRequest

ASK = HttpRequest(
    method="POST", url="https://lambda.eu-west-1.amazonaws.com/2015-03-31/x?Qualifier=a%20b"
)
GIVES = """
import json, sys
with open({count!r}, "a") as file:
    file.write("x")
if {fails}:
    sys.exit("the secret is HIDDEN")
print(json.dumps({{
    "Version": 1, "AccessKeyId": "AKIAPROCESS", "SecretAccessKey": "a-secret-of-a-process",
    "SessionToken": "a-token", "Expiration": {expires!r},
}}))
"""


@pytest.fixture
def process(monkeypatch, tmp_path):
    """A chain that ends in a program: sets how it answers, and counts how often it was asked."""
    count, program, config = tmp_path / "count", tmp_path / "gives.py", tmp_path / "config"
    config.write_text(f"[default]\ncredential_process = {sys.executable} {program}\n")
    live_in(monkeypatch, **{**environment(keys=None), "AWS_CONFIG_FILE": str(config)})

    def answers(expires_s=3600, *, fails=False):
        at = (datetime.now(UTC) + timedelta(seconds=expires_s)).isoformat()  # noqa: TID251  botocore's clock
        program.write_text(GIVES.format(count=str(count), fails=fails, expires=at))

    answers()
    answers.asked = lambda: len(count.read_text()) if count.exists() else 0
    return answers


async def test_the_environment_s_keys_are_found(monkeypatch):
    live_in(monkeypatch, **environment(), AWS_SESSION_TOKEN="a-token")
    chain = Chain(StandingClock())

    keys = await chain.keys()

    assert isinstance(chain, KeySource)
    assert (keys.access_key, keys.secret_key, keys.session_token) == (*KEYS, "a-token")


async def test_a_chain_that_has_nothing_says_what_would_do(monkeypatch):
    live_in(monkeypatch, **environment(keys=None))

    with pytest.raises(CredentialsError) as caught:
        await Chain(StandingClock()).keys()

    fault = caught.value.fault
    assert (fault.code, fault.may_have_run) == ("Permission", "no")
    assert fault.error["message"] == (
        "AWS' usual chain gives this server no credentials: set AWS_PROFILE or AWS_ACCESS_KEY_ID, "
        "or name a secret in the action's 'credentials'"
    )


async def test_all_who_wait_ask_once(process):
    chain = Chain(StandingClock())

    found = await asyncio.gather(*(chain.keys() for _ in range(20)))

    assert process.asked() == 1
    assert {keys.access_key for keys in found} == {"AKIAPROCESS"}


async def test_keys_that_live_long_are_kept(process):
    clock = StandingClock()
    chain = Chain(clock)
    await chain.keys()

    clock.ms += 100 * AGAIN_MS
    await chain.keys()

    assert process.asked() == 1


async def test_keys_are_had_anew_before_they_expire_but_not_at_every_request(process):
    process(expires_s=300)
    clock = StandingClock()
    chain = Chain(clock)
    await chain.keys()
    before = process.asked()

    for _ in range(3):
        await chain.keys()
    assert process.asked() == before

    clock.ms += AGAIN_MS
    await chain.keys()
    assert process.asked() == before + 1


async def test_keys_that_still_hold_are_used_while_the_chain_fails(process):
    process(expires_s=300)
    clock = StandingClock()
    chain = Chain(clock)
    known = await chain.keys()
    process(fails=True)

    clock.ms += AGAIN_MS

    assert await chain.keys() == known


async def test_what_a_chain_raises_is_told_by_its_kind_only(process, caplog):
    process(fails=True)

    with pytest.raises(CredentialsError) as caught:
        await Chain(StandingClock()).keys()

    assert "no credentials (CredentialRetrievalError)" in caught.value.fault.error["message"]
    assert "HIDDEN" not in str(caught.value) + caplog.text
    assert caught.value.__cause__ is None


async def test_refused_keys_are_looked_up_from_the_beginning_but_not_at_once(process):
    clock = StandingClock()
    chain = Chain(clock)
    await chain.keys()

    assert not chain.refused()  # they were had just now: others cannot be
    clock.ms += AGAIN_MS
    assert chain.refused()
    await chain.keys()

    assert process.asked() == 2


async def test_neither_chain_nor_keys_prove_anything_to_other_clouds():
    for source in (Chain(StandingClock()), AwsKeys(*KEYS)):
        with pytest.raises(CredentialsError) as caught:
            await source.headers(ASK, 0)
        assert "not valid for other clouds" in caught.value.fault.error["message"]


# --- signatures --------------------------------------------------------------------------------


async def test_a_request_is_signed_with_what_it_says():
    signer = Signer(AwsKeys(*KEYS), "lambda", "eu-west-1")

    headers = await signer.headers(ASK, 0)

    assert headers.keys() == {"X-Amz-Date", "Authorization"}
    assert f"Credential={KEYS[0]}/" in headers["Authorization"]
    assert "/eu-west-1/lambda/aws4_request" in headers["Authorization"]
    assert not signer.refused()


async def test_a_session_s_token_goes_along():
    headers = await Signer(AwsKeys(*KEYS, "a-token"), "sqs", "eu-west-1").headers(ASK, 0)

    assert headers["X-Amz-Security-Token"] == "a-token"
    assert "x-amz-security-token" in headers["Authorization"]


async def test_nothing_shows_keys_or_signatures(monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    live_in(monkeypatch, **environment(), AWS_SESSION_TOKEN="a-token")
    chain = Chain(StandingClock())
    keys = await chain.keys()
    signer = Signer(keys, "lambda", "eu-west-1")
    headers = await signer.headers(ASK, 0)

    shown = f"{chain!r} {keys!r} {signer!r} {json.dumps(str(caplog.records))} {caplog.text}"

    for secret in (KEYS[1], "a-token", headers["Authorization"].rpartition("=")[2]):
        assert secret not in shown
