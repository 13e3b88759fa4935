"""An action as a Lambda function: runs the user's code, and sends what came of it to the queue."""

from __future__ import annotations

import json
import os
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from .wrapper import Wrapped, delay_s, is_late

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ....composer import JSON

REFERENCES = "XINGQIAO_REFERENCES"  # variables whose values are secrets, and where the secrets are
_CALLS = Config(connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 3})  # fmt: skip


class SystemClock:
    """The time of the machine."""

    @staticmethod
    def now_ms() -> int:
        return time.time_ns() // 1_000_000


@lru_cache(maxsize=1)
def _queues() -> Any:
    return boto3.client("sqs", config=_CALLS)


def wrapped(path: Path, main: str) -> Callable[[dict[str, Any], object], None]:
    """The handler of the action in a file, or in a folder with a `__main__.py`."""
    return answering(Wrapped.of_path(path, main).run)


def answering(
    run: Callable[[dict[str, Any]], dict[str, JSON]],
) -> Callable[[dict[str, Any], object], None]:
    """The handler that sends the answer of `run` to the queue.

    Sending may fail; then the function has, and Lambda tells the queue.
    """

    def handler(message: dict[str, Any], _: object) -> None:
        if is_late(message, time.time_ns() // 1_000_000):
            return
        _set_secrets()
        answer = run(message)
        delay = {"DelaySeconds": seconds} if (seconds := delay_s(answer)) else {}
        _queues().send_message(
            QueueUrl=os.environ["QUEUE"], MessageBody=json.dumps(answer), **delay
        )

    return handler


@lru_cache(maxsize=1)
def _set_secrets() -> None:
    """Sets the variables whose values are secrets of AWS' stores: once for a process."""
    for name, reference in json.loads(os.environ.get(REFERENCES, "{}")).items():
        ((store, secret),) = reference.items()
        try:
            os.environ[name] = _STORES[store](secret)
        except Exception as error:
            raise RuntimeError(
                f"the variable {name}: {store} does not give {secret!r}: {error}"
            ) from error


def _of_secrets_manager(id: str) -> str:
    answer = boto3.client("secretsmanager", config=_CALLS).get_secret_value(SecretId=id)
    return str(answer["SecretString"])


def _of_parameters(name: str) -> str:
    answer = boto3.client("ssm", config=_CALLS).get_parameter(Name=name, WithDecryption=True)
    return str(answer["Parameter"]["Value"])


_STORES = {"secretsmanager": _of_secrets_manager, "ssm": _of_parameters}
