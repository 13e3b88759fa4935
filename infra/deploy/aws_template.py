"""The template of a bundle for AWS: `serverless.yml` for the Serverless Framework.

Each function has a role of its own, which allows its own operations on its own resources.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ...actions import LAMBDA, STATES, Code, Remote
from .archives import is_node
from .bundles import secret_of
from .elsewhere import variable_of
from .errors import BundleError
from .hosted.aws_actions import REFERENCES
from .hosted.execution_state import MARGIN_MS
from .options import ARM

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...actions import Action
    from .bundles import Parts
    from .options import Options, Placed, Reference

CONDUCTOR_S, CONDUCTOR_MB = 28, 512
VISIBILITY_S = 6 * CONDUCTOR_S  # as AWS advises: a message is not seen twice while it is dealt with
DELIVERIES = 10  # of a message, then it is put aside
# An invocation waits so long for a place to run: then its action still ends before the conductor gives up.
EVENT_AGE_S = (MARGIN_MS - 60_000) // 1000
# Conductors that the queue starts at a time: fewer than are reserved for the function, or messages that find no room
# count as failed deliveries and are put aside. The rest is for requests and the clock.
CONDUCTORS = 8
MAX_NAME = 40  # of a service: Lambda's names have 64 characters, with the stage and the function
PYTHON_RUNTIME, NODE_RUNTIME = "python3.12", "nodejs22.x"
BESIDE_S = 20  # for the answer of a function on another cloud
LONGEST_S = 900  # of a function on Lambda
IN_VPC = "arn:${AWS::Partition}:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole"

# Lambda takes conductor, action, queue and conductor again for a loop, and ends one after 16 rounds.
_MAY_COME_BACK = {"Properties": {"RecursiveLoop": "Allow"}}


# --- the template ------------------------------------------------------------------------------


def document(
    name: str, parts: Parts, options: Options, keys: dict[str, str], archives: Mapping[str, str]
) -> dict[str, Any]:
    """`serverless.yml`.

    Args:
        name: the name of the bundle.
        parts: programs and actions.
        options: how they are deployed.
        keys: the name of each action's function.
        archives: the archive of each action that has one of its own; "" is that of all others.

    Raises:
        BundleError: when the name is none for a service.
    """
    service = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:MAX_NAME].lower()
    if not service or not service[0].isalpha():
        raise BundleError(f"name: the name of a service must begin with a letter, not {name!r}")
    functions: dict[str, Any] = {}
    roles: dict[str, Any] = {}
    for full, action in parts.actions.items():
        key, placed = keys[full], options.of(full.removeprefix("/_/"))
        made = _action(key, action, options, placed)
        if full in archives:
            made["package"] = {"artifact": archives[full]}
        functions[key] = made
        if not placed.role:
            may = [*_ACTIONS_MAY, *_secrets_may(action, options, placed), *_elsewhere_may(action)]
            policies = [*placed.policies, *([{"Fn::Sub": IN_VPC}] if options.vpc else [])]
            roles[_role_of(key)] = _role([_log_group(key)], may, policies)
    return {
        "service": service,
        "frameworkVersion": "*",
        "provider": {
            "name": "aws",
            "runtime": PYTHON_RUNTIME,
            "architecture": "arm64" if options.platform == ARM else "x86_64",
            "stage": "${opt:stage, 'dev'}",
            "region": "${opt:region, env:AWS_REGION, 'us-east-1'}",
            "logRetentionInDays": 14,
            "environment": {"QUEUE": {"Ref": "Completions"}},
        },
        "package": {"artifact": archives[""]},
        "functions": {"conductor": _conductor(parts), **functions},
        "resources": {
            "Resources": {
                **_STATE,
                "ConductorRole": _role(["ConductorLogGroup"], _conductor_may(functions)),
                **roles,
            },
            "extensions": {
                f"{key[0].upper()}{key[1:]}LambdaFunction": _MAY_COME_BACK
                for key in ("conductor", *functions)
            },
            "Outputs": {"Completions": {"Value": {"Ref": "Completions"}}},
        },
    }


def _conductor(parts: Parts) -> dict[str, Any]:
    paths = [f"/{name.removeprefix('/_/')}" for name in parts.programs]
    routes = [("POST", path) for path in paths]
    routes += [("GET", "/executions/{id}"), ("DELETE", "/executions/{id}")]
    if any(action.answers_later for action in parts.actions.values()):
        routes.append(("POST", "/completions/{token}"))
    return {
        "handler": "conductor.handler",
        "role": "ConductorRole",
        "timeout": CONDUCTOR_S,
        "memorySize": CONDUCTOR_MB,
        "environment": {
            "TABLE": {"Ref": "Executions"},
            "FUNCTIONS": "${self:service}-${sls:stage}-",
        },
        "events": [
            *({"httpApi": {"method": method, "path": path, "authorizer": {"type": "aws_iam"}}}
              for method, path in routes),
            {"sqs": {"arn": _arn("Completions"), "batchSize": 10,
                     "functionResponseType": "ReportBatchItemFailures",
                     "maximumConcurrency": CONDUCTORS}},
            {"schedule": {"rate": ["rate(1 minute)"], "input": {"is": "minute"}}},
        ],
    }  # fmt: skip


def _action(key: str, action: Action, options: Options, placed: Placed) -> dict[str, Any]:
    node = isinstance(action.exec, Code) and is_node(action.exec)
    made: dict[str, Any] = {
        "handler": "handler.handler" if node else f"wrappers.{key}",
        "role": placed.role or _role_of(key),
        "timeout": _timeout_s(action),
        "memorySize": action.limits.memory_mb,
        "maximumRetryAttempts": 0,  # whether to try again is said in the composition
        "maximumEventAge": EVENT_AGE_S,
        "destinations": {"onFailure": {"type": "sqs", "arn": _arn("Completions")}},
    }
    if node:
        made["runtime"] = NODE_RUNTIME
    if variables := _environment(action, options, placed):
        made["environment"] = variables
    if options.vpc:
        made["vpc"] = {
            "securityGroupIds": options.vpc.security_groups,
            "subnetIds": options.vpc.subnets,
        }
    return made


def _timeout_s(action: Action) -> int:
    """The time limit of a function. A function on another cloud needs some more to send its answer."""
    beside_s = BESIDE_S if isinstance(action.exec, Remote) else 0
    return min(LONGEST_S, -(-action.limits.timeout_ms // 1000) + beside_s)


def _environment(action: Action, options: Options, placed: Placed) -> dict[str, str]:
    """The variables of a function: texts, and one with the places of secrets."""
    texts = {name: value for name, value in placed.environment.items() if isinstance(value, str)}
    references = _references(action, options, placed)
    if references:
        texts[REFERENCES] = json.dumps(references, sort_keys=True)
    return texts


def _references(action: Action, options: Options, placed: Placed) -> dict[str, Reference]:
    """The places of an action's secrets, by the name of the variable."""
    found = {name: value for name, value in placed.environment.items() if isinstance(value, dict)}
    if (name := secret_of(action)) is not None:
        if name not in options.secrets:
            raise BundleError(
                f"action {action.name.path}: the place of its credentials '{name}' is not known: give --config a file "
                f"with [secrets] and {name} = {{secretsmanager = NAME}} or {{ssm = NAME}}"
            )
        found[variable_of(name)] = options.secrets[name]
    return found


