"""What integrations answer: whether the mock of an answer has its shape, as AWS' models of its services say.

The models are botocore's. Where it is not installed (it comes with the extra `aws`), or knows no such
service, a mock may be anything. Lengths and ranges are not looked at.

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

# What is asked again and again until it has ended: its answer is what such a task gives.
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
# Integrations that make of the answer what the model does not say.
_OWN = {"apigateway:invoke", "bedrock:invokeModel", "eks:call", "eks:runJob", "http:invoke"}
_JSON = {("lambda:invoke", "Payload")}  # bytes that are given as what they are the text of


def unfit(asked: asl.Integration, result: JSON, strict: bool) -> str | None:
    """What AWS says of a mock that is not as what is asked for would answer.

    Args:
        asked: the integration.
        result: the mock.
        strict: whether members that an answer always has must be there.
    """
    name = f"{asked.service}:{asked.operation}"
    if asked.pattern == CALLBACK or name in _OWN:
        return None
    operation = asked.operation
    if asked.pattern in SYNC:
        if name not in _POLLED:
            return None
        operation = _POLLED[name]
    found = models.operation(asked.service.removeprefix(SDK), operation)
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
    """How a value is looked at: whether it must be whole, and which members may be anything."""

    strict: bool
    free: frozenset[str]


def _flaws(shape: Any, value: JSON, field: str, how: _How) -> Iterator[str]:
    """What is wrong with a value, or with what is in it."""
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
    """Whether a value is a scalar of this kind."""
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
