"""The server of `xingqiao dev`, a process of its own that ends with the command, also if that is killed.

The command holds the other end of this process' standard input. The settings come from the environment.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading

from ...composer import Error

READY = "ready "  # the line that has the URL begins so


def main() -> None:
    """Serves until standard input ends."""
    import uvloop  # noqa: PLC0415  the command itself loads the constant only

    from ..service import serve, set_up_logs  # noqa: PLC0415
    from ..settings import Settings  # noqa: PLC0415

    threading.Thread(target=_stop_at_the_end_of_input, daemon=True).start()
    try:
        settings = Settings.from_environment(os.environ)
        set_up_logs(settings.log)
        logging.getLogger().setLevel(logging.WARNING)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(settings, _announce))
    except (Error, OSError) as error:
        sys.exit(f"error: {error}")


def _announce(url: str, _: str | None) -> None:
    print(f"{READY}{url}", flush=True)


def _stop_at_the_end_of_input() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
