"""Completions become events and statuses: what counts as a result, and what may have run."""

from __future__ import annotations

import pytest

from tests.kit.engine.engines import world
from xingqiao import composer
from xingqiao.actions import BAD_RESPONSE, NOT_FOUND, PAYLOAD_TOO_LARGE, Completion
from xingqiao.composer import APPLICATION_ERROR, Completed, Failed, Failure, Limits, Success
from xingqiao.infra.engine import EngineSettings
from xingqiao.infra.engine.hooks import NoHooks
from xingqiao.infra.engine.outcomes import broken, event_of, may_have_run, status_in_words

VALUE_BYTES = 2000
AROUND = len('{"text":""}')


def completion(outcome, **more):
    return Completion(outcome, 10, 13, **more)


def test_a_success_completes_its_turn_with_its_value_and_variables():
    event = event_of(7, completion(Success({"n": 1}), variables={"seen": True}))

    assert event == Completed(7, {"n": 1}, {"seen": True})


def test_what_an_inline_function_has_set_counts_although_it_fails():
    failure = Failure(APPLICATION_ERROR, "no")

    assert event_of(7, completion(failure, variables={"seen": True})) == Completed(
        7, {"error": "no"}, {"seen": True}
    )
    assert event_of(7, completion(failure)) == Failed(7, failure)


@pytest.mark.parametrize(
    ("code", "known", "doubtful"),
    [
        (APPLICATION_ERROR, None, False),
        (NOT_FOUND, None, False),
        ("Timeout", None, True),
        (BAD_RESPONSE, None, True),
        (PAYLOAD_TOO_LARGE, None, True),
        (BAD_RESPONSE, "no", False),  # the invoker knows more than the code says
        (NOT_FOUND, "unknown", True),
        ("AnErrorOfTheUser", None, False),
    ],
)
def test_a_failure_is_in_doubt_by_its_code_unless_its_invoker_knows_more(code, known, doubtful):
    event = event_of(7, completion(Failure(code, "why"), may_have_run=known))

    assert may_have_run(event) == doubtful


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Success({"error": "no failure, only a value"}), "succeeded"),
        (Failure("Cancelled", "cancelled"), "cancelled"),
        (Failure(APPLICATION_ERROR, "no"), "failed"),
    ],
)
def test_an_execution_has_a_status_by_its_outcome(outcome, status):
    assert status_in_words(outcome, NoHooks()) == status


def test_a_mistake_of_ours_ends_an_execution_with_an_entry_of_its_history():
    changes = broken(42)

    (entry,) = changes.entries
    assert changes.outcome.code == "InternalError"
    assert (entry.at_ms, entry.value) == (42, changes.outcome.error)


@pytest.mark.parametrize(("size", "fits"), [(VALUE_BYTES, True), (VALUE_BYTES + 1, False)])
async def test_a_result_has_so_many_bytes(size, fits):
    text = "x" * (size - AROUND)
    settings = EngineSettings(limits=Limits(value_bytes=VALUE_BYTES))
    async with world(answers={"a": {"text": text}}, settings=settings) as made:
        await made.put(a=None, main=composer.sequence("a"))

        result = await made.run("main")

        told = f"exceeded the allowed length: {size} > {VALUE_BYTES} bytes"
        assert result == {"text": text} if fits else told in result["error"]


async def test_a_result_that_is_not_json_fails_the_step():
    async with world(answers={"a": {"set": {1, 2}}}) as made:
        await made.put(a=None, main=composer.sequence("a"))

        assert "not produce a valid JSON response" in (await made.run("main"))["error"]
