"""Functions on a server that runs, with AWS' own client."""

from __future__ import annotations

import io
import json
import zipfile

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.kit.infra.servers import KEY, USER

ROLE = "arn:aws:iam::111111111111:role/any"
PYTHON = "python3.11"
ARN = "arn:aws:lambda:us-east-1:111111111111:function:"


def archive(text):
    """An upload with one module, `handler`."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as bundle:
        bundle.writestr(zipfile.ZipInfo("handler.py"), text)  # without the time of day
    return made.getvalue()


def returning(value):
    """An upload whose handler returns a value."""
    return archive(f"def handler(event, context):\n    return {value!r}\n")


def client_of(server, service="lambda", user=USER, key=KEY):
    """A client that tries each request once, and leaves all checks to the server."""
    return boto3.client(
        service, endpoint_url=server.url, region_name="us-east-1", aws_access_key_id=user,
        aws_secret_access_key=key, config=Config(
            retries={"max_attempts": 0}, inject_host_prefix=False, parameter_validation=False,
        ),
    )  # fmt: skip


def create(aws, name, code=None, **options):
    """Creates a function. Its handler returns "first" unless `code` is given."""
    code = {"ZipFile": returning("first") if code is None else code}
    given = {"Runtime": PYTHON, "Handler": "handler.handler", "Role": ROLE, **options}
    return aws.create_function(FunctionName=name, Code=code, **given)


def answered(aws, name, **options):
    """The value that a function returns, and the version that has run."""
    got = aws.invoke(FunctionName=name, **options)
    assert "FunctionError" not in got, got["Payload"].read()
    return json.loads(got["Payload"].read()), got["ExecutedVersion"]


def refused(operation, **options):
    """The code, the status and the message of a request that is refused."""
    with pytest.raises(ClientError) as refusal:
        operation(**options)
    response = refusal.value.response
    return (
        response["Error"]["Code"],
        response["ResponseMetadata"]["HTTPStatusCode"],
        response["Error"]["Message"],
    )
