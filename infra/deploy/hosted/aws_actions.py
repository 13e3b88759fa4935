"""An action as a Lambda function: runs the user's code, and sends what came of it to the queue."""

from __future__ import annotations

import json
import os
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from .wrapper import Wrapped, is_late

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_CALLS = Config(connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 3})  # fmt: skip


@lru_cache(maxsize=1)
def _queues() -> Any:
    return boto3.client("sqs", config=_CALLS)


def wrapped(path: Path, main: str) -> Callable[[dict[str, Any], object], None]:
    """The handler of the action in a file.

    Sending may fail; then the function has, and Lambda tells the queue.
    """
    action = Wrapped.of_file(path, main)

    def handler(message: dict[str, Any], _: object) -> None:
        if is_late(message, time.time_ns() // 1_000_000):
            return
        text = json.dumps(action.run(message))
        _queues().send_message(QueueUrl=os.environ["QUEUE"], MessageBody=text)

    return handler
