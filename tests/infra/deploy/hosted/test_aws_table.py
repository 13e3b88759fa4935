"""The table of the hosted conductor in DynamoDB: what is no conflict, and what cannot be done."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from tests.kit.deploy.aws_fakes import Refusing
from xingqiao.infra.deploy.hosted import Change
from xingqiao.infra.deploy.hosted.aws import DynamoTable


@pytest.mark.parametrize(
    ("refusal", "fibers"),
    [
        (Refusing("ConditionalCheckFailedException"), {}),
        (Refusing("TransactionConflictException"), {}),
        (Refusing("TransactionCanceledException", "ConditionalCheckFailed", "None"), {"0/1.0": {}}),
        (Refusing("TransactionCanceledException", "None", "TransactionConflict"), {"0/1.0": {}}),
    ],
)
def test_who_comes_second_is_told_so(refusal, fibers):
    assert not DynamoTable(refusal, "t").save(Change(id="e", version=2, at_ms=1, fibers=fibers))


@pytest.mark.parametrize(
    "refusal",
    [
        Refusing("ProvisionedThroughputExceededException"),
        Refusing("TransactionCanceledException", "ItemCollectionSizeLimitExceeded"),
    ],
)
def test_any_other_error_is_one(refusal):
    with pytest.raises(ClientError):
        DynamoTable(refusal, "t").save(Change(id="e", version=2, at_ms=1, fibers={"0/1.0": {}}))


def test_what_cannot_be_removed_is_let_lie(caplog):
    class Full:
        def update_item(self, **_):
            pass

        def batch_write_item(self, **_):
            raise ClientError({"Error": {"Code": "Throttled"}}, "BatchWriteItem")

    assert DynamoTable(Full(), "t").save(Change(id="e", version=2, at_ms=1, dropped=["0/1.0"]))
    assert "stay in the table" in caplog.text
