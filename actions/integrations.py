"""The table of service integrations that AWS' state machines know: operations, and ways to wait for each.

Source: AWS' developer guide, "Integrating optimized services with Step Functions". An integration in the table
need not work here: a server checks that when one is invoked.
"""

from __future__ import annotations

import re

_CALL, _SYNC, _TOKEN = "", ".sync", ".waitForTaskToken"
_TWICE = ".sync:2"

_KNOWN: dict[str, dict[tuple[str, ...], str]] = {
    "apigateway": {(_CALL, _TOKEN): "invoke"},
    "athena": {
        (_CALL, _SYNC): "startQueryExecution",
        (_CALL,): "stopQueryExecution getQueryExecution getQueryResults",
    },
    "batch": {(_CALL, _SYNC): "submitJob"},
    "bedrock": {(_CALL,): "invokeModel", (_CALL, _SYNC): "createModelCustomizationJob"},
    "codebuild": {
        (_CALL, _SYNC): "startBuild startBuildBatch retryBuild retryBuildBatch",
        (_CALL,): "stopBuild stopBuildBatch batchDeleteBuilds batchGetReports deleteBuildBatch",
    },
    "databrew": {(_CALL, _SYNC): "startJobRun"},
    "dynamodb": {(_CALL,): "getItem putItem deleteItem updateItem"},
    "ecs": {(_CALL, _SYNC, _TOKEN): "runTask"},
    "eks": {
        (_CALL, _SYNC): (
            "createCluster deleteCluster createNodegroup deleteNodegroup createFargateProfile "
            "deleteFargateProfile runJob"
        ),
        (_CALL,): "call",
        (_TOKEN,): "call",
    },
    "elasticmapreduce": {
        (_CALL, _SYNC): "createCluster terminateCluster addStep",
        (_CALL,): (
            "cancelStep setClusterTerminationProtection modifyInstanceFleetByName "
            "modifyInstanceGroupByName"
        ),
    },
    "emr-containers": {(_CALL, _SYNC): "createVirtualCluster deleteVirtualCluster startJobRun"},
    "emr-serverless": {
        (_CALL, _SYNC): (
            "createApplication startApplication stopApplication deleteApplication startJobRun "
            "cancelJobRun"
        )
    },
    "events": {(_CALL, _TOKEN): "putEvents"},
    "glue": {(_CALL, _SYNC): "startJobRun"},
    "http": {(_CALL,): "invoke"},
    "lambda": {(_CALL, _TOKEN): "invoke"},
    "mediaconvert": {(_CALL, _SYNC): "createJob"},
    "sagemaker": {
        (_CALL, _SYNC): (
            "createTrainingJob createTransformJob createHyperParameterTuningJob createLabelingJob "
            "createProcessingJob"
        ),
        (_CALL,): "createEndpoint createEndpointConfig createModel updateEndpoint",
    },
    "sns": {(_CALL, _TOKEN): "publish"},
    "sqs": {(_CALL, _TOKEN): "sendMessage"},
    "states": {(_CALL, _SYNC, _TWICE, _TOKEN): "startExecution"},
}
_PLACES = {
    f"{service}:{operation}{pattern}"
    for service, operations in _KNOWN.items()
    for patterns, names in operations.items()
    for operation in names.split()
    for pattern in patterns
}
_RESOURCE = re.compile(r"arn:aws[a-z-]*:states:::(?P<place>.+)")
_SDK = re.compile(r"aws-sdk:[a-z0-9]+:[a-z][A-Za-z0-9]*(\.waitForTaskToken)?")


def is_integration(resource: str) -> bool:
    """True if AWS has the integration that a Task's Resource names. Any call of an SDK integration passes."""
    match = _RESOURCE.fullmatch(resource)
    if match is None:
        return False
    return match["place"] in _PLACES or _SDK.fullmatch(match["place"]) is not None
