"""AWS on this machine for the time of a block: functions that really run, queues, state machines.

    with lambda_rig({"hello": "def handler(event, context): return event"}) as rig:
        rig.client("lambda").invoke(FunctionName="hello", Payload=b"{}")

The process behind it is `lambda_cloud.py`; what it promises is in `test_lambda_rig.py`.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.rigs.lambda_account import ACCOUNT, KEYS, REGION, ROLE
from tests.rigs.venvs import python_of

HERE = Path(__file__).parent
DEADLINE_S = 60


class LambdaRig:
    """A running cloud: its address, its clients, and what a test asks or sets beside them."""

    def __init__(self, url):
        self.url = url

    def environment(self, keys=KEYS):
        """What SDKs' usual chain reads, and nothing of the machine's own account."""
        return {
            "AWS_ENDPOINT_URL": self.url, "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": keys[0], "AWS_SECRET_ACCESS_KEY": keys[1],
            "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }  # fmt: skip

    def client(self, service, keys=KEYS):
        """A client of boto3 that never tries twice."""
        import boto3
        from botocore.config import Config

        return boto3.client(
            service, endpoint_url=self.url, region_name=REGION,
            aws_access_key_id=keys[0], aws_secret_access_key=keys[1],
            config=Config(retries={"total_max_attempts": 1}, read_timeout=DEADLINE_S),
        )  # fmt: skip

    def deploy(self, name, source, *, timeout_s=3, **fields):
        """Makes a function of source code, or of a file with it, that defines `handler`."""
        text = source.read_text("utf-8") if isinstance(source, Path) else source
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as bundle:
            bundle.writestr("function.py", text)
        self.client("lambda").create_function(
            FunctionName=name, Runtime="python3.11", Role=ROLE, Handler="function.handler",
            Code={"ZipFile": archive.getvalue()}, Timeout=timeout_s, **fields,
        )  # fmt: skip

    def calls(self, name):
        """How many times the function's handler has been started with an event."""
        asked = {"name": name}
        return httpx.get(f"{self.url}/rig/calls", params=asked, trust_env=False).json()

    def throttle(self, name, on=True):
        """Whether every invocation is refused with 429."""
        client = self.client("lambda")
        if on:
            client.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
        else:
            client.delete_function_concurrency(FunctionName=name)

    def queue(self, name):
        """Makes a queue. Returns its URL; its ARN is `arn(url)`."""
        return self.client("sqs").create_queue(QueueName=name)["QueueUrl"]

    def arn(self, url):
        return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{url.rpartition('/')[2]}"

    def destinations(self, name, *, success=None, failure=None, retries=2, minutes=360):
        """Where records of the function's `Event` invocations go: URLs of queues.

        After `retries`, or when an event is `minutes` old, it has failed.
        """
        asked = {"OnSuccess": success, "OnFailure": failure}
        self.client("lambda").put_function_event_invoke_config(
            FunctionName=name,
            MaximumRetryAttempts=retries,
            MaximumEventAgeInSeconds=minutes * 60,
            DestinationConfig={
                outcome: {"Destination": self.arn(url)} for outcome, url in asked.items() if url
            },
        )

    def received(self, url, wait_s=20):
        """The next message of a queue as JSON, taken from it; None if none comes."""
        client = self.client("sqs")
        found = client.receive_message(QueueUrl=url, WaitTimeSeconds=wait_s).get("Messages", [])
        for message in found:
            client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            return json.loads(message["Body"])
        return None

    def machine(self, name, definition):
        """Makes a state machine, which runs for real. Returns its ARN."""
        made = self.client("stepfunctions").create_state_machine(
            name=name, definition=json.dumps(definition), roleArn=ROLE
        )
        return made["stateMachineArn"]


@contextmanager
def lambda_rig(functions, *, timeout_s=3, minute_s=0.05):
    """A cloud with these functions (name to source or file) for as long as the block.

    Args:
        functions: Handlers by name; see `LambdaRig.deploy`.
        timeout_s: Their timeout.
        minute_s: How long a minute lasts for `Event` invocations, which wait one minute before their
            second attempt and two before their third, and have an age in minutes.
    """
    python = python_of("lambda")
    kept = ("PATH", "LANG", "TMPDIR")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [python, HERE / "lambda_cloud.py", str(minute_s)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            env={**environment, "AWS_EC2_METADATA_DISABLED": "true"},
        )  # fmt: skip
        with process:  # its end closes the pipe, and that ends the process with all of its own
            said = process.stdout.readline()
            if not said:
                errors.seek(0)
                raise AssertionError(f"the lambda rig did not start: {errors.read()}")
            rig = LambdaRig(json.loads(said)["url"])
            for name, source in functions.items():
                rig.deploy(name, source, timeout_s=timeout_s)
            yield rig
        errors.seek(0)
        sys.stderr.write(errors.read())  # pytest shows it with a test that fails
