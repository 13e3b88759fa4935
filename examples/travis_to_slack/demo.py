"""Runs the example end to end: serve, deploy, invoke, show the history, stop.

    python examples/travis_to_slack/demo.py

The demonstration runs the commands that you would type. The server stores its data in a temporary
directory.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from slack import slack

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
XINGQIAO = Path(sys.executable).with_name("xingqiao")


@contextmanager
def server(data: str) -> Iterator[None]:
    """Runs a server. The environment holds its URL and credentials for the other commands."""
    command = [XINGQIAO, "serve", "--port", "0", "--data", data]
    print("$ xingqiao serve --port 0 --data", data, "&")
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        said = "".join(process.stdout.readline() for _ in range(3))
        found = re.search(r"serves at (\S+)\n.*\n.*XINGQIAO_AUTH=(\S+)", said)
        if found is None:
            sys.exit(f"the server did not start: {said}")
        print(f"{said.splitlines()[0]}\n")
        os.environ |= {"XINGQIAO_URL": found[1], "XINGQIAO_AUTH": found[2]}
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        print("$ kill %1\nthe server has stopped")


def run(*arguments: str) -> str:
    """Runs a command, and prints the command and its output."""
    print("$ xingqiao", shlex.join(arguments), flush=True)
    done = subprocess.run([XINGQIAO, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    print(done.stdout, flush=True)
    return done.stdout


def main() -> None:
    os.chdir(HERE)
    with tempfile.TemporaryDirectory() as data, server(data), slack() as channel:
        run("deploy", "pipeline.py")
        run("invoke", "travis_to_slack", "--param-file", "failed.json", "--param", "webhook",
            channel.url, "--result")  # fmt: skip
        listed = run("execution", "list")
        run("execution", "history", re.search(r"[0-9a-f]{32}", listed)[0])
        print("Slack has got:", channel.messages[0]["text"], end="\n\n")


if __name__ == "__main__":
    main()
