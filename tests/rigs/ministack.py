"""AWS in one process for the time of a block: what `osls` deploys to it runs, in processes of its own.

It has no size limits, and takes `AWS::Lambda::EventInvokeConfig` only by the API, not from a stack: see
`report_failures`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.rigs.node_modules import modules
from tests.rigs.osls import osls
from tests.rigs.venvs import python_of

REGION, KEYS = "us-east-1", ("x", "y")
DEADLINE_S = 90


class Ministack:
    """A running cloud."""

    def __init__(self, port):
        self.port, self.url = port, f"http://127.0.0.1:{port}"

    def client(self, service):
        return boto3.client(
            service, endpoint_url=self.url, region_name=REGION,
            aws_access_key_id=KEYS[0], aws_secret_access_key=KEYS[1],
        )  # fmt: skip

    def deploy(self, folder):
        """`osls deploy`. The id of the HTTP API that it has made."""
        keys = {"AWS_ACCESS_KEY_ID": KEYS[0], "AWS_SECRET_ACCESS_KEY": KEYS[1]}
        said = osls("deploy", folder=folder, environment={**keys, "AWS_ENDPOINT_URL": self.url})
        return re.search(r"https://(\w+)\.execute-api", said)[1]

    def report_failures(self, queue_arn):
        """Sets for each function what the stack says of its failures."""
        functions = self.client("lambda")
        for function in functions.list_functions()["Functions"]:
            functions.put_function_event_invoke_config(
                FunctionName=function["FunctionName"], MaximumRetryAttempts=0,
                DestinationConfig={"OnFailure": {"Destination": queue_arn}},
            )  # fmt: skip

    def ask(self, api, method, path, body=None, headers=None, *, signed=True):
        """A request to an HTTP API. Its status, headers and JSON body."""
        host = f"{api}.execute-api.localhost:{self.port}"
        data = b"" if body is None else json.dumps(body).encode()
        request = AWSRequest(method, f"http://{host}{path}", data=data, headers={"Host": host, **(headers or {})})  # fmt: skip
        if signed:
            SigV4Auth(Credentials(*KEYS), "execute-api", REGION).add_auth(request)
        sent = urllib.request.Request(f"{self.url}{path}", data or None, dict(request.headers), method=method)  # fmt: skip
        try:
            with urllib.request.urlopen(sent, timeout=DEADLINE_S) as answer:
                return answer.status, dict(answer.headers), json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers), json.load(error)

    def insist(self, api, *request):
        """As `ask`, again for as long as the answer is to ask again."""
        return _repeated(lambda: self.ask(api, *request), lambda answer: answer[0] != 503)

    def ended(self, api, execution):
        """An execution, when it has ended."""
        path = f"/executions/{execution}"
        return _repeated(
            lambda: self.ask(api, "GET", path)[2], lambda seen: seen.get("status") != "running"
        )


def _repeated(ask, enough):
    until = time.monotonic() + DEADLINE_S
    while not enough(answer := ask()):
        assert time.monotonic() < until, answer
        time.sleep(0.2)
    return answer


@contextmanager
def ministack(folder, *, node=False):
    """A cloud for as long as the block; it keeps its files in a folder.

    With `node`, functions in JavaScript have the clients of AWS, as they have them on Lambda.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = python_of("ministack").with_name("ministack")
    environment = {
        "PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(folder), "TMPDIR": str(folder),
        "BIND_HOST": "127.0.0.1", "GATEWAY_PORT": str(port),
    }  # fmt: skip
    if node:
        environment["NODE_PATH"] = str(modules("aws_sdk"))
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [program], cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        cloud = Ministack(port)
        _wait_for(cloud, process, folder)
        yield cloud
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # it leads its own session: its functions end, too
        process.wait()


def _wait_for(cloud, process, folder):
    until = time.monotonic() + DEADLINE_S
    while True:
        try:
            urllib.request.urlopen(f"{cloud.url}/_ministack/health", timeout=5).close()
        except urllib.error.HTTPError as answered:
            answered.close()
            return
        except OSError:
            alive = process.poll() is None and time.monotonic() < until
            assert alive, (folder / "log").read_text()
            time.sleep(0.1)
        else:
            return
