"""Workloads: `python -m benchmarks [--json] [--smoke] [NAME ...]`; `--help` names them."""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import sys

import uvloop

from . import bystander, clouds, engine, platform, server, states, transfers
from .figures import HEADER, row
from .floors import floor

WORKLOADS = {
    "sequence": engine.sequences,
    "fanout": engine.fanouts,
    "payload": engine.payloads,
    "start": server.starts,
    "recovery": server.recoveries,
    "waiting": engine.waiting,
    "platform": platform.sequences,
    "cold": platform.colds,
    "list": platform.lists,
    "transfers": transfers.transfers,
    "clouds": clouds.clouds,
    "states": states.states,
    "bystander": bystander.bystanders,
}
SMOKE = 0.01


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(WORKLOADS))
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument(
        "--smoke", action="store_true", help="so little that it only shows it works"
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(WORKLOADS):
        parser.error(f"there is no {unknown.pop()!r}, only {', '.join(WORKLOADS)}")
    scale = SMOKE if arguments.smoke else 1.0
    reached = floor()
    if not arguments.json:
        print(
            f"Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}; floor, synced: "
            f"{reached['commits_per_s']:,.0f} commits/s of one row, "
            f"{reached['rows_per_s']:,.0f} rows/s at 50 a commit\n\n{HEADER}"
        )
    for name in arguments.names or WORKLOADS:
        for measured in WORKLOADS[name](reached, scale):
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                figure = runner.run(measured)
            print(figure.line() if arguments.json else row(figure), flush=True)


if __name__ == "__main__":
    main()
