"""Configurations of functions: what is kept, shown and refused."""

from __future__ import annotations

import pytest

from tests.kit.lambdas.clients import PYTHON, ROLE, refused
from tests.kit.lambdas.handlers import ARCHIVES, answer, packed


def test_only_the_configuration_that_was_read_is_changed(aws, name):
    before = aws.get_function_configuration(FunctionName=name)["RevisionId"]
    after = aws.update_function_configuration(FunctionName=name, Timeout=9, RevisionId=before)

    stale = refused(
        aws.update_function_configuration, FunctionName=name, Timeout=8, RevisionId=before
    )
    assert stale[:2] == ("PreconditionFailedException", 412)
    assert after["RevisionId"] != before
    assert aws.get_function_configuration(FunctionName=name)["Timeout"] == 9


def test_code_and_configuration_are_changed_apart(aws, deployed):
    made = deployed("one", Environment={"Variables": {"COLOUR": "red"}})
    assert answer(aws, "one", 1) == (1, None)

    changed = aws.update_function_configuration(
        FunctionName="one",
        Handler="handler.about",
        Environment={"Variables": {"COLOUR": "blue"}},
        Timeout=2,
    )
    assert (changed["CodeSha256"], changed["Timeout"]) == (made["CodeSha256"], 2)
    assert answer(aws, "one")[0]["variable"] == "blue"
    second = packed(handler_dot_py="def about(event, context):\n    return 'second'\n")
    dry = aws.update_function_code(FunctionName="one", ZipFile=second, DryRun=True)
    assert answer(aws, "one")[0]["variable"] == "blue"
    replaced = aws.update_function_code(FunctionName="one", ZipFile=second)
    assert replaced["CodeSha256"] == dry["CodeSha256"] != made["CodeSha256"]
    assert answer(aws, "one") == ("second", None)
    stale = refused(
        aws.update_function_code, FunctionName="one", ZipFile=second, RevisionId=made["RevisionId"]
    )
    assert stale[:2] == ("PreconditionFailedException", 412)
    aws.update_function_configuration(
        FunctionName="one", Description="again", RevisionId=replaced["RevisionId"]
    )
    kept = aws.get_function_configuration(FunctionName="one")
    assert (kept["Description"], kept["Environment"]) == (
        "again",
        {"Variables": {"COLOUR": "blue"}},
    )


WRONG = {
    "a name": ({"FunctionName": "no name"}, "ValidationException", "at 'functionName' failed"),
    "a runtime": ({"Runtime": "java21"}, "InvalidParameterValueException", "Value java21 at 'runtime'"),
    "no handler": ({"Handler": None}, "InvalidParameterValueException", "are mandatory parameters"),
    "a time": ({"Timeout": 901}, "ValidationException", "Member must have value less than or equal to 900"),
    "memory": ({"MemorySize": 10_241}, "ValidationException", "less than or equal to 10240"),
    "no archive": ({"Code": {"ZipFile": b"none"}}, "InvalidParameterValueException", "Could not unzip uploaded file."),
    "an archive that leaves": ({"Code": {"ZipFile": packed(**{"..__x": "x"})}}, "InvalidParameterValueException", "outside"),
    "no code": ({"Code": {"S3Bucket": "bucket", "S3Key": "k"}}, "InvalidParameterValueException", "source for function code"),
    "an image": ({"PackageType": "Image"}, "InvalidParameterValueException", "PackageType Zip"),
    "a tag": ({"Tags": {"aws:x": ""}}, "InvalidParameterValueException", "is reserved"),
    "a layer": ({"Layers": ["arn:aws:lambda:us-east-1:111111111111:layer:x:1"]}, "InvalidParameterValueException", "leave out 'Layers'"),
    "a variable": ({"Environment": {"Variables": {"1": "x"}}}, "InvalidParameterValueException", "Map keys must"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "code", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_created_is_refused(aws, options, code, message):
    given = {
        "FunctionName": "wrong", "Runtime": PYTHON, "Handler": "handler.handler", "Role": ROLE,
        "Code": {"ZipFile": ARCHIVES[PYTHON]}, **options,
    }  # fmt: skip
    given = {name: value for name, value in given.items() if value is not None}

    found, status, said = refused(aws.create_function, **given)
    assert (found, status) == (code, 400)
    assert message in said
