"""Retries: their failures by name, and their delays."""

from __future__ import annotations

from xingqiao import composer
from xingqiao.composer import (
    Limits,
)
from xingqiao.composer.testing import Fail, simulate


def refused(params):
    raise ConnectionRefusedError("down")


def test_a_retry_names_exceptions_by_their_class():
    part = composer.retry(2, "a", errors=ConnectionError)

    down = simulate(part, actions={"a": refused}, crash="every")
    other = simulate(part, actions={"a": lambda params: params["oder"]}, crash="every")

    assert (down.outcome.name, down.outcome.message) == (
        "ConnectionRefusedError", "ConnectionRefusedError: down",
    )  # fmt: skip
    assert {call.activation for call in down.invocations} != {down.invocations[0].activation}
    assert other.outcome.message == "KeyError: 'oder'"
    assert len({call.activation for call in other.invocations}) == 1


def test_a_failing_retry_that_has_run_out_of_steps_ends_with_the_limit():
    run = simulate(composer.retry(None, "a"), actions={"a": Fail("No")}, limits=Limits(steps=5))

    assert run.outcome.code == "LimitExceeded"


def test_jitter_takes_a_share_off_and_the_same_run_draws_the_same():
    part = composer.retry(3, "a", delay=10, backoff=2, max_delay=15, jitter=0.5)

    first, again = (simulate(part, actions={"a": Fail("No")}) for _ in range(2))

    assert first.elapsed == again.elapsed
    assert 20 <= first.elapsed <= 40
    forever = composer.retry(3000, "a", delay=1, backoff=10, max_delay=1)
    assert simulate(forever, actions={"a": Fail("No")}).elapsed == 3000
