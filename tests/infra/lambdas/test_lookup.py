"""A request names a function, or a version or an alias of it."""

from __future__ import annotations

from tests.kit.lambdas.clients import (
    refused,
)


def test_qualifiers_that_do_not_fit_are_refused(aws, name):
    aws.publish_version(FunctionName=name)
    aws.create_alias(FunctionName=name, Name="prod", FunctionVersion="1")

    assert refused(aws.get_function, FunctionName=f"{name}:1", Qualifier="2")[2] == (
        "The derived qualifier from the function name does not match the specified qualifier."
    )
    assert (
        aws.get_function(FunctionName=f"{name}:1", Qualifier="1")["Configuration"]["Version"] == "1"
    )
    said = refused(aws.delete_function, FunctionName=name, Qualifier="$LATEST")
    assert said[2] == "$LATEST version cannot be deleted without deleting the function."
    assert refused(aws.delete_function, FunctionName=name, Qualifier="prod")[2].endswith(
        "use DeleteAlias."
    )
    said = refused(aws.delete_function, FunctionName=name, Qualifier="1")
    assert said == (
        "ResourceConflictException", 409, "Unable to delete because the following aliases reference it: [prod]",
    )  # fmt: skip
    for operation in (
        aws.update_function_code,
        aws.update_function_configuration,
        aws.publish_version,
    ):
        options = {"ZipFile": b"x"} if operation == aws.update_function_code else {}
        said = refused(operation, FunctionName=f"{name}:1", **options)
        assert said[:2] == ("InvalidParameterValueException", 400)
        assert said[2].startswith("This operation is permitted on Lambda functions only.")
