"""AWS' services as integrations: all operations of the SDK, and the optimized integrations.

Errors have AWS' names: `DynamoDb.ConditionalCheckFailedException` for `aws-sdk`, and `DynamoDB....` for optimized
integrations. An error that the model does not know is `DynamoDb.DynamoDbException` or
`DynamoDB.AmazonDynamoDBException`.

https://docs.aws.amazon.com/step-functions/latest/dg/supported-services-awssdk.html
https://docs.aws.amazon.com/step-functions/latest/dg/integrate-optimized.html
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....actions import LAMBDA, PERMISSION, ExecutionArn, Remote, is_integration, parsed_arn
from ....adapters import (
    AwsAnswer,
    AwsRefused,
    Fault,
    ParameterError,
    RegionError,
    Request,
    SecretError,
    aws_models,
)
from ...access import is_among
from ...aws import (
    PERMISSIONS,
    RUNTIME,
    SYNC,
    TASK_FAILED,
    TOKEN,
    Integration,
    IntegrationError,
    came_with,
    json_text,
)
from .jobs import JOBS

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....actions import Clock
    from ....adapters import Authorizers, AwsServices
    from ....composer import JSON
    from ...aws import IntegrationRequest
    from .jobs import JobKind

log = logging.getLogger(__name__)

SDK = "aws-sdk:"
LIMIT_MS = 60_000  # time limit of an answer
FUNCTION_MS = 900_000  # time limit of a function's answer
HERE = "stepfunctions"  # this server answers, never AWS
HEADERS = {"x-amzn-requestid": "x-amzn-RequestId", "etag": "ETag"}
# Services with optimized integrations whose answers are those of the SDK: the prefix of their errors, and the vendor.
VENDORS = {
    "athena": ("Athena", "Amazon"), "batch": ("Batch", "AWS"), "codebuild": ("CodeBuild", "AWS"),
    "databrew": ("DataBrew", "AWS"), "dynamodb": ("DynamoDB", "Amazon"), "ecs": ("ECS", "Amazon"),
    "elasticmapreduce": ("ElasticMapReduce", "Amazon"), "emr-containers": ("EMRContainers", "Amazon"),
    "emr-serverless": ("EmrServerless", "Amazon"), "events": ("EventBridge", "Amazon"), "glue": ("Glue", "AWS"),
    "mediaconvert": ("MediaConvert", "AWS"), "sagemaker": ("SageMaker", "Amazon"), "sns": ("SNS", "Amazon"),
    "sqs": ("SQS", "Amazon"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPolling:
    """The pace at which jobs are polled.

    Args:
        pauses_s: pauses before each poll of a job; the last one repeats.
        unseen_ms: time after which a job that cannot be polled is stopped.
    """

    pauses_s: tuple[float, ...] = (1.0, 2.0, 5.0)
    unseen_ms: int = 900_000

    def pause_s(self, polls: int) -> float:
        """The pause after so many polls."""
        return self.pauses_s[min(polls, len(self.pauses_s) - 1)]


class AwsIntegrations:
    """Finds integrations of AWS' services. A `Registry`.

    Args:
        services: sends requests to AWS.
        authorizers: credentials: the namespace's secret `aws`, or the server's own.
        ambient: the namespaces that may use the server's own credentials.
        clock: source of time.
        polling: the pace at which jobs are polled.
    """

    def __init__(
        self,
        services: AwsServices,
        authorizers: Authorizers,
        ambient: frozenset[str],
        clock: Clock,
        polling: JobPolling,
    ) -> None:
        self._services, self._authorizers = services, authorizers
        self._ambient, self._clock, self._polling = ambient, clock, polling

    def get(self, named: tuple[str, str], /) -> Integration | None:
        service, operation = named
        if service.startswith(SDK):
            name = service.removeprefix(SDK)
            found = aws_models.place(name) != HERE and aws_models.known(name, operation)
            return Integration(self._sdk, patterns=("", TOKEN)) if found else None
        if service not in VENDORS or not aws_models.known(service, operation):
            return None
        arn = f"arn:aws:states:::{service}:{operation}"
        patterns = tuple(one for one in ("", SYNC, TOKEN) if is_integration(arn + one))
        if f"{service}:{operation}" in JOBS:
            return Integration(self._ask, self._finish, self._stop, patterns)
        return Integration(self._ask, patterns=patterns) if patterns else None

    # --- SDK integrations --------------------------------------------------------------------

    async def _sdk(self, request: IntegrationRequest) -> JSON:
        service = request.service.removeprefix(SDK)
        known = await _operation(service, request.operation)
        named = known.called
        answer = await self._called(request, known, request.parameters, named, aws_models.as_java)
        if isinstance(answer, AwsRefused):
            error = aws_models.as_java(aws_models.cased(answer.modelled or named))
            about = f"Service: {named}, Status Code: {answer.status}, Request ID: {answer.request}"
            raise IntegrationError(f"{named}.{_exception(error)}", f"{answer.message} ({about})")
        return answer.value

    # --- optimized integrations --------------------------------------------------------------

    async def _ask(self, request: IntegrationRequest) -> JSON:
        parameters = _completed(request)
        answer = await self._optimally(request, request.operation, parameters)
        if request.service == "events":  # this service's answers have no metadata on AWS
            if answer.value.get("FailedEntryCount"):
                raise IntegrationError("EventBridge.FailedEntry", json_text(answer.value))
            return answer.value
        told = answer.value | came_with(_spelled(answer.headers), answer.status, answer.request)
        if request.waits:
            kind = _job_kind(request)
            kind.check(told)
            told |= _members(parameters, kind.kept)
        return told

    async def _optimally(
        self, request: IntegrationRequest, operation: str, parameters: JSON
    ) -> AwsAnswer:
        known = await _operation(request.service, operation)
        prefix, vendor = VENDORS[request.service]
        answer = await self._called(request, known, parameters, prefix, str)
        if isinstance(answer, AwsRefused):
            about = (
                f"Service: {vendor}{prefix}; Status Code: {answer.status}; "
                f"Error Code: {answer.code}; Request ID: {answer.request}; Proxy: null"
            )
            error = _exception(answer.modelled or f"{vendor}{prefix}")
            raise IntegrationError(f"{prefix}.{error}", f"{answer.message} ({about})")
        return answer

    async def _finish(self, request: IntegrationRequest, answer: Any) -> JSON:
        """Polls a job until it has ended. Stops the job if polling fails for too long."""
        kind, looks, seen_ms = _job_kind(request), 0, self._clock.now_ms()
        parameters = kind.named(answer)
        while True:
            await asyncio.sleep(self._polling.pause_s(looks))  # noqa: TID251  jobs must be polled
            looks += 1
            told, unseen = await self._look(request, kind, parameters)
            if unseen is not None:
                # The job may be too young, or the network, the service or the credentials may recover.
                log.warning("%s cannot be polled: %s", request.resource, unseen)
                if self._clock.now_ms() - seen_ms < self._polling.unseen_ms:
                    continue
                await self._given_up(request, answer)
                raise unseen
            seen_ms, succeeded = self._clock.now_ms(), kind.ended(told)
            if succeeded is False:
                raise IntegrationError(TASK_FAILED, json_text(told))
            if succeeded:
                found: JSON = told
                return found

    async def _look(
        self, request: IntegrationRequest, kind: JobKind, parameters: JSON
    ) -> tuple[Any, IntegrationError | None]:
        """Polls a job once; returns its description, or the error."""
        try:
            told = kind.told((await self._optimally(request, kind.look, parameters)).value)
        except IntegrationError as error:
            if error.error == RUNTIME:  # a retry cannot help
                raise
            return None, error
        gone = IntegrationError(TASK_FAILED, "The description of the job is empty.")
        return told, gone if told is None else None

    async def _given_up(self, request: IntegrationRequest, answer: Any) -> None:
        try:
            await self._stop(request, answer)
        except IntegrationError as error:
            log.warning("%s could not be stopped: %s", request.resource, error)

    async def _stop(self, request: IntegrationRequest, answer: Any) -> None:
        kind = _job_kind(request)
        await self._optimally(request, kind.stop, kind.stopped(answer))

    # --- requests ----------------------------------------------------------------------------

    async def _called(
        self,
        request: IntegrationRequest,
        operation: aws_models.Operation,
        parameters: JSON,
        prefix: str,
        named: Callable[[str], str],
    ) -> AwsAnswer | AwsRefused:
        """Sends a request; raises IntegrationError if the service does not answer."""
        if operation.model.has_event_stream_output:
            raise IntegrationError(
                RUNTIME,
                f"{request.resource} answers with a stream of events, which is not supported.",
            )
        ambient = is_among(self._ambient, request.namespace)
        try:
            authorizer = self._authorizers.on_aws(request.namespace, ambient=ambient)
        except SecretError as error:
            raise IntegrationError(PERMISSIONS, str(error)) from None
        limit_ms = FUNCTION_MS if operation.place == "lambda" else LIMIT_MS
        sent = Request(
            target=Remote(LAMBDA, operation.place),
            params={},
            deadline_ms=self._clock.now_ms() + limit_ms,
            key=request.activation,
            traceparent=request.traceparent,
            authorizer=authorizer,
        )
        try:
            answer = await self._services.call(sent, operation, parameters, named)
        except (ParameterError, RegionError) as error:
            raise IntegrationError(RUNTIME, f"{request.resource}: {error}") from None
        if not isinstance(answer, Fault):
            return answer
        assert isinstance(answer.error, dict)  # noqa: S101  adapters give a code and a message
        name = PERMISSIONS if answer.code == PERMISSION else f"{prefix}.SdkClientException"
        raise IntegrationError(name, str(answer.error["message"]))


async def _operation(service: str, name: str) -> aws_models.Operation:
    """The model of a known operation, read in a thread."""
    found = await asyncio.to_thread(aws_models.operation, service, name)
    assert found is not None  # noqa: S101  `get` or a kind of job has named it
    return found


def _job_kind(request: IntegrationRequest) -> JobKind:
    return JOBS[f"{request.service}:{request.operation}"]


def _completed(request: IntegrationRequest) -> JSON:
    """The parameters with AWS' additions, and with an idempotency token that the model does not fill in."""
    parameters: JSON = request.parameters
    if not isinstance(parameters, dict):
        return parameters
    match request.service, request.operation:
        case "events", "putEvents":
            return _with_resources(parameters, request.execution)
        case "codebuild", "startBuild":
            return {"IdempotencyToken": request.activation, **parameters}
        case "ecs", "runTask" if request.waits:
            if parameters.get("Count", 1) != 1:
                raise IntegrationError(
                    RUNTIME, f"{request.resource} waits for one task: Count must be 1."
                )
            return {"StartedBy": "AWS Step Functions", **parameters}
    return parameters


