"""DynamoDB as tests have it: moto's, in this process, with transactions as DynamoDB has them."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from functools import cache, partial

import boto3
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.dynamodb.comparisons import get_filter_expression
from moto.dynamodb.exceptions import (
    MultipleTransactionsException,
    TooManyTransactionsException,
    TransactionCanceledException,
)
from moto.dynamodb.models import DynamoDBBackend

from xingqiao.infra.stores import DynamoStore
from xingqiao.infra.stores.dynamodb.store import RENEWAL_S

TABLE = "xingqiao"
MOST_BYTES = 4 << 20  # of a transaction


@contextmanager
def dynamodb():
    """A region without tables.

    moto copies the table for each write of a transaction, to be able to go back. Here all conditions are
    looked at before anything is written, which is how DynamoDB does it, and nothing has to go back.
    """
    patched = DynamoDBBackend.transact_write_items
    with mock_aws():
        DynamoDBBackend.transact_write_items = _transact
        try:
            yield
        finally:
            DynamoDBBackend.transact_write_items = patched


def _transact(backend, transact_items):
    if len(transact_items) > 100:
        raise TooManyTransactionsException
    writes = [next(iter(item.items())) for item in transact_items]
    keys = [_key(backend, kind, write) for kind, write in writes]
    if len(
        {(write["TableName"], str(key)) for (_, write), key in zip(writes, keys, strict=True)}
    ) < len(keys):
        raise MultipleTransactionsException
    assert _size(transact_items) <= MOST_BYTES
    reasons = [_reason(backend, write, key) for (_, write), key in zip(writes, keys, strict=True)]
    if any(code for code, _, _ in reasons):
        raise TransactionCanceledException(reasons)
    for (kind, write), key in zip(writes, keys, strict=True):
        if kind == "Put":
            backend.put_item(write["TableName"], write["Item"])
        elif kind == "Delete":
            backend.delete_item(write["TableName"], key)
        elif kind == "Update":
            backend.update_item(
                write["TableName"],
                key,
                update_expression=write["UpdateExpression"],
                expression_attribute_names=write.get("ExpressionAttributeNames"),
                expression_attribute_values=write.get("ExpressionAttributeValues"),
            )


def _size(value):
    """Bytes that are sent; those of a body as Base64."""
    if isinstance(value, dict):
        return sum(len(name) + _size(found) for name, found in value.items())
    if isinstance(value, list):
        return sum(map(_size, value))
    return 4 * len(value) / 3 if isinstance(value, bytes) else len(str(value))


def _key(backend, kind, write):
    if kind != "Put":
        return dict(sorted(write["Key"].items()))
    return {name: write["Item"][name] for name in ("pk", "sk")}


def _reason(backend, write, key):
    if "ConditionExpression" not in write:
        return None, None, None
    condition = get_filter_expression(
        write["ConditionExpression"],
        write.get("ExpressionAttributeNames"),
        write.get("ExpressionAttributeValues"),
    )
    if condition.expr(backend.get_item(write["TableName"], key)):
        return None, None, None
    return "ConditionalCheckFailed", "The conditional request failed", None


class At:
    """A clock that stands until it is set."""

    def __init__(self, ms=1_000_000):
        self.ms = ms

    def now_ms(self):
        return self.ms

    def elapsed_us(self):
        return self.ms * 1e3


async def at_once(seconds):
    """Waits for nothing; but a lease is not renewed by itself."""
    if seconds == RENEWAL_S:
        await asyncio.Event().wait()


@cache
def client():
    """A client of it."""
    return boto3.client(
        "dynamodb",
        region_name="eu-west-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
    )


def dynamo_store(client, clock=None, table=TABLE, pause=at_once):
    """A store in a table; one call at a time, since moto's tables are no threads' friends."""
    return DynamoStore(table, clock or At(), client=client, threads=1, pause=pause)


class Faulty:
    """A client whose calls go as a test says.

    `fault(number, method, call)` does a call or does not; calls are counted from 1.
    """

    def __init__(self, fault):
        self.calls = []
        self.fault = fault

    def __getattr__(self, method):
        def called(**arguments):
            self.calls.append((method, arguments))
            call = partial(getattr(client(), method), **arguments)
            return self.fault(len(self.calls), method, call)

        return called

    @property
    def methods(self):
        return [method for method, _ in self.calls]


def refusal(code, method="Query", **more):
    """An error as DynamoDB answers it."""
    return ClientError({"Error": {"Code": code, "Message": "It says so."}, **more}, method)


def everything_in(table=TABLE):
    """All items of a table."""
    pages = client().get_paginator("scan").paginate(TableName=table)
    items = [item for page in pages for item in page["Items"]]
    return {(item["pk"]["S"], item["sk"]["S"]): item for item in items}
