"""The parameters of each operation of Step Functions' API (version 2016-11-23), as its model has them."""

from __future__ import annotations

from ...aws import Field, Flag, Items, Members, Number, Required, Text, members

MAX_DEFINITION = 1_048_576
MAX_DATA = 262_144

ARN = Text(1, 256)
LONG_ARN = Text(1, 2000)
NAME = Text(1, 80)
ALIAS_NAME = Text(1, 80, r"^(?=.*[a-zA-Z_\-\.])[a-zA-Z0-9_\-\.]+$")
DEFINITION = Text(1, MAX_DEFINITION, secret=True)
DATA = Text(0, MAX_DATA, secret=True)
DESCRIPTION = Text(0, 256, secret=True)
TYPE = Text(among=("STANDARD", "EXPRESS"))
INCLUDED = Text(among=("ALL_DATA", "METADATA_ONLY"))
TASK_TOKEN = Text(1, 2048, secret=True)
ERROR = Text(0, 256, secret=True)
CAUSE = Text(0, 32_768, secret=True)
STATE_NAME = Text(1, 80, secret=True)
TRACE = Text(0, 256, r"[\x00-\x7f]*")
PAGE: dict[str, Field] = {"maxResults": Number(0, 1000), "nextToken": Text(1, 1024)}

TAGS = Items(members("Tag", key=Text(1, 128), value=Text(0, 256)))
LOGGING = members(
    "LoggingConfiguration",
    level=Text(among=("ALL", "ERROR", "FATAL", "OFF")),
    includeExecutionData=Flag(),
    destinations=Items(
        members(
            "LogDestination",
            cloudWatchLogsLogGroup=members("CloudWatchLogsLogGroup", logGroupArn=ARN),
        )
    ),
)
TRACING = members("TracingConfiguration", enabled=Flag())
ENCRYPTION = members(
    "EncryptionConfiguration",
    kmsKeyId=Text(1, 2048),
    kmsDataKeyReusePeriodSeconds=Number(60, 900),
    type=Required(Text(among=("AWS_OWNED_KEY", "CUSTOMER_MANAGED_KMS_KEY"))),
)
ROUTING = Items(
    members(
        "RoutingConfigurationListItem",
        stateMachineVersionArn=Required(ARN),
        weight=Required(Number(0, 100)),
    ),
    1,
    2,
)
_CONFIGURED: dict[str, Field] = {
    "loggingConfiguration": LOGGING,
    "tracingConfiguration": TRACING,
    "publish": Flag(),
    "versionDescription": DESCRIPTION,
    "encryptionConfiguration": ENCRYPTION,
}
_ERROR: dict[str, Field] = {"error": ERROR, "cause": CAUSE}
_MACHINE: dict[str, Field] = {"stateMachineArn": Required(ARN)}
_ALIAS: dict[str, Field] = {"stateMachineAliasArn": Required(ARN)}
_ACTIVITY: dict[str, Field] = {"activityArn": Required(ARN)}
_EXECUTION: dict[str, Field] = {"executionArn": Required(ARN)}
_MAP_RUN: dict[str, Field] = {"mapRunArn": Required(LONG_ARN)}
_TASK: dict[str, Field] = {"taskToken": Required(TASK_TOKEN)}
_RESOURCE: dict[str, Field] = {"resourceArn": Required(ARN)}
_START: dict[str, Field] = {**_MACHINE, "name": NAME, "input": DATA, "traceHeader": TRACE}

