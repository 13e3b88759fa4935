"""Azure's storage on loopback, and a bundle's functions in an environment with Azure's own libraries."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

from tests.kit.actions.things import needed
from tests.rigs import venvs

HOST = Path(venvs.__file__).with_name("azure_host.py")
LOCKED = HOST.with_name("azurite")
DEADLINE_S = 30
ACCOUNT = "devstoreaccount1"  # of every azurite, with a key that is no secret
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
SERVICES = ("Blob", "Queue", "Table")


def azurite():
    """The program, installed from its lock file into the folder where rigs are kept."""
    needed("node")
    needed("npm")
    digest = sha256((LOCKED / "package-lock.json").read_bytes()).hexdigest()[:12]
    folder = venvs.cache() / f"azurite-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            for name in ("package.json", "package-lock.json"):
                shutil.copy(LOCKED / name, folder)
            subprocess.run(
                ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
                cwd=folder, check=True, capture_output=True, timeout=venvs.DEADLINE_S,
            )  # fmt: skip
            (folder / "ready").touch()
    return folder / "node_modules/azurite/dist/src/azurite.js"


class Azurite:
    """Azure's tables and queues, in memory."""

    def __init__(self):
        hosts = [f"--{service.lower()}{what}" for service in SERVICES for what in ("Host", "Port")]
        values = [value for _ in SERVICES for value in ("127.0.0.1", "0")]
        self.process = subprocess.Popen(
            ["node", azurite(), "--silent", "--inMemoryPersistence", "--disableTelemetry",
             "--skipApiVersionCheck", *(x for pair in zip(hosts, values, strict=True) for x in pair)],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        urls = {}
        while len(urls) < len(SERVICES):
            line = self.process.stdout.readline()
            assert line, "azurite did not start"
            if found := re.search(r"(\w+) service is successfully listening at (\S+)", line):
                urls[found[1]] = found[2]
        endpoints = "".join(f"{name}Endpoint={url}/{ACCOUNT};" for name, url in urls.items())
        self.connection = (
            f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};{endpoints}"
        )

    def close(self):
        self.process.terminate()
        self.process.communicate(timeout=DEADLINE_S)


class Driver:
    """One bundle on Azure: see `tests/rigs/azure_host.py`."""

    def __init__(self, folder, connection):
        self.process = subprocess.Popen(
            [venvs.python_of("azure"), HOST, folder], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "AzureWebJobsStorage": connection},
        )  # fmt: skip

    def __call__(self, verb, **arguments):
        self.process.stdin.write(json.dumps([verb, arguments]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the driver has ended: see its standard error"
        return json.loads(line)

    def close(self):
        self.process.communicate(timeout=DEADLINE_S)  # it ends with its input
