"""Runs workloads: `python -m benchmarks [--json] [--smoke] [--scale X] [NAME ...]`; `--help` lists their names."""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import sys

import uvloop

from . import (
    bystander,
    clouds,
    engine,
    events,
    find,
    growth,
    jq,
    messages,
    over_http,
    platform,
    queries,
    queues,
    recovery,
    scheduling,
    server,
    states,
    transfers,
)
from .figures import HEADER, row
from .floors import floor

WORKLOADS = {
    "sequence": engine.sequences,
    "fanout": engine.fanouts,
    "payload": engine.payloads,
    "start": server.starts,
    "http": over_http.sequences,
    "recovery": recovery.recoveries,
    "waiting": engine.waiting,
    "messages": messages.messages,
    "events": events.events,
    "growth": growth.growths,
    "find": find.finds,
    "platform": platform.sequences,
    "cold": platform.colds,
    "list": platform.lists,
    "transfers": transfers.transfers,
    "clouds": clouds.clouds,
    "states": states.states,
    "queues": queues.queues,
    "bystander": bystander.bystanders,
    "schedules": scheduling.schedules,
    "queries": queries.queries,
    "jq": jq.expressions,
}
SMOKE = 0.01


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"Workload [default: all]: {', '.join(WORKLOADS)}."
    )
    parser.add_argument("--json", action="store_true", help="Print one JSON object per line.")
    parser.add_argument(
        "--smoke",
        action="store_true",
        help="Run a hundredth of each workload, as a test of the workload itself.",
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="Share of each workload's size [default: 1.0]."
    )
    arguments = parser.parse_args()
    if not arguments.scale > 0:
        parser.error(f"--scale must be more than 0, not {arguments.scale}")
    if unknown := set(arguments.names) - set(WORKLOADS):
        parser.error(f"unknown workload {unknown.pop()!r}: use {', '.join(WORKLOADS)}")
    scale = SMOKE if arguments.smoke else arguments.scale
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
