"""Activities over AWS' API: created, described, listed, deleted, and polled."""

from __future__ import annotations

import pytest


async def test_work_that_there_is_none_of_is_no_token(aws, activity):
    assert await aws("GetActivityTask", activityArn=activity) == {"taskToken": None}


async def test_an_activity_is_created_described_listed_and_deleted(aws, activity):
    assert activity == "arn:aws:states:us-east-1:111111111111:activity:work"
    created = await aws("DescribeActivity", activityArn=activity)
    again = await aws("CreateActivity", name="work", tags=[{"key": "a", "value": "b"}])
    assert again == {"activityArn": activity, "creationDate": created["creationDate"]}
    await aws("CreateActivity", name="other.work")

    listed = await aws("ListActivities", maxResults=1)
    more = await aws("ListActivities", nextToken=listed["nextToken"])
    assert [a["name"] for a in (*listed["activities"], *more["activities"])] == [
        "other.work",
        "work",
    ]

    for _ in "ab":
        assert await aws("DeleteActivity", activityArn=activity) == {}
    missing = ("ActivityDoesNotExist", f"Activity Does Not Exist: '{activity}'")
    assert await aws.refused("DescribeActivity", activityArn=activity) == missing
    assert await aws.refused("GetActivityTask", activityArn=activity) == missing


async def test_an_activity_has_one_encryption(aws):
    encryption = {"type": "CUSTOMER_MANAGED_KMS_KEY", "kmsKeyId": "key"}
    answer = await aws("CreateActivity", name="work", encryptionConfiguration=encryption)

    found = await aws("DescribeActivity", activityArn=answer["activityArn"])
    assert found["encryptionConfiguration"] == encryption
    assert await aws.refused("CreateActivity", name="work") == (
        "ActivityAlreadyExists", f"Activity Already Exists: '{answer['activityArn']}'",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["TestActivity InvalidName$", "a b", "a/b"])
async def test_a_name_that_is_none_is_refused(aws, name):
    assert await aws.refused("CreateActivity", name=name) == (
        "InvalidName", f"Invalid Name: '{name}'",
    )  # fmt: skip


async def test_an_arn_of_something_else_is_refused(aws, machine):
    assert (await aws.refused("GetActivityTask", activityArn=machine))[0] == "InvalidArn"
