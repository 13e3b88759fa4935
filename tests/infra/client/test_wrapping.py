"""The synchronous face: the same methods, in programs with an event loop and without."""

from __future__ import annotations

import ast
import asyncio
import inspect
import signal
import threading
from pathlib import Path

import pytest

from tests.kit.client.programs import ECHO, python
from tests.kit.client.stubs import FACES, stubs
from tests.kit.infra.servers import AUTH, running
from xingqiao import composer
from xingqiao.client import ActionError, BlockingListing, NotFoundError, connect
from xingqiao.infra.client import blocking
from xingqiao.infra.client.wrapping import Loop, annotation, public


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("data"), "--auth", AUTH, "--isolation", "none") as made:
        yield made


def a_program(server, name):
    """What a program without an event loop does. Returns what it has seen."""
    with connect(server.url, AUTH) as x:
        x.put(f"{name}-echo", python(ECHO))
        x.deploy(name, composer.sequence(f"{name}-echo", composer.wait(0.01)))
        execution = x.start(name, {"n": 1})
        followed = [entry["type"] for entry in execution.history(follow=True)]
        listed = [found.status()["status"] for found in x.executions(name=name)]
        page = x.executions(name=name).page()
        return [
            execution.result(timeout=30),
            followed[-1],
            listed,
            page[0]["executionId"],
        ], execution.id


def seen(id):
    return [{"n": 1}, "ExecutionSucceeded", ["succeeded"], id]


def test_it_runs_without_an_event_loop(server):
    result, id = a_program(server, "alone")

    assert result == seen(id)
    assert [each.name for each in threading.enumerate() if each.name == "xingqiao.client"] == []


async def test_it_runs_in_a_thread_that_has_a_running_loop(server):
    result, id = a_program(server, "inside")

    assert result == seen(id)


def test_errors_are_those_of_the_asynchronous_client(server):
    with connect(server.url, AUTH) as x:
        x.put("fails", python("def main(params):\n    return {'error': 'no'}\n"))
        with pytest.raises(ActionError, match="no"):
            x.invoke("fails")
        with pytest.raises(NotFoundError):
            x.execution("0" * 32).result()
        x.deploy("waits", composer.wait(3600))
        with pytest.raises(TimeoutError):
            x.start("waits").result(timeout=0.01)
        assert AUTH not in repr(x)


def test_filters_resets_and_schedules_need_no_event_loop(server):
    with connect(server.url, AUTH) as x:
        x.declare("customer", "text")
        x.put("echo", python(ECHO))
        x.deploy("done", composer.sequence("echo"))
        first = x.start("done", {"n": 1}, attributes={"customer": "anna"}, memo={"n": 1})
        first.result()
        other = first.fork("first", id="other")
        assert (other.id, other.result()) == ("other", {"n": 1})
        first.annotate(memo=None)
        assert [each.id for each in x.executions("customer = 'anna'")] == [first.id]
        assert x.count("customer = 'anna'") == {"count": 1}
        x.schedule("daily").create({"spec": {"cron": "@daily"}, "do": {"action": "done"}})
        assert [each.describe()["status"] for each in x.schedules()] == ["active"]


def test_a_list_that_is_left_early_is_closed(server):
    with connect(server.url, AUTH) as x:
        x.put("echo", python(ECHO))
        for _ in range(3):
            x.invoke("echo")

        first = next(iter(x.activations(name="echo")))

    assert first["name"] == "echo"


def test_a_closed_client_says_so(server):
    with connect(server.url, AUTH) as x:
        pass

    with pytest.raises(RuntimeError, match="the client is closed"):
        x.invoke("a")


def test_an_interrupt_cancels_what_it_waits_for():
    cancelled = threading.Event()

    async def waits():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    with Loop() as loop, pytest.raises(KeyboardInterrupt):
        loop.run(waits())

    assert cancelled.is_set()


# --- types ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FACES)
def test_both_faces_have_the_same_methods_with_the_same_arguments(name):
    faced, of = dict(public(getattr(blocking, name))), dict(public(FACES[name]))

    assert faced.keys() == of.keys()
    for each, member in of.items():
        if not isinstance(member, property):
            arguments = inspect.signature(member).parameters
            assert inspect.signature(faced[each]).parameters == arguments
            assert not inspect.iscoroutinefunction(faced[each])
        assert faced[each].__doc__ == member.__doc__


def test_the_types_are_those_of_the_asynchronous_classes():
    kept = Path(blocking.__file__).with_suffix(".pyi").read_text("utf-8")

    assert ast.dump(ast.parse(kept)) == ast.dump(ast.parse(stubs())), "run `make stubs`"


@pytest.mark.parametrize(
    ("asynchronous", "synchronous"),
    [
        ("RemoteExecution", "BlockingExecution"),
        ("Listing[RemoteExecution]", "BlockingListing[BlockingExecution]"),
        ("Listing[Document]", "BlockingListing[Document]"),
        ("tuple[str, Outcome]", "tuple[str, Outcome]"),
        (None, None),
    ],
)
def test_annotations_name_the_synchronous_classes(asynchronous, synchronous):
    assert annotation(asynchronous) == synchronous


def test_a_list_is_a_list_of_the_synchronous_face(server):
    with connect(server.url, AUTH) as x:
        assert isinstance(x.executions(), BlockingListing)
