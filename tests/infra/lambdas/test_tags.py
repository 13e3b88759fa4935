"""Tags of functions, with AWS' own client, against a server that runs."""

from __future__ import annotations

import pytest

from tests.kit.lambdas.clients import ARN, create, refused


def test_tags_are_added_replaced_and_removed(aws, fresh):
    name = fresh()
    create(aws, name, Tags={"team": "x", "stage": "dev"})
    arn = f"{ARN}{name}"

    aws.tag_resource(Resource=arn, Tags={"stage": "prod", "größe": "a b/c=1"})
    aws.untag_resource(Resource=arn, TagKeys=["team", "none"])

    expected = {"stage": "prod", "größe": "a b/c=1"}
    assert aws.list_tags(Resource=arn)["Tags"] == expected
    assert aws.get_function(FunctionName=name)["Tags"] == expected
    aws.update_function_configuration(FunctionName=name, Timeout=4)
    assert aws.list_tags(Resource=arn)["Tags"] == expected


def test_fifty_tags_are_the_most(aws, name):
    arn = f"{ARN}{name}"
    aws.tag_resource(Resource=arn, Tags={f"k{number}": "" for number in range(50)})
    aws.tag_resource(Resource=arn, Tags={"k0": "replaced"})

    said = refused(aws.tag_resource, Resource=arn, Tags={"one more": ""})
    assert said[:2] == ("InvalidParameterValueException", 400)
    assert "limit of 50" in said[2]
    assert len(aws.list_tags(Resource=arn)["Tags"]) == 50
    many = {f"k{number}": "" for number in range(51)}
    assert refused(create, aws=aws, name="many", Tags=many)[0] == "InvalidParameterValueException"


@pytest.mark.parametrize(
    ("tags", "fits"),
    [
        ({"k" * 128: "v" * 256}, True), ({"k" * 129: ""}, False), ({"": ""}, False), ({"k": "v" * 257}, False),
        ({"aws:k": ""}, False), ({"k": "a\n!"}, False), ({"k*": ""}, False),
    ],
)  # fmt: skip
def test_keys_and_values_have_aws_limits(aws, name, tags, fits):
    arn = f"{ARN}{name}"
    if fits:
        aws.tag_resource(Resource=arn, Tags=tags)
    else:
        assert refused(aws.tag_resource, Resource=arn, Tags=tags)[1] == 400
    assert aws.list_tags(Resource=arn)["Tags"] == (tags if fits else {})


def test_only_functions_have_tags(aws, name):
    aws.publish_version(FunctionName=name)

    said = refused(aws.list_tags, Resource=f"{ARN}{name}:1")
    assert said[:2] == ("InvalidParameterValueException", 400)
    assert said[2].startswith("Tags on function aliases and versions are not supported.")
    assert refused(aws.list_tags, Resource=f"{ARN}none")[:2] == ("ResourceNotFoundException", 404)
    mapping = "arn:aws:lambda:us-east-1:111111111111:event-source-mapping:00000000-0000-0000-0000-000000000000"
    assert refused(aws.list_tags, Resource=mapping)[0] == "InvalidParameterValueException"
    assert refused(aws.untag_resource, Resource=f"{ARN}{name}", TagKeys=[])[1] == 400
