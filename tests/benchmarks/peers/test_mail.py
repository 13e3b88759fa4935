"""Messages: executions wait, each is told one, and what they return is checked."""

from __future__ import annotations

import asyncio
from collections import defaultdict

import pytest

from benchmarks.peers import mail
from benchmarks.peers.load import WrongResultError
from benchmarks.peers.mail import WARM_UP, measure
from benchmarks.peers.work import Mail


class Boxes:
    """Executions that return what they are told; or something else."""

    def __init__(self, wrong=None):
        self.begun, self.told, self.wrong = [], [], wrong
        self._boxes = defaultdict(asyncio.Future)

    async def expect(self, number):
        self.begun.append(number)

    async def received(self, number):
        assert number in self.begun
        return await self._boxes[number]

    async def tell(self, number, payload):
        self.told.append(number)
        self._boxes[number].set_result(self.wrong or payload)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(mail, "SETTLE_S", 0)


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_each_execution_is_told_once_after_a_warm_up(concurrency):
    boxes = Boxes()

    figures = await measure(boxes, Mail(concurrency=concurrency, count=10))

    assert boxes.begun == boxes.told == [*range(WARM_UP + 10)]
    assert figures["messages"] == 10
    assert 0 <= figures["accepted_ms"] <= figures["acted_ms"]
    assert figures["messages_per_s"] > 0


async def test_a_wrong_result_is_no_figure():
    with pytest.raises(ExceptionGroup) as raised:
        await measure(Boxes({"by": "bob"}), Mail(concurrency=1, count=1))

    assert raised.group_contains(WrongResultError, match=r"mail: the result is \{'by': 'bob'\}")


def test_what_a_program_is_told_is_what_was_meant():
    sent = Mail(concurrency=2, count=9)

    assert Mail(**sent.to_json()) == sent
