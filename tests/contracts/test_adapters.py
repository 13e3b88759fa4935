"""The laws of the `Adapter` port, for every adapter, by way of the invoker of all of them.

What each row is, and how another is added: `clouds.py`.
"""

from __future__ import annotations

import itertools
import logging
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.kit.actions.things import Answers, until
from tests.kit.contracts.clouds import PROGRAM, OwnNamespace, deploy
from tests.kit.contracts.elsewhere import RUN, SECRET, TRACE, ended, opened, resumed
from tests.kit.contracts.rows import RIGS, playing
from tests.kit.infra.servers import AUTH, running
from tests.rigs.answers import answer
from tests.rigs.functions_framework import functions_framework
from tests.rigs.issuers import IbmIam
from xingqiao.composer import Failure, Success
from xingqiao.infra.clock import SystemClock

NUMBERS = itertools.count()
ERROR = {"code": "Sold", "message": "none left"}


@pytest.fixture(scope="session")
def framework():
    with functions_framework(PROGRAM) as url:
        yield url


@pytest.fixture(scope="session")
def server_of_ours(tmp_path_factory):
    with running(tmp_path_factory.mktemp("server"), "--auth", AUTH) as server:
        yield server


@pytest.fixture
def own_namespace(server_of_ours):
    """A namespace of its own for each test: they send different calls with the same idempotency key."""
    namespace = OwnNamespace(server_of_ours, f"ns-{next(NUMBERS)}")
    deploy(namespace)
    return namespace


@pytest.fixture
def row(request):
    with ExitStack() as stack:
        yield RIGS[request.param](stack, request.getfixturevalue)


@pytest.fixture(autouse=True)
def no_secret_is_shown(caplog):
    """Whatever a test does, nothing that is logged shows the secret."""
    caplog.set_level(logging.DEBUG)
    yield
    assert SECRET not in caplog.text


def rows(*scenarios):
    return pytest.mark.parametrize("row", playing(*scenarios), indirect=True)


def shown(run):
    """All of a run that anybody is shown."""
    completion = run.completion
    remote = completion.remote.to_json(0)
    return f"{completion!r} {completion.outcome!r} {completion.logs} {remote}"


# --- what a function gives ---------------------------------------------------------------------


@rows("returns")
@pytest.mark.parametrize(
    ("value", "result"),
    [({"n": 1, "ü": "ü"}, {"n": 1, "ü": "ü"}), (None, {}), ({}, {}), ([1, 2], {"value": [1, 2]})],
    ids=["object", "nothing", "empty", "list"],
)
async def test_what_a_function_returns_is_the_result(row, value, result):
    row.returns(value)

    run = await row.run()

    assert run.outcome == Success(result)
    assert run.completion.may_have_run is None
    assert run.completion.remote.attempts == 1
    assert SECRET not in shown(run)


@rows("returns_text")
async def test_a_text_is_boxed(row):
    row.returns_text()

    assert (await row.run()).outcome == Success({"value": "hello"})


@rows("raises")
async def test_an_error_of_the_function_is_its_own_and_it_ran(row):
    row.raises()

    run = await row.run(notes={"idempotent": True})

    assert run.outcome == Failure("ApplicationError", ERROR)
    assert run.completion.may_have_run == "yes"
    assert run.completion.remote.attempts == 1  # also what may run twice is not asked for again


@rows("breaks")
async def test_what_is_no_json_is_a_bad_response(row):
    row.breaks()

    run = await row.run(notes={"idempotent": True})

    assert run.told == ("BadResponse", row.broken)
    assert run.completion.remote.attempts == 1


@rows("answers_too_much")
@pytest.mark.parametrize("told", [True, False], ids=["told", "not-told"])
async def test_what_a_result_that_is_too_large_has_done_is_open(row, told):
    row.answers_too_much(told=told)

    assert (await row.run()).told == ("PayloadTooLarge", "unknown")


@rows("refuses_so_much")
async def test_what_is_too_large_for_the_cloud_never_ran(row):
    row.refuses_so_much()

    run = await row.run()

    assert run.told == ("PayloadTooLarge", "no")
    assert run.completion.remote.attempts == 1


# --- throttled, late, cut ----------------------------------------------------------------------


@rows("throttles")
@pytest.mark.parametrize("told", ["seconds", "date", "nothing"])
async def test_what_is_throttled_is_asked_for_again(row, told):
    past = datetime(2026, 1, 1, tzinfo=UTC)
    row.throttles({"seconds": 0, "date": past, "nothing": None}[told])

    run = await row.run()

    assert isinstance(run.outcome, Success)
    assert row.runs == run.completion.remote.attempts == 2
    assert {key for _, key in row.seen()} == {RUN}


