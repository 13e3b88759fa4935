"""Permissions of functions, with AWS' own client, against a server that runs."""

from __future__ import annotations

import json

import pytest

from tests.kit.lambdas.clients import ARN, refused
from xingqiao.infra.lambdas.policies import allows

S3 = {"StatementId": "s3", "Action": "lambda:InvokeFunction", "Principal": "s3.amazonaws.com"}


def policy(aws, **options):
    found = aws.get_policy(**options)
    return json.loads(found["Policy"]), found["RevisionId"]


def test_a_permission_is_stored_and_shown_as_on_aws(aws, name):
    made = aws.add_permission(
        FunctionName=name, **S3, SourceArn="arn:aws:s3:::bucket", SourceAccount="222222222222"
    )

    statement = {
        "Sid": "s3", "Effect": "Allow", "Principal": {"Service": "s3.amazonaws.com"},
        "Action": "lambda:InvokeFunction", "Resource": f"{ARN}{name}",
        "Condition": {
            "ArnLike": {"AWS:SourceArn": "arn:aws:s3:::bucket"},
            "StringEquals": {"AWS:SourceAccount": "222222222222"},
        },
    }  # fmt: skip
    assert made["ResponseMetadata"]["HTTPStatusCode"] == 201
    assert json.loads(made["Statement"]) == statement
    found, _ = policy(aws, FunctionName=name)
    assert found == {"Version": "2012-10-17", "Id": "default", "Statement": [statement]}
    aws.remove_permission(FunctionName=name, StatementId="s3")
    missing = ("ResourceNotFoundException", 404, "The resource you requested does not exist.")
    assert refused(aws.get_policy, FunctionName=name) == missing


@pytest.mark.parametrize(
    ("principal", "shown"),
    [
        ("*", "*"), ("222222222222", {"AWS": "arn:aws:iam::222222222222:root"}),
        ("events.amazonaws.com", {"Service": "events.amazonaws.com"}), ("guest", {"AWS": "guest"}),
        ("arn:aws:iam::222222222222:role/r", {"AWS": "arn:aws:iam::222222222222:role/r"}),
    ],
)  # fmt: skip
def test_principals_are_shown_in_aws_form(aws, name, principal, shown):
    made = aws.add_permission(FunctionName=name, **{**S3, "Principal": principal})

    assert json.loads(made["Statement"])["Principal"] == shown


def test_a_version_and_an_alias_have_permissions_of_their_own(aws, name):
    aws.publish_version(FunctionName=name)
    aws.create_alias(FunctionName=name, Name="prod", FunctionVersion="1")
    for qualifier in ("1", "prod"):
        aws.add_permission(FunctionName=name, Qualifier=qualifier, **S3)
        found, _ = policy(aws, FunctionName=name, Qualifier=qualifier)
        assert [one["Resource"] for one in found["Statement"]] == [f"{ARN}{name}:{qualifier}"]

    assert refused(aws.get_policy, FunctionName=name)[0] == "ResourceNotFoundException"
    aws.delete_alias(FunctionName=name, Name="prod")
    aws.create_alias(FunctionName=name, Name="prod", FunctionVersion="1")
    assert refused(aws.get_policy, FunctionName=f"{name}:prod")[0] == "ResourceNotFoundException"
    assert refused(aws.add_permission, FunctionName=name, Qualifier="9", **S3)[1] == 404
    said = refused(aws.add_permission, FunctionName=name, Qualifier="$LATEST", **S3)
    assert said[2] == "We currently do not support adding policies for $LATEST."


