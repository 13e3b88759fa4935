"""The Serverless Framework's `osls`, installed from its lock file once, beside the other rigs."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from tests.rigs.venvs import cache, unavailable

HERE = Path(__file__).parent / "osls"
FILES = ("package.json", "package-lock.json")
DEADLINE_S = 300
# Nothing of the machine's own account, and nobody is told that it runs.
ENVIRONMENT = {
    "SLS_TELEMETRY_DISABLED": "1", "SLS_NOTIFICATIONS_MODE": "off", "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_REGION": "us-east-1",
}  # fmt: skip


def osls(*arguments, folder, environment=None):
    """Runs a command of it in a folder. What it has printed; an AssertionError when it has failed."""
    command = ["node", str(_installed() / "osls" / "bin" / "serverless.js"), *arguments]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = subprocess.run(
        command, cwd=folder, env={**kept, **ENVIRONMENT, **(environment or {})}, text=True,
        capture_output=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def _installed():
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            unavailable(f"the osls rig: {program} is not installed")
    digest = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in FILES))
    folder = cache() / f"osls-{digest.hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            for name in FILES:
                shutil.copyfile(HERE / name, folder / name)
            done = subprocess.run(
                ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder, text=True,
                capture_output=True, timeout=DEADLINE_S, check=False,
            )  # fmt: skip
            if done.returncode:
                unavailable(f"the osls rig: npm ci has failed: {done.stderr[-500:]}")
            (folder / "ready").touch()
    return folder / "node_modules"