def _arn(logical: str) -> dict[str, Any]:
    return {"Fn::GetAtt": [logical, "Arn"]}


def _log_group(key: str) -> str:
    return f"{key[0].upper()}{key[1:]}LogGroup"


_STATE: dict[str, Any] = {
    "Executions": {
        "Type": "AWS::DynamoDB::Table",
        "DeletionPolicy": "Delete",
        "UpdateReplacePolicy": "Retain",
        "Properties": {
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": "id", "AttributeType": "S"},
                {"AttributeName": "row", "AttributeType": "S"},
                {"AttributeName": "shard", "AttributeType": "N"},
                {"AttributeName": "due", "AttributeType": "N"},
            ],
            "KeySchema": [
                {"AttributeName": "id", "KeyType": "HASH"},
                {"AttributeName": "row", "KeyType": "RANGE"},
            ],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "due",
                    "KeySchema": [
                        {"AttributeName": "shard", "KeyType": "HASH"},
                        {"AttributeName": "due", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            ],
            "TimeToLiveSpecification": {"AttributeName": "expires", "Enabled": True},
        },
    },
    "Completions": {
        "Type": "AWS::SQS::Queue",
        "Properties": {
            "VisibilityTimeout": VISIBILITY_S,
            "SqsManagedSseEnabled": True,
            "RedrivePolicy": {
                "deadLetterTargetArn": _arn("SetAside"),
                "maxReceiveCount": DELIVERIES,
            },
        },
    },
    "SetAside": {
        "Type": "AWS::SQS::Queue",
        "Properties": {"MessageRetentionPeriod": 1_209_600, "SqsManagedSseEnabled": True},
    },
}