@rows("is_throttled")
async def test_what_is_throttled_for_too_long_has_not_run(row):
    row.is_throttled()

    run = await row.run()

    assert run.told == ("Throttled", "no")
    assert row.runs == 1


@rows("hangs")
async def test_what_has_not_answered_by_its_deadline_may_have_run(row):
    row.hangs()

    run = await row.run(timeout_ms=row.late_ms, notes={"idempotent": True})
    row.hanging.release()

    assert run.told == ("Timeout", "unknown")
    assert row.runs == 1


@rows("is_cut")
async def test_what_is_cut_may_have_run_and_is_not_asked_for_again(row):
    row.is_cut()

    run = await row.run()

    if row.keyed:  # but where the cloud knows our key
        assert isinstance(run.outcome, Success)
        assert row.runs == 2
    else:
        assert run.told == ("Lost", "unknown")
        assert row.runs == 1


@rows("is_cut")
async def test_what_may_run_twice_is_asked_for_again(row):
    row.is_cut(times=2)

    run = await row.run(notes={"idempotent": True})

    assert isinstance(run.outcome, Success)
    assert row.runs == run.completion.remote.attempts == 3


@rows("is_cut")
async def test_there_are_so_many_attempts_and_no_more(row):
    row.is_cut(times=2)

    run = await row.run(notes={"idempotent": True}, attempts=2)

    assert run.told == ("Lost", "unknown")
    assert row.runs == 2


@rows("is_cut_unread")
async def test_what_is_cut_before_it_is_read_may_have_run_for_all_that_is_known(row):
    row.is_cut_unread()

    assert (await row.run(attempts=1)).told == ("Lost", "unknown")


@rows("is_cut_off")
async def test_what_is_cut_off_in_its_body_may_have_run(row):
    row.is_cut_off()

    assert (await row.run(attempts=1)).told == ("Lost", "unknown")


@rows("fails_at_gateway")
@pytest.mark.parametrize("status", [502, 503, 504])
async def test_what_fails_at_a_gateway_may_have_run(row, status):
    row.fails_at_gateway(status)

    assert (await row.run(attempts=1)).told == ("Lost", "unknown")


@rows("is_away")
async def test_where_nobody_listens_it_never_ran(row):
    row.is_away()

    run = await row.run(attempts=2)

    assert run.told == ("Unavailable", "no")
    assert run.completion.remote.attempts == 2


# --- who asks ----------------------------------------------------------------------------------


@rows("refuses")
@pytest.mark.parametrize("status", [401, 403])
async def test_whoever_is_refused_has_run_nothing(row, status):
    row.refuses(status)

    run = await row.run()

    assert run.told == ("Permission", "no")
    assert row.runs == 1
    assert SECRET not in shown(run)


@rows("refuses")
async def test_a_secret_that_is_not_there_is_named(row):
    row.secrets.clear()

    run = await row.run()

    assert run.told == ("Permission", "no")
    assert "no secret 'mine'" in run.outcome.error["message"]
    assert row.runs == 0


@rows("refuses")
async def test_what_a_host_says_of_a_secret_is_not_handed_on(row):
    row.script(answer({"message": f"I know no '{SECRET}', nor '{SECRET}' again"}, 403))

    run = await row.run()

    assert run.told == ("Permission", "no")
    assert SECRET not in shown(run)


@rows("takes_tokens_of")
async def test_a_token_that_has_expired_is_got_anew_once(row):
    issuer = IbmIam(row.host, key=SECRET)
    row.secrets["mine"] = {"type": "iam", "apikey": SECRET, "url": issuer.url}
    row.takes_tokens_of(issuer)
    async with opened(row.secrets) as invoker:
        authorizer = invoker._authorizers.of(row.action().exec, "guest")
        await authorizer.headers(None, 0)
        issuer.expire()

        run = await ended(invoker, row.asked())

    assert isinstance(run.outcome, Success)
    assert issuer.asked == 2
    assert run.completion.remote.attempts == 1
    assert not any(token in shown(run) for token in issuer.issued)


# --- taken in, and asked after -----------------------------------------------------------------


@rows("takes_in")
async def test_what_is_taken_in_is_asked_after(row):
    row.takes_in(looks=2, value={"late": 1})

    run = await row.run(**({"wait": "poll"} if row.kind == "openwhisk:action" else {}))

    assert run.outcome == Success({"late": 1})
    assert len(run.tickets) == 1
    if hasattr(row, "host"):
        assert row.runs == 1
        assert len(row.looks()) == 3
    assert SECRET not in shown(run)
    assert run.completion.remote.attempts == 1


@rows("takes_in", "ended_as")
async def test_it_is_not_asked_after_before_the_cloud_says_so(row):
    row.takes_in(looks=0, retry_after=1)

    before = SystemClock().now_ms()
    run = await row.run()

    assert isinstance(run.outcome, Success)
    # Durable Functions' own API tells every run the same: see `AzureAdapter`
    assert row.kind == "azure:durable" or run.tickets[0]["from"] >= before + 1000


