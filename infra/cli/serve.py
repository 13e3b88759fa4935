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
@click.option("--host", help="Address to listen on [default: 127.0.0.1].")
@click.option("--port", type=int, help="Port to listen on; 0 picks a free one [default: 3233].")
@click.option(
    "--data", type=click.Path(path_type=Path), help="Directory of the store [default: .xingqiao]."
)
@click.option(
    "--dynamodb",
    metavar="TABLE",
    help="DynamoDB table to use as the store, in place of a directory.",
)
@click.option(
    "--auth-file",
    type=click.Path(path_type=Path),
    help="File with the credentials (UUID:KEY) of the namespace `guest` [default: generated once].",
)
@click.option(
    "--auth",
    metavar="UUID:KEY",
    help="Credentials of the namespace `guest`. Other users of this machine can read them in the list of "
    "processes: prefer --auth-file or XINGQIAO_AUTH.",
)
@click.option(
    "--tls-cert",
    type=click.Path(path_type=Path),
    help="PEM file of the TLS certificate, to serve HTTPS.",
)
@click.option(
    "--tls-key", type=click.Path(path_type=Path), help="PEM file of the certificate's private key."
)
@click.option("--workers", type=int, help="Maximum number of worker processes [default: 16].")
@click.option(
    "--isolation",
    type=click.Choice(["auto", "process", "bubblewrap", "none"]),
    help="Isolation of user code; `none` trusts all code [default: auto, bubblewrap where it works].",
)
@click.option(
    "--wheels",
    type=click.Path(path_type=Path),
    help="Directory of wheels to install the actions' Python packages from, in place of a package index.",
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
    help="Run no execution until `xingqiao service resume`; reading and terminating work.",
)
@click.option(
    "--metrics-port",
    type=int,
    help="Port that serves only the metrics; 0 picks a free one [default: none, see docs/operations.md].",
)
@click.option(
    "--metrics-host",
    help="Address to serve the metrics on, with --metrics-port [default: 127.0.0.1].",
)
@click.option("--log", type=click.Choice(["text", "json"]), help="Log format [default: text].")
def serve(**given: object) -> None:
    """Start a server and serve until SIGINT or SIGTERM.

    Every option can also be set as an environment variable, such as XINGQIAO_PORT. The environment
    sets limits too: XINGQIAO_PAYLOAD_BYTES, XINGQIAO_CONCURRENT, XINGQIAO_PER_MINUTE,
    XINGQIAO_GRACE_S and others (see docs/quickstart.md).
    """
    import uvloop  # noqa: PLC0415  no other command needs the server

    from ..service import serve as serve_until_stopped  # noqa: PLC0415
    from ..service import set_up_logs  # noqa: PLC0415
    from ..settings import Settings  # noqa: PLC0415

    settings = Settings.from_environment(os.environ, **given)
    set_up_logs(settings.log)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        shown = given["auth"] is not None
        runner.run(serve_until_stopped(settings, partial(_announce, shown=shown)))


def _announce(url: str, credentials: str | None, *, shown: bool) -> None:
    print(f"Xingqiao serves at {url}", flush=True)  # scripts wait for this line
    if shown:
        log.warning(
            "--auth shows the key to every user of this machine, in the list of processes: use "
            "--auth-file or XINGQIAO_AUTH"
        )
    if credentials is not None:
        print(f"Credentials, shown only once:\n  export XINGQIAO_AUTH={credentials}", flush=True)
