"""AWS' services for tests: moto's, over HTTP on loopback, behind a check of signatures that moto does not make.

    with services() as cloud:
        queue = cloud.client("sqs").create_queue(QueueName="q")["QueueUrl"]
        ... a server with AWS_ENDPOINT_URL=cloud.url ...
        assert cloud.seen[-1].service == "sqs"

What is in them is the process's own, and gone when the block ends.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import boto3
from botocore.awsrequest import AWSPreparedRequest
from botocore.compat import HTTPHeaders
from moto.core.botocore_stubber import BotocoreStubber
from werkzeug.wrappers import Request as Asked
from werkzeug.wrappers import Response

from tests.rigs.signatures import KEYS, REGION, Signature
from tests.rigs.wsgi import served

PLAYED = ("athena", "codebuild", "dynamodb", "ecs", "events", "s3", "secretsmanager", "sns", "sqs")
REFUSAL = {"__type": "InvalidSignatureException", "message": f"The Canonical String was {KEYS[1]}"}


@dataclass(frozen=True)
class Seen:
    """A request: to which service, what it is called, whose, and what was sent."""

    service: str
    named: str
    key: str
    headers: Any
    body: bytes


class Cloud:
    """Answers as AWS does; `faults` are responses that are given first, in their order."""

    def __init__(self):
        self.seen, self.faults, self.keys = [], [], {KEYS[0]: KEYS[1]}
        self._asked = threading.Condition()
        self.url = None
        self._clients = []
        self._moto = BotocoreStubber()

    def __call__(self, environ, start_response):
        asked = Asked(environ)
        body, target = asked.get_data(), environ["RAW_URI"]
        signature = Signature(asked.headers.get("Authorization"))
        named = asked.headers.get("X-Amz-Target", target)
        with self._asked:
            self.seen.append(Seen(signature.service, named, signature.key, asked.headers, body))
            self._asked.notify_all()
        keys = signature.key, self.keys.get(signature.key, "")
        if not signature.service or not signature.expected(asked, target, body, keys)[1]:
            answer = json_answer(REFUSAL, 403)
        elif self.faults:
            answer = self.faults.pop(0)
        else:
            answer = self._answer(asked, target, body, signature)
        return answer(environ, start_response)

    def _answer(self, asked, target, body, signature):
        headers = HTTPHeaders()
        for name, value in asked.headers:
            headers[name] = value
        host = f"{signature.service}.{signature.region}.amazonaws.com"
        request = AWSPreparedRequest(
            asked.method, f"https://{host}{target}", headers, body, stream_output=False
        )
        status, told, content = self._moto.process_request(request)
        told = {n: v for n, v in told.items() if n.lower() not in ("content-length", "connection")}
        return Response(content, status, told)

    def asked(self, count, seconds=60):
        """Waits for so many requests."""
        with self._asked:
            assert self._asked.wait_for(lambda: len(self.seen) >= count, seconds), self.seen

    def client(self, service):
        """Boto3's client of a service."""
        made = boto3.client(
            service, endpoint_url=self.url, region_name=REGION, aws_access_key_id=KEYS[0],
            aws_secret_access_key=KEYS[1],
        )  # fmt: skip
        self._clients.append(made)
        return made

    def close(self):
        for client in self._clients:
            client.close()


def json_answer(doc, status=200, headers=None):
    """A response in AWS' JSON protocol."""
    return Response(json.dumps(doc), status, headers, content_type="application/x-amz-json-1.1")


@contextmanager
def services():
    """Services for as long as the block."""
    cloud = Cloud()
    try:
        with served(cloud) as cloud.url:
            yield cloud
    finally:
        cloud.close()
        for name in PLAYED:
            _reset(name)


def _reset(service):
    for account in getattr(import_module(f"moto.{service}.models"), f"{service}_backends").values():
        for backend in account.values():
            backend.reset()
