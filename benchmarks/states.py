"""State machines over Step Functions' API: this server and moto's, with the same client in the same run."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import http.client
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.rigs.venvs import python_of

from .figures import Figure, percentile

if TYPE_CHECKING:
    from collections.abc import Iterator

USER, KEY = "23bc46b1-71f6-4ed5-8c54-816aa4f8c502", "a-key-for-benchmarks"
CORPUS = Path(__file__).parents[1] / "tests" / "conformance" / "asl"
ROLE = "arn:aws:iam::111111111111:role/sfn"
THREADS = 4
TEN = {
    "StartAt": "S0",
    "States": {
        **{
            f"S{n}": {"Type": "Pass", "Parameters": {"n.$": "$.n"}, "Next": f"S{n + 1}"}
            if n % 2 == 0
            else {
                "Type": "Choice",
                "Choices": [{"Variable": "$.n", "NumericEquals": 0, "Next": "S9"}],
                "Default": f"S{n + 1}",
            }
            for n in range(9)
        },
        "S9": {"Type": "Succeed"},
    },
}
MAP = {
    "StartAt": "M",
    "States": {
        "M": {
            "Type": "Map",
            "ItemsPath": "$.items",
            "ItemProcessor": {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}},
            "End": True,
        }
    },
}
WORK = {  # machine, input, states of an execution, executions of ours, of moto
    "ten states": (TEN, {"n": 1}, 10, 2_000, 40),
    "map of 1,000": (MAP, {"items": list(range(1_000))}, 1_000, 40, 2),
}


class Api:
    """One connection to a Step Functions endpoint. It signs by itself, ten times as fast as botocore."""

    def __init__(self, url: str) -> None:
        self._host = urllib.parse.urlsplit(url).netloc
        self._connection = http.client.HTTPConnection(self._host, timeout=120)

    def __call__(self, operation: str, **params: Any) -> Any:
        body = json.dumps(params)
        self._connection.request("POST", "/", body, self._signed(operation, body))
        answer = self._connection.getresponse()
        content = json.loads(answer.read() or b"{}")
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(f"{operation}: {answer.status} {content}")
        return content

    def _signed(self, operation: str, body: str) -> dict[str, str]:
        """Signature Version 4 of the request that botocore would send."""
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        scope = f"{stamp[:8]}/us-east-1/states/aws4_request"
        headers = {
            "content-type": "application/x-amz-json-1.0",
            "host": self._host,
            "x-amz-date": stamp,
            "x-amz-target": f"AWSStepFunctions.{operation}",
        }
        lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
        digest = hashlib.sha256(body.encode()).hexdigest()
        request = f"POST\n/\n\n{lines}\n{';'.join(headers)}\n{digest}"
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        key = f"AWS4{KEY}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        credential = f"AWS4-HMAC-SHA256 Credential={USER}/{scope}"
        signed = f"{credential}, SignedHeaders={';'.join(headers)}, Signature={signature}"
        return {**headers, "authorization": signed}


@contextlib.contextmanager
def _ours(directory: str) -> Iterator[str]:
    command = [
        Path(sys.executable).with_name("xingqiao"), "serve", "--port", "0", "--data", directory,
        "--auth", f"{USER}:{KEY}", "--isolation", "none",
    ]  # fmt: skip
    with _process(command) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]


@contextlib.contextmanager
def _moto() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with _process([python_of("lambda"), "-m", "moto.server", "-p", str(port)]):
        for _ in range(200):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            time.sleep(0.1)
        _configure(port)
        yield f"http://127.0.0.1:{port}"


def _configure(port: int) -> None:
    """Tells moto to run state machines, which it does not do by default."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    body = json.dumps({"stepfunctions": {"execute_state_machine": True}})
    connection.request("POST", "/moto-api/config", body, {"Content-Type": "application/json"})
    if connection.getresponse().status >= http.HTTPStatus.BAD_REQUEST:
        raise RuntimeError("moto does not run state machines")
    connection.close()


@contextlib.contextmanager
def _process(command: list[Any]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def states(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Runs executions of two machines, and the recorded corpus, on each server."""
    for name in WORK:
        for server in ("moto", "ours"):
            yield _executions(floor, name, server, scale)
    for server in ("moto", "ours"):
        yield _corpus(floor, server, scale)


@contextlib.contextmanager
def _served(server: str) -> Iterator[str]:
    with (
        tempfile.TemporaryDirectory() as directory,
        _ours(directory) if server == "ours" else _moto() as url,
    ):
        yield url


async def _executions(floor: dict[str, float], name: str, server: str, scale: float) -> Figure:
    definition, given, n, ours, motos = WORK[name]
    count = max(THREADS, int((ours if server == "ours" else motos) * scale))

    def measured() -> tuple[list[float], float]:
        with _served(server) as url:
            api = Api(url)
            arn = api(
                "CreateStateMachine",
                name="measured",
                definition=json.dumps(definition),
                roleArn=ROLE,
            )["stateMachineArn"]
            shares = [count // THREADS] * THREADS
            _run(url, arn, given, max(1, shares[0] // 10))
            began = time.perf_counter()
            with ThreadPoolExecutor(THREADS) as pool:
                took = pool.map(lambda share: _run(url, arn, given, share), shares)
                return [one for some in took for one in some], time.perf_counter() - began

    took, seconds = await asyncio.to_thread(measured)
    return Figure(
        workload=f"states: {name}, {server}",
        runtime="states",
        n=n,
        concurrency=THREADS,
        p50_ms=percentile(took, 0.5),
        p99_ms=percentile(took, 0.99),
        steps_per_s=n * len(took) / seconds,
        executions_per_s=len(took) / seconds,
        floor=floor,
    )


def _run(url: str, arn: str, given: Any, count: int) -> list[float]:
    """Runs executions one after another. Returns the duration of each, as a client sees it."""
    api, took = Api(url), []
    for _ in range(count):
        began = time.perf_counter()
        name = uuid.uuid4().hex  # moto needs a name
        started = api("StartExecution", stateMachineArn=arn, input=json.dumps(given), name=name)
        run = started["executionArn"]
        pause = 0.0005
        while api("DescribeExecution", executionArn=run)["status"] == "RUNNING":
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)
        took.append((time.perf_counter() - began) * 1000)
    return took


async def _corpus(floor: dict[str, float], server: str, scale: float) -> Figure:
    """Runs the recordings' own checker; much of its time is spent in its client, boto3."""

    def measured() -> tuple[float, str]:
        with _served(server) as url:
            command = [
                sys.executable, str(CORPUS / "check.py"), str(CORPUS / "cases.json"), "--endpoint", url,
                "--access-key", USER, "--secret-key", KEY, "--jobs", str(THREADS),
                *(["--only", "assign"] if scale < 1 else []),
            ]  # fmt: skip
            began = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            return time.perf_counter() - began, done.stdout.splitlines()[-1]

    seconds, said = await asyncio.to_thread(measured)
    cases = int(said.partition(" results agree")[0].split()[-1])
    return Figure(
        workload=f"states: corpus, {server}",
        runtime="boto3",
        n=cases,
        concurrency=THREADS,
        p50_ms=seconds * 1000,
        p99_ms=seconds * 1000,
        steps_per_s=0,
        executions_per_s=cases / seconds,
        floor=floor,
        more={"agree": said.partition(" s: ")[2].partition(" results")[0], "s": round(seconds, 1)},
    )
