"""The npm clients, installed once for all test processes, and one Node.js process that calls them."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path

from tests.kit.actions.things import needed

HERE = Path(__file__).parents[2] / "clients"
DEADLINE_S = 300


class RefusedByServerError(Exception):
    """What the npm client throws: the status, its message, and the body of the answer."""

    def __init__(self, failed):
        super().__init__(failed["message"])
        self.status, self.body = failed.get("status"), failed.get("error")


class Driver:
    """Calls the npm client, one call at a time."""

    def __init__(self, modules, url, auth):
        self.settings = {"apihost": url, "api_key": auth}
        self.process = subprocess.Popen(
            ["node", HERE / "driver.js", HERE / "compositions.js"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "NODE_PATH": str(modules)},
        )  # fmt: skip

    def __call__(self, resource, verb, **options):
        return self.ask(call=[resource, verb], options=options)

    def plainly(self, resource, verb, options):
        """A call whose argument is no object: a name, or a list."""
        return self.ask(call=[resource, verb], options=options)

    def deploy(self, name):
        return self.ask(deploy=name)

    def ask(self, **request):
        line = json.dumps({"settings": self.settings, **request})
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        said = json.loads(self.process.stdout.readline())
        if "failed" in said:
            raise RefusedByServerError(said["failed"])
        return said.get("result")

    def close(self):
        self.process.stdin.close()
        self.process.wait(DEADLINE_S)
        self.process.stdout.close()


def installed(directory):
    """Installs the clients into a directory that all test processes share. Returns node_modules."""
    needed("node")
    needed("npm")
    directory.mkdir(exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (directory / "done").exists():
            for name in ("package.json", "package-lock.json"):
                shutil.copy(HERE / name, directory)
            subprocess.run(
                ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
                cwd=directory, check=True, capture_output=True, timeout=DEADLINE_S,
            )  # fmt: skip
            (directory / "done").touch()
    return directory / "node_modules"
