"""Queues and a table of AWS as the client sees them."""

from __future__ import annotations

import json

from botocore.exceptions import ClientError


class Queues:
    """SQS: keeps what it is sent, and may refuse the last of a batch."""

    def __init__(self, *, refuses=False):
        self.batches, self.messages, self._refuses = [], [], refuses

    def send_message_batch(self, **request):
        self.batches.append(request["Entries"])
        return {"Failed": [{"Id": "0", "Code": "InternalError"}]} if self._refuses else {}

    def send_message(self, **request):
        self.messages.append((request["QueueUrl"], json.loads(request["MessageBody"])))


class Refusing:
    """DynamoDB that answers every write with an error."""

    def __init__(self, code, *reasons):
        self._answer = {
            "Error": {"Code": code},
            "CancellationReasons": [{"Code": r} for r in reasons],
        }

    def update_item(self, **_):
        raise ClientError(self._answer, "UpdateItem")

    def transact_write_items(self, **_):
        raise ClientError(self._answer, "TransactWriteItems")
