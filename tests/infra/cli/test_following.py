"""`xingqiao invoke --follow`, against a real server."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from tests.kit.infra.servers import AUTH
from tests.kit.infra.terminals import XINGQIAO, on_a_terminal
from xingqiao import composer

SAYS = (
    "import sys\n\n\ndef main(params):\n    print('hello from', params.get('who', 'it'))\n"
    "    print('careful', file=sys.stderr)\n    return params\n"
)
FAILS = "def main(params):\n    print('trying')\n    return {'error': 'no luck'}\n"
LATE = "import time\n\n\ndef main(params):\n    time.sleep(60)\n"


@pytest.fixture
def deployed(action, composition):
    action("fo_says", SAYS)
    composition("fo_inner", composer.sequence("fo_says"))
    return composition("fo_outer", composer.sequence("fo_says", composer.wait(0.1), "fo_inner"))


def following(server, *arguments):
    return subprocess.Popen(
        [XINGQIAO, "invoke", *arguments, "--follow", "--url", server.url, "-u", AUTH],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_a_composition_shows_timeline_logs_and_result(xingqiao, deployed):
    ended = xingqiao("invoke", deployed, "--follow", "-p", "who", "me")

    assert ended.code == 0
    told, _, result = ended.out.partition("{\n")
    assert json.loads("{" + result) == {"who": "me"}
    assert told.count("| hello from me") == 2  # also the step of a step
    assert told.count("| stderr: careful") == 2
    assert [told.count(f" {mark} {label}") for mark, label in (
        ("·", "started"), ("✓", "fo_says"), ("…", "wait"), ("✓", "fo_inner"), ("✓", "succeeded"),
    )] == [1, 1, 1, 1, 1]  # fmt: skip
    assert ended.err.startswith("activation ")


def test_a_plain_action_shows_its_log_and_result(xingqiao, deployed):
    ended = xingqiao("invoke", "fo_says", "-f")

    first, second, *result = ended.out.splitlines()
    assert ended.code == 0
    assert first.endswith("| hello from it")
    assert second.endswith("| stderr: careful")
    assert json.loads("".join(result)) == {}


def test_programs_get_entries_lines_and_at_last_the_record(xingqiao, deployed):
    ended = xingqiao("invoke", deployed, "-f", "--json")

    *found, record = [json.loads(line) for line in ended.out.splitlines()]
    entries = [each["seq"] for each in found if "seq" in each]
    lines = [each for each in found if "line" in each]
    assert entries == list(range(1, len(entries) + 1))
    assert [line["name"] for line in lines] == ["fo_says"] * 4
    assert record["response"]["success"]


@pytest.mark.parametrize("composed", [False, True])
def test_the_exit_code_is_that_of_the_run(xingqiao, action, composition, composed):
    name = action("fo_fails", FAILS)
    if composed:
        name = composition("fo_bad", composer.sequence("fo_fails"))

    ended = xingqiao("invoke", name, "--follow")

    assert ended.code == 1
    assert "| trying" in ended.out
    assert "no luck" in ended.err


def test_a_run_that_exceeds_its_limit_ends_with_6(xingqiao, action):
    action("fo_late", LATE)
    xingqiao("action", "update", "fo_late", "-t", "100")

    assert xingqiao("invoke", "fo_late", "--follow").code == 6


def test_following_waits_so_that_it_stands_alone(xingqiao, deployed):
    ended = xingqiao("invoke", deployed, "--follow", "-r")

    assert ended.code == 2
    assert "leave -b and -r out" in ended.err


def test_a_terminal_shows_logs_above_a_timeline_that_changes(server, xingqiao, deployed):
    code, shown = on_a_terminal(
        "invoke", deployed, "--follow", XINGQIAO_URL=server.url, XINGQIAO_AUTH=AUTH
    )

    assert code == 0
    assert shown.count("hello from") == 2
    assert shown.count("started") > 1  # it was drawn again


@pytest.mark.parametrize(
    ("composed", "again"), [(True, "execution watch"), (False, "activation get")]
)
def test_ctrl_c_says_that_it_goes_on(server, xingqiao, action, composition, composed, again):
    name = action("fo_late", LATE)
    if composed:
        name = composition("fo_long", composer.sequence(composer.wait(3600)))
    process = following(server, name)
    said = process.stderr.readline()
    id = said.split()[-1]
    if composed:
        assert "started" in process.stdout.readline()
    process.send_signal(signal.SIGINT)

    _, rest = process.communicate(timeout=20)

    assert process.returncode == 130
    assert rest.strip() == f"the run goes on; to see it again: xingqiao {again} {id}"
    if composed:
        assert xingqiao("execution", "get", id, "--json").json["status"] == "running"
        xingqiao("execution", "cancel", id)