def test_revisions_and_statement_ids_are_checked(aws, name):
    now = aws.get_function_configuration(FunctionName=name)["RevisionId"]
    stale = refused(aws.add_permission, FunctionName=name, **S3, RevisionId="another")
    assert stale[:2] == ("PreconditionFailedException", 412)
    aws.add_permission(FunctionName=name, **S3, RevisionId=now)
    _, first = policy(aws, FunctionName=name)
    twice = refused(aws.add_permission, FunctionName=name, **S3)
    assert twice[:2] == ("ResourceConflictException", 409)
    assert twice[2].startswith("The statement id (s3) provided already exists.")
    aws.add_permission(FunctionName=name, **{**S3, "StatementId": "t"}, RevisionId=first)
    said = refused(aws.remove_permission, FunctionName=name, StatementId="s3", RevisionId=first)
    assert said[:2] == ("PreconditionFailedException", 412)
    assert refused(aws.remove_permission, FunctionName=name, StatementId="none")[:2] == (
        "ResourceNotFoundException", 404,
    )  # fmt: skip
    _, second = policy(aws, FunctionName=name)
    aws.remove_permission(FunctionName=name, StatementId="s3", RevisionId=second)
    assert [one["Sid"] for one in policy(aws, FunctionName=name)[0]["Statement"]] == ["t"]


def test_nothing_is_to_be_removed_without_a_policy(aws, name):
    said = refused(aws.remove_permission, FunctionName=name, StatementId="s3")

    assert said == (
        "ResourceNotFoundException", 404, "No policy is associated with the given resource.",
    )  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        {"StatementId": "a b"}, {"StatementId": "s" * 101}, {"Action": "s3:Get"}, {"Principal": "a b"},
        {"SourceAccount": "1"}, {"SourceArn": "none"}, {"EventSourceToken": "!"}, {"PrincipalOrgID": "o-1"},
        {"FunctionUrlAuthType": "SOME"}, {"FunctionUrlAuthType": "NONE"},
    ],
)  # fmt: skip
def test_a_permission_that_is_malformed_is_refused(aws, name, options):
    assert refused(aws.add_permission, FunctionName=name, **{**S3, **options})[1] == 400
    assert refused(aws.get_policy, FunctionName=name)[0] == "ResourceNotFoundException"


def test_a_policy_has_at_most_20480_bytes(aws, name):
    def add(size):
        padding = {"SourceArn": "arn:aws:s3:::" + "b" * size, "StatementId": f"s{size}"}
        return aws.add_permission(FunctionName=name, **{**S3, **padding})

    def length():
        return len(aws.get_policy(FunctionName=name)["Policy"])

    add(9_000)
    one = length()
    add(1_000)
    rest = length() - one - 1_000  # of a statement, with four digits in its id
    left = 20_480 - length() - rest
    said = refused(add, size=left + 1)
    assert said == (
        "PolicyLengthExceededException", 400, "The final policy size (20481) is bigger than the limit (20480).",
    )  # fmt: skip
    add(left)

    assert length() == 20_480


URL = {"Action": "lambda:InvokeFunctionUrl", "Principal": "*"}


@pytest.mark.parametrize(
    ("statement", "auth", "caller", "allowed"),
    [
        (URL, "NONE", None, True),
        ({**URL, "Action": "lambda:*"}, "NONE", None, True),
        ({**URL, "Action": "*"}, "NONE", None, True),
        ({**URL, "Action": "lambda:InvokeFunction"}, "NONE", None, False),
        ({**URL, "Condition": {"StringEquals": {"lambda:FunctionUrlAuthType": "NONE"}}}, "NONE", None, True),
        ({**URL, "Condition": {"StringEquals": {"lambda:FunctionUrlAuthType": "NONE"}}}, "AWS_IAM", "a", False),
        ({**URL, "Condition": {"Bool": {"lambda:InvokedViaFunctionUrl": "true"}}}, "NONE", None, True),
        ({**URL, "Condition": {"Bool": {"lambda:InvokedViaFunctionUrl": "false"}}}, "NONE", None, False),
        ({**URL, "Condition": {"StringEquals": {"AWS:SourceAccount": "222222222222"}}}, "NONE", None, False),
        ({**URL, "Principal": {"AWS": "a"}}, "AWS_IAM", "a", True),
        ({**URL, "Principal": {"AWS": "a"}}, "AWS_IAM", "b", False),
        ({**URL, "Principal": {"AWS": "a"}}, "NONE", None, False),
        ({**URL, "Principal": {"Service": "s3.amazonaws.com"}}, "NONE", None, False),
    ],
)  # fmt: skip
def test_a_statement_lets_callers_of_a_url_in(statement, auth, caller, allowed):
    assert allows([statement], auth, caller) is allowed
    assert not allows([], auth, caller)
