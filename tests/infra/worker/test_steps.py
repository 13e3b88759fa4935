"""What a function sees of its task, and what the server gets from it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from xingqiao.infra.worker.steps import Step, run

TASK = {
    "action": "/guest/render", "attempt": 2, "key": "k", "details": {"at": 40}, "deadline": 5,
    "token": "t",
}  # fmt: skip


def step():
    return Step(TASK)


async def test_a_function_gets_the_parameters_and_its_result_is_the_answer():
    assert await run(lambda params: {"n": params["n"] + 1}, {"n": 1}, step()) == {"n": 2}


async def test_an_async_function_runs_in_the_event_loop():
    async def double(params):
        return {"n": 2 * params["n"], "main": threading.current_thread() is threading.main_thread()}

    assert await run(double, {"n": 2}, step()) == {"n": 4, "main": True}


async def test_a_function_with_a_parameter_step_gets_its_step():
    def resume(params, step):
        return {"from": step.details["at"], "attempt": step.attempt, "key": step.key}

    assert await run(resume, {}, step()) == {"from": 40, "attempt": 2, "key": "k"}


@pytest.mark.parametrize(
    ("result", "answer"), [(None, {}), (5, {"value": 5}), ([1], {"value": [1]})]
)
async def test_any_json_is_a_result(result, answer):
    assert await run(lambda _: result, {}, step()) == answer


async def test_what_is_not_json_fails_the_task():
    answer = await run(lambda _: {"x": object()}, {}, step())

    assert answer["error"].startswith("The function did not return JSON")


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (ValueError("bad size"), {"code": "ValueError", "message": "bad size"}),
        (KeyError(), {"code": "KeyError", "message": "KeyError"}),
        (SystemExit(3), {"code": "RuntimeError", "message": "the function exited"}),
        (
            StopIteration(),
            {"code": "RuntimeError", "message": "the function raised StopIteration()"},
        ),
    ],
)
async def test_an_exception_fails_the_task_by_its_class(raised, error):
    def fail(params):
        raise raised

    assert await run(fail, {}, step()) == {"error": error}


async def test_an_exception_without_a_text_has_its_name():
    class Odd(Exception):  # noqa: N818
        def __str__(self):
            raise TypeError

    def fail(params):
        raise Odd

    assert await run(fail, {}, step()) == {"error": {"code": "Odd", "message": "Odd"}}


async def test_a_function_in_a_thread_learns_that_it_should_stop():
    begun = asyncio.Event()
    loop, told = asyncio.get_running_loop(), step()

    def work(params, step):
        loop.call_soon_threadsafe(begun.set)
        return {"stopped": step.wait(10), "reason": step.reason}

    running = asyncio.ensure_future(run(work, {}, told))
    await begun.wait()
    told.stop("the worker stops")
    told.stop("another reason")
    assert await running == {"stopped": True, "reason": "the worker stops"}
    assert told.cancelled


async def test_a_thread_whose_result_nobody_waits_for_is_left_alone():
    begun, ended, told = asyncio.Event(), threading.Event(), step()
    loop = asyncio.get_running_loop()

    def work(params, step):
        loop.call_soon_threadsafe(begun.set)
        step.wait(10)
        ended.set()

    running = asyncio.ensure_future(run(work, {}, told))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    told.stop("enough")
    await loop.run_in_executor(None, ended.wait, 10)
    await loop.run_in_executor(None, lambda: None)
    assert ended.is_set()


def test_details_must_be_json():
    told = step()
    told.tell({"at": 60})
    assert told.told == {"at": 60}
    with pytest.raises(ValueError, match="the details of a step must be JSON"):
        told.tell(object())
