"""The Serverless Framework's `osls`, installed from its lock file once, beside the other rigs."""

from __future__ import annotations

import os
import subprocess

from tests.rigs.node_modules import modules

DEADLINE_S = 300
# Nothing of the machine's own account, and nobody is told that it runs.
ENVIRONMENT = {
    "SLS_TELEMETRY_DISABLED": "1", "SLS_NOTIFICATIONS_MODE": "off", "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_REGION": "us-east-1",
}  # fmt: skip


def osls(*arguments, folder, environment=None):
    """Runs a command of it in a folder. What it has printed; an AssertionError when it has failed."""
    command = ["node", str(modules("osls") / "osls" / "bin" / "serverless.js"), *arguments]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = subprocess.run(
        command, cwd=folder, env={**kept, **ENVIRONMENT, **(environment or {})}, text=True,
        capture_output=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
