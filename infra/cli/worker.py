"""`xingqiao worker`."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from typing import TYPE_CHECKING, Any

import click

from ...actions import ForbiddenError, UnauthorizedError
from . import files, output
from .client import ApiError
from .exit_codes import NOT_ALLOWED
from .options import FILE, connected

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .client import Client


@click.command(epilog="\b\nExample:\n  xingqiao worker render.py --queue gpu --slots 4")
@click.argument("file", type=FILE)
@click.option("--queue", help="Queue to take tasks from [default: the one that FILE names].")
@click.option(
    "--slots", type=click.IntRange(1), default=10, show_default=True, help="Tasks at the same time."
)
@click.option("--version", default="", help="Version of this worker, for tasks that ask for one.")
@click.option("--name", help="Name of this worker [default: the host and the process].")
@click.option(
    "--grace",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    help="Seconds in which tasks may end after SIGTERM.",
)
@connected
def worker(client: Client, file: Path, queue: str | None, **given: Any) -> None:
    """Run the functions of FILE on the tasks of a queue.

    The worker runs until SIGTERM or SIGINT. FILE is a Python file with functions marked `@composer.action(queue="NAME")`. Deploy it first with
    `xingqiao deploy FILE`. A function with a parameter `step` can tell how far it is and learns when it
    should stop. On SIGTERM the worker takes no more tasks, tells those that run to stop, and cancels them
    after the grace: a task that is not answered then is left to its timeout.
    """
    functions, queue = _functions(file, queue)
    options = {
        "slots": given["slots"],
        "version": given["version"],
        "name": given["name"] or f"{socket.gethostname()}-{os.getpid()}",
        "grace_s": given["grace"],
    }
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    try:
        asyncio.run(_work(client, functions, queue, options))
    except (ForbiddenError, UnauthorizedError) as error:
        raise ApiError(str(error), exit_code=NOT_ALLOWED) from error


async def _work(
    client: Client, functions: list[Callable[..., Any]], queue: str, options: dict[str, Any]
) -> None:
    from ..client import Connecting  # noqa: PLC0415  no other command needs the asynchronous client

    loop = asyncio.get_running_loop()
    async with Connecting(client.place) as x:
        made = x.worker(queue, functions, **options)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, made.stop)
        names = ", ".join(made.functions)
        output.done(f"the worker {made.name} takes tasks from the queue {queue}: {names}")
        await made.run()


def _functions(file: Path, queue: str | None) -> tuple[list[Callable[..., Any]], str]:
    """The functions for a queue, and the queue, which the file may name."""
    found = files.read(file).functions.values()
    queues = sorted({str(one.queue["queue"]) for one in found if one.queue is not None})
    if queue is None:
        if len(queues) != 1:
            named = f"names the queues {', '.join(queues)}" if queues else "names no queue"
            raise click.UsageError(f"{file} {named}: choose one with --queue")
        (queue,) = queues
    functions: list[Callable[..., Any]] = [
        one for one in found if one.queue is None or one.queue["queue"] == queue
    ]
    if not functions:
        raise click.UsageError(f"{file} has no function for the queue '{queue}'")
    return functions, queue