@rows("loses")
async def test_what_is_lost_after_it_was_taken_in_may_have_run(row):
    row.loses()

    assert (await row.run()).told == ("NotFound", "unknown")


@rows("takes_in", "ended_as")
async def test_what_is_asked_after_twice_ends_as_often_and_runs_once(row):
    row.takes_in(looks=0, value={"late": 1})
    first, second = Answers(), Answers()
    async with opened(row.secrets) as invoker:
        asked = row.asked()
        first.invoke(invoker, asked)
        ticket = (await first.next()).ticket
        row.host.on("GET", row.looks_at, answer(row.ended_as({"late": 1})))

        invoker.resume(resumed(asked), ticket, first)
        invoker.resume(resumed(asked), ticket, second)

        assert (await first.next(2)).outcome == (await second.next()).outcome
    assert row.runs == 1


@rows("stops")
async def test_what_is_cancelled_is_told_to_stop(row):
    row.stops()
    answers = Answers()
    async with opened(row.secrets) as invoker:
        asked = row.asked(**({"wait": "poll"} if row.kind == "openwhisk:action" else {}))
        answers.invoke(invoker, asked)
        ticket = (await answers.next()).ticket
        invoker.resume(resumed(asked), ticket, answers)

        invoker.cancel(RUN)
        completion = await answers.next(2)

    assert completion.outcome.code == "Cancelled"
    assert row.stopped
    assert len(answers.all) == 2


@rows("stops")
async def test_what_has_not_ended_by_its_deadline_is_told_to_stop(row):
    row.stops()
    answers, clock = Answers(), Ahead()
    async with opened(row.secrets, clock=clock) as invoker:
        asked = row.asked(**({"wait": "poll"} if row.kind == "openwhisk:action" else {}))
        answers.invoke(invoker, asked)
        ticket = (await answers.next()).ticket
        clock.by_ms = row.timeout_ms
        invoker.resume(resumed(asked), ticket, answers)

        completion = await answers.next(2)

    assert (completion.outcome.code, completion.may_have_run) == ("Timeout", "unknown")
    assert row.stopped


class Ahead(SystemClock):
    """The machine's clock, which can be set ahead: a deadline comes when the test has it come."""

    by_ms = 0

    def now_ms(self):
        return super().now_ms() + self.by_ms


# --- what the function sees --------------------------------------------------------------------


@rows("seen")
async def test_the_function_sees_its_trace_and_its_key(row):
    row.script(row.good())

    await row.run()

    assert row.seen() == [(f"00-{TRACE}-{RUN[-16:]}-01", RUN)]


@rows("told_key")
async def test_the_function_is_told_its_key_in_a_parameter(row):
    row.told_key()

    assert (await row.run(key_parameter="order")).outcome == Success({"order": RUN})


@rows("told_how_to_complete")
async def test_the_function_sees_no_token_but_its_own(row):
    row.script(row.good())
    async with opened(row.secrets, url="https://here.example") as invoker:
        await ended(invoker, replace(row.asked(), token="tok"))

    url = "https://here.example/api/v1/completions/tok"
    assert row.told_how_to_complete() == ("tok", url)


# --- whether it can be reached -----------------------------------------------------------------


@rows("is_away")
async def test_a_check_runs_nothing_and_says_who_is_not_there(row):
    row.is_away()
    async with opened(row.secrets) as invoker:
        found = await invoker.check(row.action().exec, "guest")

    assert (found.code, found.may_have_run) == ("Unavailable", "no")


@rows("checks")
async def test_a_check_says_how_it_was_reached(row):
    row.checks()
    async with opened(row.secrets) as invoker:
        found = await invoker.check(row.action().exec, "guest")

    assert isinstance(found, str), found


# --- the laws of the invoker port --------------------------------------------------------------


@rows("hangs")
async def test_what_is_cancelled_under_way_is_answered_once(row):
    row.hangs()
    answers = Answers()
    async with opened(row.secrets) as invoker:
        answers.invoke(invoker, row.asked())
        await until(row.hanging.reached.is_set)

        invoker.cancel(RUN)
        invoker.cancel(RUN)

        assert (await answers.next()).outcome.code == "Cancelled"
    row.hanging.release()
    assert len(answers.all) == 1


@rows("hangs")
async def test_when_it_is_closed_everything_is_answered_once(row):
    row.hangs()
    answers = Answers()
    async with opened(row.secrets) as invoker:
        answers.invoke(invoker, row.asked())
        await until(row.hanging.reached.is_set)
    row.hanging.release()

    assert [(one.outcome.code, one.may_have_run) for one in answers.all] == [("Lost", "unknown")]
