"""The laws of the `Invoker` port, for every invoker of this machine."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

import pytest

from tests.kit.actions.things import (
    Answers,
    StandingClock,
    inline,
    invocation,
    needed,
    node,
    python,
)
from xingqiao.actions import PromptInvoker
from xingqiao.actions.runtimes import Bounds, InlineInvoker, Sandbox, WorkerPool, WorkerSettings
from xingqiao.composer import Failure, Success


class UnspeakableError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


async def hang(params):
    await asyncio.Event().wait()


async def stubborn(params):
    try:
        await asyncio.Event().wait()
    finally:
        return {"too": "late"}  # noqa: B012  it is stubborn


def leave(params):
    sys.exit(3)


async def leave_later(params):
    sys.exit(3)


def fail(params):
    raise ValueError("no")


async def fail_later(params):
    raise ValueError("no")


def unspeakable(params):
    raise UnspeakableError


def unspellable(params):
    raise ValueError("half a pair: \ud800")


def deep(params):
    value = 0
    for _ in range(params["levels"]):
        value = [value]
    return value


def cancelled(params):
    raise asyncio.CancelledError


async def cancelled_later(params):
    raise asyncio.CancelledError


async def echo_later(params):
    return params


WORKERS = ("worker", "together", "node", "node together")
NODE_CODE = {
    "echo": "function main(params) { return params }",
    "hang": "function main() { for (;;); }",
    "fail": "function main() { return Promise.reject('no') }",
    "leave": "function main() { process.exit(3) }",
    "cancelled": "function main() { throw new DOMException('stop', 'AbortError') }",
}
ECHO = "def main(params):\n    return params\n"
HANG = "import threading\ndef main(params):\n    threading.Event().wait()\n"

ACTIONS = {
    "inline": {
        "echo": lambda params: params,
        "hang": hang,
        "fail": fail,
        "leave": leave,
        "unspeakable": unspeakable,
        "unspellable": unspellable,
        "nothing": lambda params: None,
        "text": lambda params: "text",
        "nan": lambda params: {"a": float("nan")},
        "set": lambda params: {"a": {1, 2}},
        "error": lambda params: {"error": "mine"},
        "list": lambda params: [1, 2],
        "cancelled": cancelled,
        "deep": deep,
    },
    "coroutine": {
        "echo": echo_later,
        "hang": hang,
        "fail": fail_later,
        "leave": leave_later,
        "cancelled": cancelled_later,
    },
    "worker": {
        "echo": ECHO,
        "hang": HANG,
        "fail": "def main(params):\n    raise ValueError('no')\n",
        "leave": "import sys\ndef main(params):\n    sys.exit(3)\n",
        "unspeakable": (
            "class UnspeakableError(Exception):\n"
            "    def __str__(self):\n        raise RuntimeError('no words')\n"
            "def main(params):\n    raise UnspeakableError\n"
        ),
        "unspellable": "def main(params):\n    raise ValueError('half a pair: \\ud800')\n",
        "nothing": "def main(params):\n    pass\n",
        "text": "def main(params):\n    return 'text'\n",
        "nan": "def main(params):\n    return {'a': float('nan')}\n",
        "set": "def main(params):\n    return {'a': {1, 2}}\n",
        "error": "def main(params):\n    return {'error': 'mine'}\n",
        "list": "def main(params):\n    return [1, 2]\n",
        "deep": (
            "def main(params):\n    value = 0\n"
            "    for _ in range(params['levels']):\n        value = [value]\n    return value\n"
        ),
        "cancelled": ("import asyncio\ndef main(params):\n    raise asyncio.CancelledError\n"),
    },
    "together": {
        "echo": "async def main(params):\n    return params\n",
        "hang": "import asyncio\nasync def main(params):\n    await asyncio.Event().wait()\n",
        "fail": "async def main(params):\n    raise ValueError('no')\n",
        "leave": "import sys\nasync def main(params):\n    sys.exit(3)\n",
        "nothing": "async def main(params):\n    pass\n",
        "cancelled": "import asyncio\nasync def main(params):\n    raise asyncio.CancelledError\n",
    },
    "node": NODE_CODE,
    "node together": NODE_CODE | {"hang": "function main() { return new Promise(() => 0) }"},
}


def opened(name):
    if name.startswith("node"):
        needed("node")
    if name in WORKERS:
        return WorkerPool(Sandbox(), StandingClock(), WorkerSettings(), Bounds(size=2))
    return InlineInvoker(StandingClock())


def action(kind, name, timeout_ms=60_000):
    """An action that does as its name says, for this invoker."""
    what = ACTIONS[kind][name]
    if kind not in WORKERS:
        return inline(what, timeout_ms=timeout_ms)
    make = node if kind.startswith("node") else python
    concurrency = 20 if kind.endswith("together") else 1
    return make(what, limits={"timeout": timeout_ms, "concurrency": concurrency})


@pytest.fixture(params=sorted(ACTIONS))
def kind(request):
    return request.param


@pytest.fixture
async def invoker(kind):
    async with opened(kind) as made:
        yield made


@pytest.fixture
def answers():
    return Answers()


async def test_it_says_what_it_runs(invoker, kind):
    assert action(kind, "echo").invoker_kind(None) in invoker.kinds


async def test_an_answer_comes_later_and_once(kind, answers):
    async with opened(kind) as invoker:
        answers.invoke(invoker, invocation(action(kind, "echo"), {"n": 1}))
        assert answers.all == []  # invoke returns at once

        completion = await answers.next()

        assert completion.outcome == Success({"n": 1})
    assert answers.all == [completion]


@pytest.mark.parametrize("name", ["echo", "fail", "leave", "cancelled"])
async def test_what_runs_promptly_is_answered_at_once_or_later_and_once(kind, name, answers):
    async with opened(kind) as invoker:
        if not isinstance(invoker, PromptInvoker):
            assert kind in WORKERS
            return
        returned = invoker.run(invocation(action(kind, name)), answers)
        assert answers.all == []
        if returned is None:
            await answers.next()
    assert (returned is None, len(answers.all)) == ((True, 1) if kind == "coroutine" else (False, 0))  # fmt: skip


async def test_an_answer_comes_in_the_event_loop(invoker, kind):
    loop, said = asyncio.get_running_loop(), asyncio.Event()

    def done(completion):
        assert asyncio.get_running_loop() is loop
        said.set()

    invoker.invoke(invocation(action(kind, "echo")), done)

    await said.wait()


async def test_an_answer_knows_its_times(invoker, kind, answers):
    answers.invoke(invoker, invocation(action(kind, "echo")))

    completion = await answers.next()

    assert completion.started_ms == completion.ended_ms == StandingClock().now_ms()


async def test_whoever_is_answered_may_ask_again(invoker, kind, answers):
    first, second = (invocation(action(kind, "echo"), {"n": n}) for n in (1, 2))

    def again(completion):
        answers.invoke(invoker, second)

    invoker.invoke(first, again)

    assert (await answers.next()).outcome == Success({"n": 2})


async def test_each_of_many_has_its_own_answer(invoker, kind):
    asked = [(Answers(), {"n": n}) for n in range(50)]
    echo = action(kind, "echo")

    for answers, params in asked:
        answers.invoke(invoker, invocation(echo, params))

    for answers, params in asked:
        assert (await answers.next()).outcome == Success(params)
        assert len(answers.all) == 1


BAD = "BadResponse"
NO_DICT = Failure(BAD, "The action did not return a dictionary or array.")
EXITED = "The action did not produce a valid response and exited unexpectedly."
OUTCOMES = {
    "fail": Failure("ApplicationError", "no"),
    "leave": Failure("Crashed", EXITED),
    "unspeakable": Failure("ApplicationError", "UnspeakableError"),
    "unspellable": Failure("ApplicationError", r"half a pair: \ud800"),
    "nothing": NO_DICT,
    "text": NO_DICT,
    "error": Failure("ApplicationError", "mine"),
    "list": Success([1, 2]),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for kind in ACTIONS for name in OUTCOMES if name in ACTIONS[kind]],
)
async def test_nothing_that_an_action_does_is_raised(name, kind, answers):
    async with opened(kind) as invoker:
        answers.invoke(invoker, invocation(action(kind, name)))
        outcome = (await answers.next()).outcome
        if isinstance(outcome, Failure):  # JavaScript may throw what is no class's
            outcome = replace(outcome, raised=())
        assert outcome == OUTCOMES[name]

        other = Answers()
        other.invoke(invoker, invocation(action(kind, "echo"), {"still": "here"}))
        assert (await other.next()).outcome == Success({"still": "here"})
    assert len(answers.all) == 1


@pytest.mark.parametrize("name", ["nan", "set"])
@pytest.mark.parametrize("kind", ["inline", "worker"])
async def test_what_is_no_json_is_a_bad_response(name, kind, invoker, answers):
    answers.invoke(invoker, invocation(action(kind, name)))

    outcome = (await answers.next()).outcome

    assert outcome.code == BAD
    assert outcome.error.startswith("The action did not produce a valid JSON response: ")


async def test_an_action_that_raises_a_cancellation_is_answered(invoker, kind, answers):
    answers.invoke(invoker, invocation(action(kind, "cancelled")))

    assert isinstance((await answers.next()).outcome, Failure)


async def test_an_action_that_takes_too_long_is_stopped(invoker, kind, answers):
    answers.invoke(invoker, invocation(action(kind, "hang", timeout_ms=250)))

    outcome = (await answers.next()).outcome

    assert outcome.code == "Timeout"
    assert outcome.error.startswith("The action exceeded its time limits of 250 milliseconds")


async def test_the_same_activation_twice_is_answered_twice(invoker, kind, answers):
    asked = invocation(action(kind, "echo"))

    answers.invoke(invoker, asked)
    answers.invoke(invoker, asked)

    assert (await answers.next(2)).outcome == Success({})


@pytest.mark.parametrize("kind", ["inline", "worker"])
@pytest.mark.parametrize(("levels", "fits"), [(200, True), (201, False)])
async def test_a_result_nests_so_deep_and_no_deeper(kind, levels, fits, invoker, answers):
    answers.invoke(invoker, invocation(action(kind, "deep"), {"levels": levels}))

    outcome = (await answers.next()).outcome

    assert isinstance(outcome, Success) is fits
    if not fits:
        assert outcome.code == BAD
        assert "it nests deeper than 200 levels" in outcome.error


# --- cancel ------------------------------------------------------------------------------------

CANCELLED = Failure("Cancelled", {"code": "Cancelled", "message": "cancelled"})


async def test_what_is_cancelled_at_once_is_answered(kind, answers):
    async with opened(kind) as invoker:
        asked = invocation(action(kind, "hang"))
        answers.invoke(invoker, asked)

        invoker.cancel(asked.activation)

        assert (await answers.next()).outcome == CANCELLED
    assert len(answers.all) == 1


async def test_what_is_cancelled_under_way_is_answered(kind, answers):
    async with opened(kind) as invoker:
        asked, before = (invocation(action(kind, "hang")), invocation(action(kind, "echo")))
        answers.invoke(invoker, asked)
        other = Answers()
        other.invoke(invoker, before)
        await other.next()  # by now the first is under way, too

        invoker.cancel(asked.activation)
        invoker.cancel(asked.activation)

        assert (await answers.next()).outcome == CANCELLED
    assert len(answers.all) == 1


async def test_to_cancel_what_is_not_there_is_nothing(invoker, kind, answers):
    invoker.cancel("f" * 32)
    asked = invocation(action(kind, "echo"))
    answers.invoke(invoker, asked)
    await answers.next()

    invoker.cancel(asked.activation)

    other = Answers()
    other.invoke(invoker, invocation(action(kind, "echo"), {"n": 1}))
    assert (await other.next()).outcome == Success({"n": 1})
    assert len(answers.all) == 1


async def test_to_cancel_one_harms_no_other(invoker, kind):
    asked = [(Answers(), invocation(action(kind, "echo"), {"n": n})) for n in range(20)]
    for answers, each in asked:
        answers.invoke(invoker, each)

    for _, each in asked[::2]:
        invoker.cancel(each.activation)

    for n, (answers, _) in enumerate(asked):
        outcome = (await answers.next()).outcome
        assert outcome == Success({"n": n}) or (outcome == CANCELLED and n % 2 == 0)


# --- the end -----------------------------------------------------------------------------------


async def test_when_it_is_closed_everything_is_answered_once(kind):
    asked = [Answers() for _ in range(6)]
    async with opened(kind) as invoker:
        for answers in asked:
            answers.invoke(invoker, invocation(action(kind, "hang")))
        asked[0].invoke(invoker, invocation(action(kind, "echo")))
        first = await asked[0].next() if kind not in WORKERS else None

    for answers in asked[1:]:
        assert isinstance((await answers.next()).outcome, Failure)
        assert len(answers.all) == 1
    await asked[0].next(2)
    assert len(asked[0].all) == 2
    assert first is None or first.outcome == Success({})


async def test_it_may_be_closed_before_anything_has_begun(kind, answers):
    async with opened(kind) as invoker:
        answers.invoke(invoker, invocation(action(kind, "hang")))

    assert isinstance((await answers.next()).outcome, Failure)


# --- of functions of the embedding program only ------------------------------------------------


async def test_a_function_that_will_not_stop_is_late_but_answered(answers):
    async with opened("inline") as invoker:
        answers.invoke(invoker, invocation(inline(stubborn, timeout_ms=100)))

        assert isinstance(await answers.next(), object)
    assert len(answers.all) == 1


async def test_a_function_may_keep_what_it_is_given():
    kept, params, answers = [], {"list": [1]}, Answers()

    def keep(given):
        given["list"].append(2)
        kept.append(given)
        return given

    async with opened("inline") as invoker:
        answers.invoke(invoker, invocation(inline(keep), params))
        completion = await answers.next()

    assert params == {"list": [1]}
    kept[0]["list"].append(3)
    assert completion.outcome == Success({"list": [1, 2]})


async def test_a_failure_of_its_own_is_no_timeout(answers):
    async def late(params):
        raise TimeoutError("of another kind")

    async with opened("inline") as invoker:
        answers.invoke(invoker, invocation(inline(late)))

        completion = await answers.next()
    raised = ("TimeoutError", "OSError", "Exception")
    assert completion.outcome == Failure("ApplicationError", "of another kind", raised)


async def test_the_log_of_a_function_of_this_process_has_its_traceback():
    def pay(params):
        return params["oder"]

    async def pay_later(params):
        return pay(params)

    for function in (pay, pay_later):
        answers = Answers()
        async with opened("inline") as invoker:
            answers.invoke(invoker, invocation(inline(function)))
            logs = (await answers.next()).logs

        assert logs[0].endswith(" stderr: Traceback (most recent call last):")
        assert f", in {function.__name__}" in logs[1]
        assert logs[-1].endswith(" stderr: KeyError: 'oder'")
        assert "inline.py" not in "".join(logs)


@pytest.mark.parametrize(("n", "kept"), [(1998, 2000), (2001, 2000)])
async def test_a_line_of_a_traceback_is_so_long_and_no_longer(n, kept, answers):
    def fail(params):
        raise KeyError("x" * n)

    async with opened("inline") as invoker:
        answers.invoke(invoker, invocation(inline(fail)))
        logs = (await answers.next()).logs

    assert len(logs[-1].partition(" stderr: ")[2]) == kept


async def test_an_activation_may_come_again_when_it_has_ended(invoker, kind, answers):
    asked = invocation(action(kind, "echo"))
    for _ in range(2):
        answers.invoke(invoker, replace(asked))
        await answers.next(len(answers.all) + 1)

    assert len(answers.all) == 2