INPUTS: dict[str, Members] = {
    "CreateActivity": members(name=Required(NAME), tags=TAGS, encryptionConfiguration=ENCRYPTION),
    "CreateStateMachine": members(
        name=Required(NAME),
        definition=Required(DEFINITION),
        roleArn=Required(ARN),
        type=TYPE,
        tags=TAGS,
        **_CONFIGURED,
    ),
    "CreateStateMachineAlias": members(
        description=DESCRIPTION, name=Required(ALIAS_NAME), routingConfiguration=Required(ROUTING)
    ),
    "DeleteActivity": members(**_ACTIVITY),
    "DeleteStateMachine": members(**_MACHINE),
    "DeleteStateMachineAlias": members(**_ALIAS),
    "DeleteStateMachineVersion": members(stateMachineVersionArn=Required(LONG_ARN)),
    "DescribeActivity": members(**_ACTIVITY),
    "DescribeExecution": members(**_EXECUTION, includedData=INCLUDED),
    "DescribeMapRun": members(**_MAP_RUN),
    "DescribeStateMachine": members(**_MACHINE, includedData=INCLUDED),
    "DescribeStateMachineAlias": members(**_ALIAS),
    "DescribeStateMachineForExecution": members(**_EXECUTION, includedData=INCLUDED),
    "GetActivityTask": members(**_ACTIVITY, workerName=NAME),
    "GetExecutionHistory": members(
        **_EXECUTION, **PAGE, reverseOrder=Flag(), includeExecutionData=Flag()
    ),
    "ListActivities": members(**PAGE),
    "ListExecutions": members(
        stateMachineArn=ARN,
        statusFilter=Text(
            among=("SUCCEEDED", "TIMED_OUT", "PENDING_REDRIVE", "ABORTED", "FAILED", "RUNNING")
        ),
        maxResults=PAGE["maxResults"],
        nextToken=Text(1, 3096),
        mapRunArn=LONG_ARN,
        redriveFilter=Text(among=("REDRIVEN", "NOT_REDRIVEN")),
    ),
    "ListMapRuns": members(**_EXECUTION, **PAGE),
    "ListStateMachineAliases": members(**_MACHINE, **PAGE),
    "ListStateMachineVersions": members(**_MACHINE, **PAGE),
    "ListStateMachines": members(**PAGE),
    "ListTagsForResource": members(**_RESOURCE),
    "PublishStateMachineVersion": members(**_MACHINE, revisionId=Text(), description=DESCRIPTION),
    "RedriveExecution": members(**_EXECUTION, clientToken=Text(1, 64, "[!-~]+")),
    "SendTaskFailure": members(**_TASK, **_ERROR),
    "SendTaskHeartbeat": members(**_TASK),
    "SendTaskSuccess": members(**_TASK, output=Required(DATA)),
    "StartExecution": members(**_START),
    "StartSyncExecution": members(**_START, includedData=INCLUDED),
    "StopExecution": members(**_EXECUTION, **_ERROR),
    "TagResource": members(**_RESOURCE, tags=Required(TAGS)),
    "TestState": members(
        definition=Required(DEFINITION),
        roleArn=ARN,
        input=DATA,
        inspectionLevel=Text(among=("INFO", "DEBUG", "TRACE")),
        revealSecrets=Flag(),
        variables=DATA,
        stateName=STATE_NAME,
        mock=members(
            "MockInput",
            result=DATA,
            errorOutput=members("MockErrorOutput", **_ERROR),
            fieldValidationMode=Text(among=("STRICT", "PRESENT", "NONE")),
        ),
        context=DATA,
        stateConfiguration=members(
            "TestStateConfiguration",
            retrierRetryCount=Number(),
            errorCausedByState=STATE_NAME,
            mapIterationFailureCount=Number(),
            mapItemReaderData=DATA,
        ),
    ),
    "UntagResource": members(**_RESOURCE, tagKeys=Required(Items(Text(1, 128)))),
    "UpdateMapRun": members(
        **_MAP_RUN,
        maxConcurrency=Number(),
        toleratedFailurePercentage=Number(0, 100, whole=False),
        toleratedFailureCount=Number(),
    ),
    "UpdateStateMachine": members(**_MACHINE, definition=DEFINITION, roleArn=ARN, **_CONFIGURED),
    "UpdateStateMachineAlias": members(
        **_ALIAS, description=DESCRIPTION, routingConfiguration=ROUTING
    ),
    "ValidateStateMachineDefinition": members(
        definition=Required(DEFINITION),
        type=TYPE,
        severity=Text(among=("ERROR", "WARNING")),
        maxResults=Number(0, 100),
    ),
}
