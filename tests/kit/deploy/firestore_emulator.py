"""Google's own emulator of Firestore, where it is installed with the Google Cloud CLI.

The packages: `google-cloud-cli-firestore-emulator`, and Java.
"""

from __future__ import annotations

import http.client
import shutil
import socket
import subprocess
import tempfile
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

JAR = "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar"
WARM = "/v1/projects/p/databases/warm/documents:commit"
DEADLINE_S = 60
MAIN = "com.google.cloud.datastore.emulator.firestore.CloudFirestore"


@contextmanager
def firestore_emulator():
    """The host and port of an empty Firestore, for as long as the block. Skips the test without the emulator."""
    java, gcloud = shutil.which("java"), shutil.which("gcloud")
    jar = Path(gcloud).resolve().parents[1] / JAR if gcloud else None
    if java is None or jar is None or not jar.exists():
        pytest.skip(
            "Firestore's emulator is not installed: google-cloud-cli-firestore-emulator and Java"
        )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryFile("w+") as told:
        process = subprocess.Popen(
            [java, "-Duser.language=en", "-cp", jar, MAIN, "--host", "127.0.0.1", "--port", str(port)],
            stdout=told, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            while not answers(port):
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=0.1)
                    told.seek(0)
                    raise AssertionError(f"the emulator did not start: {told.read()}")
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=DEADLINE_S)


def answers(port):
    """True as soon as it has taken a write: the first takes Java a while."""
    with suppress(OSError):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
        with closing(connection):
            headers = {"Authorization": "Bearer owner", "Content-Type": "application/json"}
            connection.request("POST", WARM, '{"writes": []}', headers)
            return connection.getresponse().status == 200
    return False
