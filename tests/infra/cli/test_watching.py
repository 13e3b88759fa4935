"""`xingqiao execution watch` and `logs`, against a real server."""

from __future__ import annotations

import json
import re
import signal
import subprocess

import pytest

from tests.kit.infra.servers import AUTH
from tests.kit.infra.terminals import XINGQIAO, on_a_terminal
from xingqiao import composer

SAYS = "def main(params):\n    print('hello from', params.get('who', 'it'))\n    return params\n"
FAILS = "def main(params):\n    return {'error': 'no luck'}\n"
SLOWLY = (
    "import time\ndef main(params):\n    print('at last')\n    time.sleep(0.5)\n    return params\n"
)


@pytest.fixture
def started(xingqiao):
    def start(name):
        return xingqiao("invoke", name, "--json").json["activationId"]

    return start


def test_an_execution_is_watched_to_its_end(xingqiao, action, composition, started):
    action("wa_says", SAYS)
    id = started(composition("wa_good", composer.sequence("wa_says", composer.wait(1), "wa_says")))

    watched = xingqiao("execution", "watch", id)

    assert watched.code == 0
    *lines, last = watched.out.splitlines()
    assert last == f"✓ {id} succeeded"
    assert [re.sub(r"^\s*\+.*ms +[·✓✗…] ", "", line).split()[0] for line in lines] == [
        "started", "wa_says", "wait", "wa_says", "succeeded",
    ]  # fmt: skip


def test_one_that_fails_ends_the_command_with_1(xingqiao, action, composition, started):
    action("wa_fails", FAILS)
    id = started(composition("wa_bad", composer.sequence("wa_fails")))

    watched = xingqiao("execution", "watch", id)

    assert watched.code == 1
    assert watched.out.splitlines()[-1] == f"✗ {id} failed"
    assert "no luck" in watched.out


@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.parametrize(("code", "status"), [(SLOWLY, "succeeded"), (FAILS, "failed")])
def test_a_plain_action_is_watched_to_its_end(xingqiao, action, started, code, status, options):
    """Only its record is stored: as an execution it is missing once it has ended."""
    id = started(action("wa_plain", code))

    for _ in range(2):  # while it may still run, and after its end
        watched = xingqiao("execution", "watch", id, *options)

        assert (watched.code, watched.err) == (int(status == "failed"), "")
        assert watched.out.endswith(f" {id} {status}\n") if not options else watched.out == ""


def test_an_id_that_never_was_cannot_be_watched(xingqiao, refused):
    line = refused("execution", "watch", "0" * 32, code=5)

    assert line.startswith(f"the execution '{'0' * 32}' does not exist")


def test_parallel_steps_of_one_action_have_a_line_each(xingqiao, action, composition, started):
    action("wa_says", SAYS)
    steps = composer.parallel("wa_says", "wa_says", "wa_says")
    id = started(composition("wa_wide", steps))

    watched = xingqiao("execution", "watch", id)

    assert watched.out.count("✓ wa_says") == 3


def test_programs_get_entries_as_they_arrive(xingqiao, action, composition, started):
    action("wa_says", SAYS)
    id = started(composition("wa_told", composer.sequence("wa_says", composer.wait(0.5))))

    watched = xingqiao("execution", "watch", id, "--json")

    entries = [json.loads(line) for line in watched.out.splitlines()]
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    assert entries[-1]["type"] == "ExecutionSucceeded"


def test_a_terminal_shows_a_timeline_that_changes(xingqiao, server, composition, started):
    id = started(composition("wa_live", composer.sequence(composer.wait(1))))

    code, shown = on_a_terminal(
        "execution", "watch", id, XINGQIAO_URL=server.url, XINGQIAO_AUTH=AUTH
    )

    assert code == 0
    assert shown.count("wait") > 1  # it was drawn again
    assert f"{id} succeeded" in shown


def test_ctrl_c_says_that_it_goes_on(xingqiao, server, composition, started):
    id = started(composition("wa_long", composer.sequence(composer.wait(3600))))
    watching = subprocess.Popen(
        [XINGQIAO, "execution", "watch", id, "--json", "--url", server.url, "-u", AUTH],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert json.loads(watching.stdout.readline())["seq"] == 1
    watching.send_signal(signal.SIGINT)

    _, said = watching.communicate(timeout=20)

    assert watching.returncode == 130
    assert said.strip() == f"the execution goes on; to see it again: xingqiao execution watch {id}"
    assert xingqiao("execution", "get", id, "--json").json["status"] == "running"
    xingqiao("execution", "cancel", id)


def test_logs_of_all_steps_are_shown_with_their_names(xingqiao, action, composition, started):
    action("wa_says", SAYS)
    composition("wa_inner", composer.sequence(composer.literal({"who": "below"}), "wa_says"))
    id = started(composition("wa_outer", composer.sequence("wa_says", "wa_inner")))
    xingqiao("execution", "watch", id)

    shown = xingqiao("execution", "logs", id)
    told = [
        json.loads(line) for line in xingqiao("execution", "logs", id, "--json").out.splitlines()
    ]

    first, second = shown.out.splitlines()
    ids = [line["activationId"][-8:] for line in told]
    assert first.endswith(f" wa_says {ids[0]} | hello from it")
    assert second.endswith(f" wa_says {ids[1]} | hello from below")
    assert [line["name"] for line in told] == ["wa_says", "wa_says"]


def test_logs_are_followed_to_the_end(xingqiao, action, composition, started):
    action("wa_says", SAYS)
    id = started(composition("wa_later", composer.sequence("wa_says", composer.wait(1), "wa_says")))

    shown = xingqiao("execution", "logs", id, "--follow")

    assert len(shown.out.splitlines()) == 2


def test_the_logs_of_a_plain_action_are_followed_to_its_end(xingqiao, action, started):
    id = started(action("wa_slowly", SLOWLY))

    shown = xingqiao("execution", "logs", id, "--follow")

    assert (shown.code, shown.err) == (0, "")
    assert shown.out.endswith(" | at last\n")