def _with_resources(parameters: dict[str, JSON], execution: str) -> JSON:
    """Adds the state machine and the execution to the Resources of events, as on AWS."""
    entries = parameters.get("Entries")
    if not isinstance(entries, list):
        return parameters
    machine = [execution.replace(":execution:", ":stateMachine:").rpartition(":")[0]]
    own = [*(machine if isinstance(parsed_arn(execution), ExecutionArn) else []), execution]
    return parameters | {"Entries": [_from(entry, own) for entry in entries]}


def _from(entry: JSON, own: list[str]) -> JSON:
    known = entry.get("Resources", []) if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(known, list):
        return entry  # the service refuses it
    return {**entry, "Resources": [*known, *own]}


def _members(parameters: JSON, names: tuple[str, ...]) -> dict[str, JSON]:
    """The named members of parameters, if present."""
    given = parameters if isinstance(parameters, dict) else {}
    return {name: given[name] for name in names if name in given}


def _spelled(headers: dict[str, str]) -> dict[str, str]:
    """Headers in AWS' spelling."""
    return {
        HEADERS.get(name, name if name.startswith("x-") else name.title()): text
        for name, text in headers.items()
    }


def _exception(name: str) -> str:
    """The name of an error in a state machine: it ends in `Exception`."""
    return name if name.endswith("Exception") else f"{name}Exception"
