"""Actions of OpenWhisk hosts; the contract suite has what all clouds share."""

from __future__ import annotations

from xingqiao.actions import Remote
from xingqiao.adapters import Fault
from xingqiao.adapters.openwhisk import WhiskAdapter
from xingqiao.adapters.port import Request

TARGET = Remote("openwhisk:action", "hello", {"host": "https://host.example"})


class Channel:
    """Keeps what is sent, and answers nothing."""

    async def send(self, request, outgoing):
        self.sent = outgoing
        return Fault.saying("Unavailable", "nobody is there", "no")


async def test_each_attempt_of_a_sagas_step_is_a_call_of_its_own():
    """A host of ours runs a call once for each idempotency key: an attempt after a failure must run again."""
    channel = Channel()
    request = Request(
        target=TARGET,
        params={},
        deadline_ms=1,
        key="of-the-step",
        traceparent="",
        activation="a" * 32,
    )

    await WhiskAdapter(channel).invoke(request)

    assert channel.sent.headers["Idempotency-Key"] == "a" * 32
