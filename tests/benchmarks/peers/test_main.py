"""The command: its options, what it prints, and its end. The real systems here are ours: the others are downloads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from benchmarks.peers.__main__ import installed, main
from benchmarks.peers.children import ROOT
from benchmarks.peers.environment import UnavailableError

INTERRUPTED = """
import asyncio, sys
from pathlib import Path
from benchmarks.peers.__main__ import main
from benchmarks.peers.children import Children

class Endless:
    async def measure(self, load):
        async with Children(Path(sys.argv[1])) as children:
            child = await children.start(sys.executable, "-c", "import time; time.sleep(600)")
            print(child.pid, flush=True)
            await asyncio.Event().wait()

sys.exit(main(["--only", "payload"], lambda names: {"xingqiao": Endless()}))
"""


class Known:
    """A system with one figure for all work."""

    def __init__(self, p50_ms):
        self._p50_ms = p50_ms

    async def measure(self, load):
        if not self._p50_ms:
            raise ValueError("it is broken")
        return {"p50_ms": self._p50_ms, "executions_per_s": 1.0}


def known(theirs=20.0):
    return lambda names: {"xingqiao": Known(4.0), "dbos": Known(theirs)}


def test_a_table(capsys):
    assert main(["--rounds", "2", "--only", "steps-5-at-1"], known()) == 0

    told = capsys.readouterr()
    assert "| 5 steps, alone | ms | 4.00 | 20.0 | 5.00 |" in told.out
    assert "round 2: steps-5-at-1, dbos: p50_ms 20.00, executions_per_s 1.00" in told.err
    assert told.err.count("floor") == 2


def test_json(capsys):
    assert main(["--rounds", "1", "--only", "steps-5-at-1", "--json"], known()) == 0

    floor, ours, theirs, ratio = map(json.loads, capsys.readouterr().out.splitlines())
    assert floor["floor"]["commits_per_s"] > 0
    assert (ours["system"], theirs["system"]) == ("xingqiao", "dbos")
    assert (ratio["ratio"], ratio["median"]) == ("steps-5-at-1", 5.0)


def test_a_failure_is_told_of_and_is_the_exit_code(capsys):
    assert main(["--rounds", "1", "--only", "steps-5-at-1"], known(0)) == 1

    assert "- round 1, steps-5-at-1, dbos: ValueError: it is broken" in capsys.readouterr().out


def test_peers_that_cannot_be_installed(capsys):
    def find(names):
        raise UnavailableError("npm install failed: no network")

    assert main([], find) == 1
    assert capsys.readouterr().err == "npm install failed: no network\n"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (["--rounds", "0"], "'0' is not a number of rounds: use 1 or more"),
        (["--rounds", "x"], "'x' is not a number of rounds: use 1 or more"),
        (["--only", "nothing"], "invalid choice: 'nothing' (choose from"),
        (["--systems", "temporal"], "invalid choice: 'temporal' (choose from"),
    ],
)
def test_an_option_that_is_wrong(given, text, capsys):
    with pytest.raises(SystemExit):
        main(given, known())

    assert text in capsys.readouterr().err


def test_ours_alone_need_no_download(monkeypatch):
    monkeypatch.setattr("benchmarks.peers.__main__.prepare", lambda: pytest.fail("a download"))

    assert set(installed(["xingqiao", "xingqiao-http"])) == {"xingqiao", "xingqiao-http"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_what_it_has_started(number, tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "log")], cwd=ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as run:  # fmt: skip
        child = int(run.stdout.readline())
        run.send_signal(number)
        _, told = run.communicate()

    assert run.returncode == 130
    assert "interrupted: the figures are those until now" in told
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_our_own_systems_do_all_the_work(capsys):
    """In process, and over HTTP with workers; also killed and started again."""
    ours = ["--systems", "xingqiao", "--systems", "xingqiao-http"]
    work = [f"--only={key}" for key in ("fanout-1000", "messages-at-1", "recovery")]

    assert main(["--rounds", "1", "--small", "--json", *ours, *work], None) == 0

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    measured = [line for line in lines if "system" in line]
    assert len(measured) == 6
    assert all(line["figures"]["repeated"] <= 10 for line in measured[-2:])
