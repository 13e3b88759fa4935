"""AWS' services as integrations: any call by way of its SDK, and those that AWS has optimized.

Errors are named as AWS names them in state machines: `DynamoDb.ConditionalCheckFailedException` by way of `aws-sdk`, or
`DynamoDB....`; what a model does not know is `DynamoDb.DynamoDbException`, or `DynamoDB.AmazonDynamoDBException`.

https://docs.aws.amazon.com/step-functions/latest/dg/supported-services-awssdk.html
https://docs.aws.amazon.com/step-functions/latest/dg/integrate-optimized.html
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from actions import LAMBDA, PERMISSION, ExecutionArn, Remote, is_integration, parsed_arn
from adapters import (
    AwsAnswer,
    AwsRefused,
    Fault,
    ParameterError,
    RegionError,
    Request,
    SecretError,
    aws_models,
)

from .integrations import (
    PERMISSIONS,
    RUNTIME,
    TASK_FAILED,
    Integration,
    IntegrationError,
    came_with,
)
from .jobs import JOBS

if TYPE_CHECKING:
    from collections.abc import Callable

    from actions import Clock
    from adapters import Authorizers, AwsServices
    from composer import JSON

    from .integrations import Asked
    from .jobs import Job

SDK = "aws-sdk:"
LIMIT_MS = 60_000  # that an answer may take
FUNCTION_MS = 900_000  # that a function's may
MISSES = 10  # looks at a job, one after the other, that may fail
POLLS_S = (1.0, 2.0, 5.0)  # before a job is looked at; the last from then on
# Services whose operations AWS has optimized without making anything else of the answers: what their errors begin
# with, and whose they are.
VENDORS = {
    "athena": ("Athena", "Amazon"), "batch": ("Batch", "AWS"), "codebuild": ("CodeBuild", "AWS"),
    "databrew": ("DataBrew", "AWS"), "dynamodb": ("DynamoDB", "Amazon"), "ecs": ("ECS", "Amazon"),
    "elasticmapreduce": ("ElasticMapReduce", "Amazon"), "emr-containers": ("EMRContainers", "Amazon"),
    "emr-serverless": ("EmrServerless", "Amazon"), "events": ("EventBridge", "Amazon"), "glue": ("Glue", "AWS"),
    "mediaconvert": ("MediaConvert", "AWS"), "sagemaker": ("SageMaker", "Amazon"), "sns": ("SNS", "Amazon"),
    "sqs": ("SQS", "Amazon"),
}  # fmt: skip


class UnseenError(IntegrationError):
    """A service has not answered, or is too busy to."""


class AwsIntegrations:
    """Finds integrations of AWS' services. A `Registry`.

    Args:
        services: asks them.
        authorizers: who asks: the namespace's secret `aws`, or what this server itself runs with.
        clock: the time.
    """

    def __init__(self, services: AwsServices, authorizers: Authorizers, clock: Clock) -> None:
        self._services, self._authorizers, self._clock = services, authorizers, clock

    def get(self, named: tuple[str, str], /) -> Integration | None:
        service, operation = named
        if service.startswith(SDK):
            known = aws_models.operation(service.removeprefix(SDK), operation)
            streams = known is not None and known.model.has_event_stream_output
            return None if known is None or streams else Integration(self._sdk)
        if service not in VENDORS or not is_integration(f"arn:aws:states:::{service}:{operation}"):
            return None
        if aws_models.operation(service, operation) is None:
            return None
        if f"{service}:{operation}" in JOBS:
            return Integration(self._ask, self._finish, self._stop)
        return Integration(self._ask)

    # --- by way of the SDK -------------------------------------------------------------------

    async def _sdk(self, asked: Asked) -> JSON:
        service = asked.service.removeprefix(SDK)
        known = aws_models.operation(service, asked.operation)
        assert known is not None  # noqa: S101  `get` has found it
        named = known.called
        answer = await self._called(asked, known, asked.parameters, named, aws_models.as_java)
        if isinstance(answer, AwsRefused):
            error = aws_models.as_java(aws_models.cased(answer.modelled or named))
            about = f"Service: {named}, Status Code: {answer.status}, Request ID: {answer.request}"
            raise IntegrationError(f"{named}.{_exception(error)}", f"{answer.message} ({about})")
        return answer.value

    # --- optimized ---------------------------------------------------------------------------

    async def _ask(self, asked: Asked) -> JSON:
        parameters = asked.parameters
        if asked.service == "events":
            parameters = _with_resources(parameters, asked.execution)
        answer = await self._optimally(asked, asked.operation, parameters)
        told = answer.value | came_with(answer.headers, answer.status, answer.request)
        if told.get("FailedEntryCount"):
            raise IntegrationError("EventBridge.FailedEntry", _text(told))
        if asked.waits:
            job = _job(asked)
            job.check(told)
            told |= _members(parameters, job.kept)
        return told

    async def _optimally(self, asked: Asked, operation: str, parameters: JSON) -> AwsAnswer:
        known = aws_models.operation(asked.service, operation)
        assert known is not None  # noqa: S101  `get` has found it, or a job names it
        prefix, vendor = VENDORS[asked.service]
        answer = await self._called(asked, known, parameters, prefix, str)
        if isinstance(answer, AwsRefused):
            about = (
                f"Service: {vendor}{prefix}; Status Code: {answer.status}; "
                f"Error Code: {answer.code}; Request ID: {answer.request}; Proxy: null"
            )
            kind = UnseenError if answer.transient else IntegrationError
            error = _exception(answer.modelled or f"{vendor}{prefix}")
            raise kind(f"{prefix}.{error}", f"{answer.message} ({about})")
        return answer

    async def _finish(self, asked: Asked, answer: Any) -> JSON:
        """Looks at a job until it has ended."""
        job, looks, unseen = _job(asked), 0, 0
        while True:
            pause_s = POLLS_S[min(looks, len(POLLS_S) - 1)]
            await asyncio.sleep(pause_s)  # noqa: TID251  a job tells nobody of its end
            looks += 1
            try:
                seen = await self._optimally(asked, job.look, job.named(answer))
            except UnseenError:
                unseen += 1
                if unseen == MISSES:
                    raise
                continue
            unseen = 0
            told = job.told(seen.value)
            succeeded = job.ended(told)
            if succeeded is False:
                raise IntegrationError(TASK_FAILED, _text(told))
            if succeeded:
                found: JSON = told
                return found

    async def _stop(self, asked: Asked, answer: Any) -> None:
        job = _job(asked)
        await self._optimally(asked, job.stop, job.stopped(answer))

    # --- asking ------------------------------------------------------------------------------

    async def _called(
        self,
        asked: Asked,
        operation: aws_models.Operation,
        parameters: JSON,
        prefix: str,
        named: Callable[[str], str],
    ) -> AwsAnswer | AwsRefused:
        """Asks; raises IntegrationError when nothing has answered."""
        try:
            authorizer = self._authorizers.on_aws(asked.namespace)
        except SecretError as error:
            raise IntegrationError(PERMISSIONS, str(error)) from None
        limit_ms = FUNCTION_MS if operation.place == "lambda" else LIMIT_MS
        request = Request(
            target=Remote(LAMBDA, operation.place),
            params={},
            deadline_ms=self._clock.now_ms() + limit_ms,
            key=asked.activation,
            traceparent=asked.traceparent,
            authorizer=authorizer,
        )
        try:
            answer = await self._services.call(request, operation, parameters, named)
        except (ParameterError, RegionError) as error:
            raise IntegrationError(RUNTIME, f"{asked.resource}: {error}") from None
        if not isinstance(answer, Fault):
            return answer
        assert isinstance(answer.error, dict)  # noqa: S101  an adapter tells a code and a message
        why = str(answer.error["message"])
        if answer.code == PERMISSION:
            raise IntegrationError(PERMISSIONS, why)
        raise UnseenError(f"{prefix}.SdkClientException", why)


def _job(asked: Asked) -> Job:
    return JOBS[f"{asked.service}:{asked.operation}"]


def _members(parameters: JSON, names: tuple[str, ...]) -> dict[str, JSON]:
    """Those members of parameters that are there."""
    given = parameters if isinstance(parameters, dict) else {}
    return {name: given[name] for name in names if name in given}


def _exception(name: str) -> str:
    """The name of an error with the ending that all have in state machines."""
    return name if name.endswith("Exception") else f"{name}Exception"


def _with_resources(parameters: JSON, execution: str) -> JSON:
    """Events name the execution and the machine that they come from, as on AWS."""
    entries = parameters.get("Entries") if isinstance(parameters, dict) else None
    if not isinstance(parameters, dict) or not isinstance(entries, list):
        return parameters
    arn = parsed_arn(execution)
    machine = [execution.replace(":execution:", ":stateMachine:").rpartition(":")[0]]
    own = [execution, *(machine if isinstance(arn, ExecutionArn) else [])]
    return parameters | {
        "Entries": [
            {**entry, "Resources": [*entry.get("Resources", []), *own]}
            if isinstance(entry, dict)
            else entry
            for entry in entries
        ]
    }


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
