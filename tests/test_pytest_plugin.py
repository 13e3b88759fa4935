"""The pytest plugin as a user has it: installed, and asked for by the name of its fixture."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

from xingqiao import composer
from xingqiao.testing import Fail, Never
from xingqiao.testing import simulate as plain

WEEK = 7 * 86400


def pytest_in(folder, text, *arguments):
    """What a run of pytest over one test module says: its exit code and its output."""
    (folder / "test_it.py").write_text(dedent(text), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    done = subprocess.run(
        [*command, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


def test_a_test_has_the_simulator_by_the_name_of_its_argument(simulate):
    run = simulate(composer.retry(2, "post"), actions={"post": [Fail(), {"ok": True}]})

    assert run.value == {"ok": True}
    assert len(run.calls("post")) == 2


def test_a_week_takes_no_time(simulate):
    run = simulate(composer.timeout(WEEK, "a"), actions={"a": Never()})

    assert run.outcome.code == "Timeout"
    assert run.elapsed == WEEK


def test_each_run_begins_anew(simulate):
    part, fakes = composer.action("a"), {"a": [{"n": 1}]}

    assert [simulate(part, actions=fakes).value for _ in range(2)] == [{"n": 1}] * 2


def test_it_is_the_same_as_the_function(simulate):
    assert simulate is plain


def test_it_is_there_without_a_conftest_wherever_the_tests_are(tmp_path):
    code, said = pytest_in(
        tmp_path,
        """
        from xingqiao import composer

        def test_it(simulate):
            assert simulate(composer.literal({"n": 1})).value == {"n": 1}

        def test_it_fails_as_a_test_does(simulate):
            assert simulate(composer.raise_error("No", "not today")).value == {}
        """,
    )

    assert code == 1
    assert "1 failed, 1 passed" in said
    assert "the execution did not succeed" in said
    assert "not today" in said


def test_nothing_is_loaded_for_tests_that_do_not_ask_for_it(tmp_path):
    code, said = pytest_in(
        tmp_path,
        """
        import sys

        def test_it():
            ours = {name for name in sys.modules if name.split(".")[0] == "xingqiao"}
            assert ours == {"xingqiao", "xingqiao.pytest_plugin"}
        """,
    )

    assert code == 0, said


def test_the_fixture_loads_nothing_of_the_server(tmp_path):
    code, said = pytest_in(
        tmp_path,
        """
        import sys

        def test_it(simulate):
            loaded = {name.split(".")[1] for name in sys.modules if name.startswith("xingqiao.")}
            assert loaded == {"pytest_plugin", "testing", "composer"}
            assert not {"aiohttp", "starlette", "uvicorn"} & {*sys.modules}
        """,
    )

    assert code == 0, said


def test_it_is_listed_among_the_fixtures_with_what_it_does(tmp_path):
    code, said = pytest_in(tmp_path, "", "--fixtures")

    assert code in (0, 5)
    assert "simulate" in said
    assert "run a composition with faked actions, in virtual time" in said
