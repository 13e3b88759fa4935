"""The messages that follow a commit: their keys, and the timers among them."""

from __future__ import annotations

import pytest

from tests.kit.deploy.hosts import ID, START_MS, Clock, Table
from xingqiao import composer
from xingqiao.composer import compile
from xingqiao.infra.deploy.hosted import Conductor, Deployed, Note
from xingqiao.infra.deploy.hosted.messages import LONGEST_S

DAY_S = 24 * 3600


class Outbox:
    """Keeps what it is sent, and may fail first."""

    def __init__(self, *, fails=False):
        self.sent, self._fails = [], fails

    def send(self, sends):
        self.sent += sends
        if self._fails:
            self._fails = False
            raise OSError("the queue is not there")


def conductor(composition, outbox, **options):
    programs = {"/_/main": compile(composition).to_json()}
    deployed = Deployed.from_json({"programs": programs, "actions": {"/_/add": {}}})
    clock, table = Clock(), Table()
    return Conductor(deployed, table, outbox, clock, **options), clock, table


def test_messages_that_are_sent_again_have_the_keys_that_they_had():
    outbox = Outbox(fails=True)
    host, clock, _ = conductor(composer.parallel("add", composer.wait(60)), outbox)
    with pytest.raises(OSError, match="the queue is not there"):
        host.begin(ID, "/_/main", {})

    clock.ms += 60_000
    host.sweep()

    keys = [send.key for send in outbox.sent]
    assert len(set(keys[:2])) == 2
    assert keys[2:4] == keys[:2]
    assert all(key.startswith(f"{ID}/1/") for key in keys[:2])


def test_an_action_that_is_asked_once_more_has_another_key():
    outbox = Outbox()
    host, clock, _ = conductor(composer.task("add"), outbox)
    host.begin(ID, "/_/main", {})

    clock.ms += 600_000
    host.sweep()

    assert [send.key for send in outbox.sent] == [f"{ID}/1/0", f"{ID}/2/0"]


@pytest.mark.parametrize("longest_s", [LONGEST_S, 20 * DAY_S])
def test_a_timer_is_a_message_up_to_the_longest_delay_and_is_left_to_the_sweep_beyond(longest_s):
    for seconds, notes in ((longest_s, 1), (longest_s + 1, 0)):
        outbox = Outbox()
        host, clock, table = conductor(composer.wait(seconds), outbox, longest_s=longest_s)
        host.begin(ID, "/_/main", {})

        timers = [send for send in outbox.sent if isinstance(send, Note)]
        assert [timer.delay_s for timer in timers] == [longest_s] * notes
        clock.ms = START_MS + 1000 * seconds + 60_000
        assert list(table.due(clock.ms)) == [ID]


def test_a_timer_that_comes_before_its_time_is_sent_again_with_the_rest():
    outbox = Outbox()
    host, clock, _ = conductor(composer.wait(10 * DAY_S), outbox, longest_s=20 * DAY_S)
    host.begin(ID, "/_/main", {})

    clock.ms += 9 * DAY_S * 1000
    host.receive(outbox.sent[0].message)

    assert outbox.sent[1].delay_s == DAY_S
