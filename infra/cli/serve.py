"""`xingqiao serve`."""

from __future__ import annotations

import asyncio
import logging
import os
from functools import partial
from pathlib import Path

import click

log = logging.getLogger(__name__)


@click.command()
@click.option("--host", help="Address to listen on [127.0.0.1].")
@click.option("--port", type=int, help="Port to listen on; 0 takes one that is free [3233].")
@click.option("--data", type=click.Path(path_type=Path), help="Directory of the store [.xingqiao].")
@click.option("--dynamodb", metavar="TABLE", help="DynamoDB table to use as the store instead.")
@click.option(
    "--auth-file",
    type=click.Path(path_type=Path),
    help="File with the credentials (UUID:KEY) of the first namespace, `guest`.",
)
@click.option(
    "--auth",
    metavar="UUID:KEY",
    help="Credentials on the command line, where every user of this machine can read them in the list "
    "of processes: prefer --auth-file or XINGQIAO_AUTH.",
)
@click.option("--tls-cert", type=click.Path(path_type=Path), help="Certificate, PEM: serve HTTPS.")
@click.option(
    "--tls-key", type=click.Path(path_type=Path), help="Private key of the certificate, PEM."
)
@click.option("--workers", type=int, help="Worker processes at most [16].")
@click.option(
    "--isolation",
    type=click.Choice(["auto", "process", "bubblewrap", "none"]),
    help="Isolation of user code [auto: bubblewrap where it works]; none trusts all code.",
)
@click.option(
    "--cgroups",
    type=click.Choice(["auto", "off"]),
    help="Cgroups for workers' memory and processes [auto: made where this server may].",
)
@click.option(
    "--paused",
    is_flag=True,
    default=None,
    help="Take up and start nothing until `xingqiao service resume`; only read, list, and terminate.",
)
@click.option("--log", type=click.Choice(["text", "json"]), help="Format of the log [text].")
def serve(**given: object) -> None:
    """Serve until SIGINT or SIGTERM.

    Everything else is set by the environment: XINGQIAO_PAYLOAD_BYTES, XINGQIAO_CONCURRENT,
    XINGQIAO_PER_MINUTE, XINGQIAO_SYNCHRONOUS, XINGQIAO_GRACE_S, ... (see docs/quickstart.md).
    """
    import uvloop  # noqa: PLC0415  no other command needs the server

    from ..logs import set_up_logs  # noqa: PLC0415
    from ..server import serve as serve_until_stopped  # noqa: PLC0415
    from ..settings import Settings  # noqa: PLC0415

    settings = Settings.from_environment(os.environ, **given)
    set_up_logs(settings.log)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        shown = given["auth"] is not None
        runner.run(serve_until_stopped(settings, partial(_started, shown=shown)))


def _started(url: str, credentials: str | None, *, shown: bool) -> None:
    print(f"Xingqiao serves at {url}", flush=True)
    if shown:
        log.warning(
            "--auth shows the key to every user of this machine, in the list of processes: give "
            "--auth-file or set XINGQIAO_AUTH"
        )
    if credentials is not None:
        print(f"Credentials, shown only now:\n  export XINGQIAO_AUTH={credentials}", flush=True)
