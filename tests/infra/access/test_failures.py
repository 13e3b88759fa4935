"""Failed attempts to authenticate: counted all, logged few, and never with a secret."""

from tests.kit.actions.things import StandingClock
from xingqiao.infra.access.failures import Failures


def test_the_first_is_logged_at_once_and_those_of_the_next_seconds_are_counted(caplog):
    clock = StandingClock()
    failures = Failures(clock)

    failures.add("invalid", "10.0.0.1", "GET /x", "guest/ci")
    for _ in range(5):
        failures.add("missing", "10.0.0.2", "GET /y")
    clock.ms += 9_999
    failures.add("invalid", "10.0.0.3", "GET /z")
    clock.ms += 1
    failures.add("missing", "10.0.0.4", "GET /z")

    first, second = caplog.messages
    assert first == (
        "authentication failed: invalid credentials from 10.0.0.1 for GET /x, with the id of the key "
        "guest/ci"
    )
    assert second == (
        "authentication failed: missing credentials from 10.0.0.4 for GET /z; and 6 attempts since the "
        "line before"
    )
    assert failures.counts == {"invalid": 2, "missing": 6}


def test_a_clock_that_is_set_back_does_not_silence_the_log(caplog):
    clock = StandingClock()
    failures = Failures(clock)
    failures.add("invalid", "a", "GET /")
    clock.ms -= 3_600_000

    failures.add("invalid", "b", "GET /")

    assert len(caplog.messages) == 2


def test_both_reasons_are_there_before_anything_failed():
    assert Failures(StandingClock()).counts == {"invalid": 0, "missing": 0}
