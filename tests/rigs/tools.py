"""AWS' command line and its framework Chalice, as users point them at a server: by the endpoint's URL."""

from __future__ import annotations

import os
import subprocess

from tests.rigs.venvs import python_of

DEADLINE_S = 120


def tool(name, *arguments, server, key, folder, given=""):
    """Runs a command of a tool in a folder, signed by a key ID:SECRET. Returns what it has printed."""
    user, secret = key.split(":")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment = {
        **kept, "AWS_ACCESS_KEY_ID": user, "AWS_SECRET_ACCESS_KEY": secret, "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": server, "AWS_PAGER": "", "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }  # fmt: skip
    done = subprocess.run(
        [python_of("tools").parent / name, *map(str, arguments)], cwd=folder, env=environment, text=True,
        input=given, capture_output=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
