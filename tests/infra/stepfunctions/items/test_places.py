"""The buckets of a namespace: in the server's directory for those who may, else on S3 with their own secret."""

from __future__ import annotations

from dataclasses import replace

from tests.kit.actions.things import Answers, StandingClock
from tests.kit.stepfunctions.items import ASKED, Secrets, asked, opened, outcome


async def test_directories_are_for_those_who_may_use_what_is_the_servers_own(root):
    async with opened(root, on_s3=lambda _: None) as invoker:
        failed = await outcome(invoker, ASKED, namespace="other")

    assert failed.error["Cause"] == "namespace 'other' may not use this server's own credentials"


async def test_who_has_a_secret_is_asked_for_with_it(root):
    seen = []

    class Held:
        async def read(self, bucket, key, *_):
            raise LookupError

    def on_s3(request):
        seen.append((request.authorizer, request.deadline_ms, request.key))
        return Held()

    async with opened(root, on_s3, Secrets(("other", "aws"))) as invoker:
        await outcome(invoker, ASKED, namespace="other")

    assert seen[0][0] == "aws"
    assert seen[0][1] == StandingClock().now_ms() + 60_000


async def test_what_is_of_others_is_given_nobodys_secrets(root):
    async with opened(root, on_s3=lambda _: None, secrets=Secrets(("guest", "aws"))) as invoker:
        answers = Answers()
        answers.invoke(invoker, replace(asked(ASKED), owner="other"))
        failed = (await answers.next()).outcome

    assert failed.error["Cause"] == (
        "an action of the namespace 'other' that 'guest' runs gets the secrets of neither"
    )
