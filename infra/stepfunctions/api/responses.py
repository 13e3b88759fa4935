"""Checks that mocked answers of integrations have the shapes in AWS' service models.

The models are botocore's. If it is not installed (the extra `aws` has it), or does not know a service,
every mock passes. Lengths and ranges are not checked.

https://docs.aws.amazon.com/step-functions/latest/dg/test-state-isolation.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ....adapters import aws_models as models

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....composer import JSON, asl

SDK = "aws-sdk:"
SYNC = (".sync", ".sync:2")
CALLBACK = ".waitForTaskToken"
WRONG = "Mock result schema validation error: "

# The operation that is polled until a job has ended: the task returns its answer.
_POLLED = {
    "athena:startQueryExecution": "getQueryExecution",
    "batch:submitJob": "describeJobs",
    "bedrock:createModelCustomizationJob": "getModelCustomizationJob",
    "codebuild:startBuild": "batchGetBuilds",
    "codebuild:startBuildBatch": "batchGetBuildBatches",
    "databrew:startJobRun": "describeJobRun",
    "ecs:runTask": "describeTasks",
    "elasticmapreduce:addStep": "describeStep",
    "elasticmapreduce:createCluster": "describeCluster",
    "emr-containers:createVirtualCluster": "describeVirtualCluster",
    "emr-containers:deleteVirtualCluster": "describeVirtualCluster",
    "emr-containers:startJobRun": "describeJobRun",
    "emr-serverless:startJobRun": "getJobRun",
    "glue:startJobRun": "getJobRun",
    "mediaconvert:createJob": "getJob",
    "sagemaker:createLabelingJob": "describeLabelingJob",
    "sagemaker:createProcessingJob": "describeProcessingJob",
    "sagemaker:createTrainingJob": "describeTrainingJob",
    "sagemaker:createTransformJob": "describeTransformJob",
    "states:startExecution": "describeExecution",
}  # fmt: skip
# Integrations whose answers differ from the model.
_OWN = {"apigateway:invoke", "bedrock:invokeModel", "eks:call", "eks:runJob", "http:invoke"}
_JSON = {("lambda:invoke", "Payload")}  # bytes that hold JSON, and are given as its value


def unfit(resource: asl.Integration, result: JSON, strict: bool) -> str | None:
    """AWS' text about a mock that does not have the shape of an answer; None if it has.

    Args:
        resource: the integration.
        result: the mock.
        strict: true if the mock needs all members that an answer always has.
    """
    name = f"{resource.service}:{resource.operation}"
    if resource.pattern == CALLBACK or name in _OWN:
        return None
    operation = resource.operation
    if resource.pattern in SYNC:
        if name not in _POLLED:
            return None
        operation = _POLLED[name]
    found = models.operation(resource.service.removeprefix(SDK), operation)
    if found is None or found.model.output_shape is None:
        return None
    if not isinstance(result, dict):
        return "Mocked result must be a JSON object."
    how = _How(strict, frozenset(field for of, field in _JSON if of == name))
    return next(_flaws(found.model.output_shape, result, "", how), None)


# --- shapes and values ---------------------------------------------------------------------------

_TEXTS = ("string", "timestamp", "blob", "char")
_WHOLE = ("integer", "long", "short", "byte", "biginteger")
_NUMBERS = ("float", "double", "bigdecimal")


class _How(NamedTuple):
    """The strictness of a check, and the members that may be anything."""

    strict: bool
    free: frozenset[str]


def _flaws(shape: Any, value: JSON, field: str, how: _How) -> Iterator[str]:
    """The flaws of a value and of its members."""
    kind = shape.type_name
    if getattr(shape, "is_document_type", False) or field in how.free:
        return
    if kind == "structure" and isinstance(value, dict):
        yield from _member_flaws(shape, value, how)
    elif kind == "list" and isinstance(value, list):
        for item in value:
            yield from _flaws(shape.member, item, field, how)
    elif kind == "map" and isinstance(value, dict):
        for item in value.values():
            yield from _flaws(shape.value, item, field, how)
    elif not _is_scalar(kind, value):
        yield f"{WRONG}Field '{field}' must be {_called(kind)}"
    elif kind == "string" and shape.enum and value not in shape.enum:
        yield f"{WRONG}Field '{field}' is not an expected value"


def _member_flaws(shape: Any, value: dict[str, JSON], how: _How) -> Iterator[str]:
    members = {models.cased(name): member for name, member in shape.members.items()}
    if how.strict:
        for name in map(models.cased, shape.required_members):
            if name not in value and models.as_java(name) not in value:
                yield f"{WRONG}Required field '{name}' is missing"
    members |= {models.as_java(name): member for name, member in members.items()}
    for name, item in value.items():
        if name in members:  # AWS may have added others
            yield from _flaws(members[name], item, name, how)


def _is_scalar(kind: str, value: JSON) -> bool:
    """True if a value is a scalar of this kind."""
    if kind == "boolean":
        return isinstance(value, bool)
    if kind in _TEXTS:
        return isinstance(value, str)
    if kind in _WHOLE:
        return type(value) is int or (type(value) is float and value.is_integer())
    return kind in _NUMBERS and type(value) in (int, float)


def _called(kind: str) -> str:
    if kind == "boolean":
        return "a boolean"
    if kind in _TEXTS:
        return "a string"
    if kind == "list":
        return "an array"
    return "an object" if kind in ("structure", "map") else "a number"
