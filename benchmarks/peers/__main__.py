"""Measures Xingqiao beside DBOS and Restate, in interleaved rounds, and prints tables of the ratios."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from typing import TYPE_CHECKING

import uvloop

from ..floors import floor
from .environment import HOME, UnavailableError, prepare
from .rounds import Floor, interleaved
from .systems import PEERS, others, ours
from .table import Rounds, line
from .work import workloads

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .rounds import Measured
    from .systems import System
    from .work import Workload

INTERRUPTED = 130


def main(
    given: Sequence[str] | None = None,
    find: Callable[[Sequence[str]], Mapping[str, System]] | None = None,
) -> int:
    """Returns the exit code: 0; 1 if a measurement or a download has failed; 130 if it was interrupted.

    Args:
        given: the arguments, if not those of the command line.
        find: gives the systems with these names; by default `installed`.
    """
    arguments = _parser().parse_args(given)
    chosen = workloads(arguments.seconds)
    if arguments.only:
        chosen = tuple(each for each in chosen if each.key in arguments.only)
    if arguments.small:
        chosen = tuple(each.small() for each in chosen)
    try:
        systems = (find or installed)(arguments.systems or ())
    except UnavailableError as error:
        print(error, file=sys.stderr)
        return 1
    rounds, code = Rounds(chosen), 0
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(arguments, chosen, systems, rounds))
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("interrupted: the figures are those until now", file=sys.stderr)
        code = INTERRUPTED
    for text in rounds.ratios() if arguments.json else (rounds.markdown(),):
        print(text)
    return code or int(bool(rounds.failures))


async def _run(
    arguments: argparse.Namespace,
    chosen: Sequence[Workload],
    systems: Mapping[str, System],
    rounds: Rounds,
) -> None:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with contextlib.aclosing(
        interleaved(arguments.rounds, chosen, systems, floor)
    ) as measured:
        async for item in measured:
            rounds.add(item)
            if arguments.json:
                print(line(item), flush=True)
            else:
                print(_progress(item), file=sys.stderr, flush=True)


def _progress(item: Floor | Measured) -> str:
    if isinstance(item, Floor):
        return f"round {item.round}: floor {item.rates['commits_per_s']:,.0f} commits/s"
    figures = ", ".join(f"{name} {value:,.2f}" for name, value in item.figures.items())
    return f"round {item.round}: {item.workload}, {item.system}: {item.failure or figures}"


def installed(names: Sequence[str]) -> Mapping[str, System]:
    """The systems with these names, or all. Installs the peers if one of them is asked for."""
    wanted = set(names or (*ours(), *PEERS))
    known = dict(ours())
    if wanted & set(PEERS):
        print(f"DBOS and Restate: {HOME} (installed at the first run)", file=sys.stderr)
        known |= others(prepare())
    return {name: system for name, system in known.items() if name in wanted}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument(
        "--rounds", type=_at_least_one, default=5, help="Number of rounds [default: 5]."
    )
    keys = [each.key for each in workloads(1)]
    parser.add_argument(
        "--only", action="append", choices=keys, help="Workload to run; repeat it for several."
    )
    parser.add_argument(
        "--systems", action="append", choices=[*ours(), *PEERS],
        help="System to measure; repeat it for several.",
    )  # fmt: skip
    parser.add_argument(
        "--seconds", type=float, default=3.0,
        help="Duration of each measurement [default: 3]. A slow system runs at least once.",
    )  # fmt: skip
    parser.add_argument(
        "--small", action="store_true", help="Run a small part of each workload, as a test."
    )
    parser.add_argument("--json", action="store_true", help="Print one JSON object per line.")
    return parser


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rounds: use 1 or more")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
