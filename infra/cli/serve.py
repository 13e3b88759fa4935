"""`xingqiao serve`."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click


@click.command()
@click.option("--host", help="Address to listen on [127.0.0.1].")
@click.option("--port", type=int, help="Port to listen on; 0 takes one that is free [3233].")
@click.option("--data", type=click.Path(path_type=Path), help="Directory of its store [.xingqiao].")
@click.option("--dynamodb", metavar="TABLE", help="DynamoDB table, to be its store instead.")
@click.option("--auth", metavar="UUID:KEY", help="Credentials of the first namespace, `guest`.")
@click.option("--workers", type=int, help="Worker processes at most [16].")
@click.option(
    "--isolation",
    type=click.Choice(["auto", "process", "bubblewrap", "none"]),
    help="Isolation of user code [auto: bubblewrap where it works]; none trusts all code.",
)
@click.option("--log", type=click.Choice(["text", "json"]), help="Form of the log [text].")
def serve(**given: object) -> None:
    """Serve until SIGINT or SIGTERM.

    Everything else is set by the environment: XINGQIAO_PAYLOAD_BYTES, XINGQIAO_CONCURRENT,
    XINGQIAO_PER_MINUTE, XINGQIAO_SYNCHRONOUS, XINGQIAO_GRACE_S, ... (see docs/quickstart.md).
    """
    import uvloop  # noqa: PLC0415  no other command needs the server

    from infra.server import serve as serve_until_stopped  # noqa: PLC0415
    from infra.settings import Settings  # noqa: PLC0415
    from infra.telemetry import set_up_logs  # noqa: PLC0415

    settings = Settings.from_environment(os.environ, **given)
    set_up_logs(settings.log)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve_until_stopped(settings, _started))


def _started(url: str, credentials: str | None) -> None:
    print(f"Xingqiao serves at {url}", flush=True)
    if credentials is not None:
        print(f"Credentials, shown only now:\n  export XINGQIAO_AUTH={credentials}", flush=True)
