"""A process that is started by a plan: its limits, and the program that takes its place."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest

NOTHING = {
    "supervised": False, "group": None, "limits": {}, "mounts": None, "uid": None, "landlock": None,
    "scoped": None, "seccomp": None, "needs": [], "inside": False,
}  # fmt: skip
START = "import json, sys; from xingqiao.actions.runtimes.launcher import start; start.main(*json.loads(sys.argv[1]))"
FILES = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))"


def started(command, folder, **plan):
    arguments = [sys.executable, "-c", START, json.dumps([{**NOTHING, **plan}, command])]
    return subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=folder)


@pytest.fixture
def program(tmp_path):
    def written(text):
        path = tmp_path / "program.py"
        path.write_text(text)
        return str(path)

    return written


def test_a_command_takes_the_place_of_the_process(tmp_path):
    assert started([sys.executable, "-c", "print(7)"], tmp_path).stdout == "7\n"


def test_a_limit_is_for_what_is_started_and_not_to_be_raised(tmp_path):
    done = started([sys.executable, "-c", FILES], tmp_path, limits={"RLIMIT_NOFILE": 64})

    assert done.stdout == "(64, 64)\n"


def test_a_limit_is_as_high_as_it_may_be_and_one_that_is_unknown_is_none(tmp_path):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limits = {"RLIMIT_NOFILE": hard + 1, "RLIMIT_OF_ANOTHER_SYSTEM": 1}

    done = started([sys.executable, "-c", FILES], tmp_path, limits=limits)

    assert done.stdout == f"{(hard, hard)}\n"


def test_a_program_in_python_runs_as_if_it_had_been_started_by_itself(program, tmp_path):
    path = program("import sys; print(__name__, __file__ == sys.argv[0], sys.argv[1:])")

    assert started([path, "a"], tmp_path, inside=True).stdout == "__main__ True ['a']\n"


def test_what_it_writes_is_for_its_user_only(program, tmp_path):
    started([program("open('file', 'w').close()")], tmp_path, inside=True)

    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600


def test_a_trial_says_that_it_can_read_what_a_worker_needs(tmp_path):
    assert started([], tmp_path, needs=[sys.executable]).stdout == "confined"


def test_a_trial_names_what_it_cannot_read(tmp_path):
    done = started([], tmp_path, needs=["/nowhere"])

    assert "PermissionError: /nowhere cannot be read by the user of workers" in done.stderr
    assert done.returncode != 0