def _may(actions: list[str], resources: Iterable[Any]) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": actions, "Resource": list(resources)}


def _role_of(key: str) -> str:
    return f"{key[0].upper()}{key[1:]}Role"


def _secrets_may(action: Action, options: Options, placed: Placed) -> list[dict[str, Any]]:
    """The permissions to read the action's own secrets."""
    made = []
    for reference in _references(action, options, placed).values():
        ((store, name),) = reference.items()
        if store == "ssm":
            arn = f"ssm:${{AWS::Region}}:${{AWS::AccountId}}:parameter/{name.lstrip('/')}"
            made.append(_may(["ssm:GetParameter"], [_within(arn)]))
            continue
        # The ARN of a secret ends in six characters that AWS draws.
        arn = f"secretsmanager:${{AWS::Region}}:${{AWS::AccountId}}:secret:{name}-??????"
        whole = name if name.startswith("arn:") else _within(arn)
        made.append(_may(["secretsmanager:GetSecretValue"], [whole]))
    return made


def _elsewhere_may(action: Action) -> list[dict[str, Any]]:
    """The permissions of an action that is a function of AWS and uses the function's own role."""
    remote = action.exec
    if not isinstance(remote, Remote) or secret_of(action) is not None:
        return []
    if remote.kind == LAMBDA:
        place = f"{remote.option('region') or '${AWS::Region}'}:${{AWS::AccountId}}"
        name = remote.function.partition(":")[0]
        arn = remote.function if remote.function.startswith("arn:") else None
        plain = ":".join(arn.split(":")[:7]) if arn else _within(f"lambda:{place}:function:{name}")
        of_versions = f"{plain}:*" if arn else _within(f"lambda:{place}:function:{name}:*")
        durable = ["GetDurableExecution", "StopDurableExecution", "ListDurableExecutionsByFunction"]
        more = durable if remote.option("mode") == "durable" else []
        return [
            _may([f"lambda:{what}" for what in ("InvokeFunction", *more)], [plain, of_versions])
        ]
    if remote.kind == STATES:
        runs = ":".join(remote.function.replace(":stateMachine:", ":execution:").split(":")[:7])
        return [
            _may(["states:StartExecution"], [remote.function]),
            _may(["states:DescribeExecution", "states:StopExecution"], [f"{runs}:*"]),
        ]
    return []


def _within(arn: str) -> dict[str, str]:
    return {"Fn::Sub": f"arn:${{AWS::Partition}}:{arn}"}


_ACTIONS_MAY = [_may(["sqs:SendMessage"], [_arn("Completions")])]


def _conductor_may(keys: Iterable[str]) -> list[dict[str, Any]]:
    functions = [_arn(f"{key[0].upper()}{key[1:]}LambdaFunction") for key in keys]
    index = {"Fn::Join": ["/", [_arn("Executions"), "index", "due"]]}
    on_queue = ["DeleteMessage", "GetQueueAttributes", "ReceiveMessage", "SendMessage"]
    on_items = ["BatchWriteItem", "PutItem", "Query", "UpdateItem"]
    return [
        _may([f"sqs:{what}" for what in on_queue], [_arn("Completions")]),
        _may([f"dynamodb:{what}" for what in on_items], [_arn("Executions")]),
        _may(["dynamodb:Query"], [index]),
        *([_may(["lambda:InvokeFunction"], functions)] if functions else []),
    ]


def _role(
    log_groups: Iterable[str], statements: list[dict[str, Any]], policies: Iterable[Any] = ()
) -> dict[str, Any]:
    """A role that Lambda takes on, to write these logs and do this."""
    groups, managed = [_arn(group) for group in log_groups], list(policies)
    logging = _may(["logs:CreateLogStream", "logs:PutLogEvents"], groups)
    trusted = {
        "Effect": "Allow",
        "Principal": {"Service": "lambda.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {
            **({"ManagedPolicyArns": managed} if managed else {}),
            "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [trusted]},
            "Policies": [
                {
                    "PolicyName": "does-its-work",
                    "PolicyDocument": {
                        "Version": "2012-10-17",
                        "Statement": [*([logging] if groups else []), *statements],
                    },
                }
            ],
        },
    }
