"""JSONata 2.0.6 itself, the npm package, as a process that is asked line by line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from tests.kit.actions.things import needed

RIG = Path(__file__).parents[2] / "rigs" / "jsonata"
DEADLINE_S = 300


class Peer:
    """Asks what the package makes of an expression: {value}, {} if undefined, or {code, message}."""

    def __init__(self, directory):
        needed("node")
        needed("npm")
        for name in ("package.json", "package-lock.json"):
            shutil.copy(RIG / name, directory)
        subprocess.run(
            ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
            cwd=directory, check=True, capture_output=True, timeout=DEADLINE_S,
        )  # fmt: skip
        self.process = subprocess.Popen(
            ["node", RIG / "oracle.js"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "NODE_PATH": str(directory / "node_modules")},
        )  # fmt: skip

    def ask(self, expression, bindings):
        self.process.stdin.write(json.dumps([expression, bindings]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(DEADLINE_S)
        self.process.stdout.close()
