"""A bundle for AWS: what the Serverless Framework deploys, and the code in it.

Lambda functions for the conductor and for each action, an HTTP API, a DynamoDB table, an SQS queue with one for what
cannot be dealt with, and a rule for the clock. Each function may do what it does, to what it does it to.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ...actions import Code
from .bundles import BundleError, checked, write_core, write_zip
from .hosted.changes import ROW_BYTES
from .hosted.execution_state import MARGIN_MS
from .yaml import to_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ...actions import Action
    from .bundles import Parts, Source

MODULES = ("aws", "aws_actions")
ARCHIVE = "code.zip"
CONDUCTOR_S, CONDUCTOR_MB = 28, 512
VISIBILITY_S = 6 * CONDUCTOR_S  # as AWS advises: a message is not seen twice while it is dealt with
DELIVERIES = 10  # of a message, then it is put aside
# An invocation waits so long for a place to run: then its action still ends before the conductor gives up.
EVENT_AGE_S = (MARGIN_MS - 60_000) // 1000
# Conductors that the queue starts at a time: fewer than are reserved for the function, or messages that find no room
# count as failed deliveries and are put aside. The rest is for requests and the clock.
CONDUCTORS = 8
MAX_NAME = 40  # of a service: Lambda's names have 64 characters, with the stage and the function


def write(name: str, source: Source, folder: Path) -> list[str]:
    """Writes `serverless.yml`, `code/` and the same zipped. See `targets.bundle`."""
    parts = checked(source, "AWS")
    for full, program in parts.programs.items():
        if (size := len(json.dumps({"program": program.to_json()}))) > ROW_BYTES:
            raise BundleError(
                f"composition {full.removeprefix('/_/')}: the compiled program has {size} bytes, and an item of a "
                f"DynamoDB table holds at most {ROW_BYTES}: make a part of it a composition of its own"
            )
    keys = _keys(parts)
    code = folder / "code"
    write_core(code, {**parts.deployed(), "functions": keys}, MODULES)
    _write_code(code, parts, keys)
    write_zip(code, folder / ARCHIVE)
    template = to_yaml(document(name, parts, keys, ARCHIVE))
    (folder / "serverless.yml").write_text(template, "utf-8")
    return [f"cd {folder} && npx osls deploy"]


def _keys(parts: Parts) -> dict[str, str]:
    """The name of each action's function: letters and digits, none twice."""
    keys: dict[str, str] = {}
    for name in parts.actions:
        words = re.findall(r"[A-Za-z0-9]+", name.removeprefix("/_/"))
        key = "action" + "".join(word[0].upper() + word[1:] for word in words)
        if key in keys.values() or len(key) > MAX_NAME // 2:
            key = key[: MAX_NAME // 2 - 6] + sha256(name.encode()).hexdigest()[:6]
        keys[name] = key
    return keys


def _write_code(code: Path, parts: Parts, keys: dict[str, str]) -> None:
    (code / "actions").mkdir(exist_ok=True)
    for stale in (code / "actions").iterdir():
        stale.unlink()
    lines = [
        '"""The handlers of the actions."""',
        "",
        "from pathlib import Path",
        "",
        "from xingqiao.infra.deploy.hosted.aws_actions import wrapped",
        "",
        'HERE = Path(__file__).parent / "actions"',
        "",
    ]
    for name, action in parts.actions.items():
        assert isinstance(action.exec, Code)  # noqa: S101  it has been checked
        (code / "actions" / f"{keys[name]}.py").write_text(action.exec.text, "utf-8")
        lines.append(f'{keys[name]} = wrapped(HERE / "{keys[name]}.py", {action.exec.main!r})')
    (code / "wrappers.py").write_text("\n".join(lines) + "\n", "utf-8")
    (code / "conductor.py").write_text(
        '"""The handler of the conductor."""\n\n'
        "from pathlib import Path\n\n"
        "from xingqiao.infra.deploy.hosted.aws import Host\n\n"
        "handler = Host(Path(__file__).parent)\n",
        "utf-8",
    )


# Lambda takes conductor, action, queue and conductor again for a loop, and ends one after 16 rounds.
_MAY_COME_BACK = {"Properties": {"RecursiveLoop": "Allow"}}


# --- the template ------------------------------------------------------------------------------


def document(name: str, parts: Parts, keys: dict[str, str], archive: str) -> dict[str, Any]:
    """`serverless.yml`, for code in `archive`.

    Raises:
        BundleError: when the name is none for a service.
    """
    service = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:MAX_NAME].lower()
    if not service or not service[0].isalpha():
        raise BundleError(f"name: the name of a service must begin with a letter, not {name!r}")
    actions = {keys[full]: _action(keys[full], action) for full, action in parts.actions.items()}
    return {
        "service": service,
        "frameworkVersion": "*",
        "provider": {
            "name": "aws",
            "runtime": "python3.12",
            "stage": "${opt:stage, 'dev'}",
            "region": "${opt:region, env:AWS_REGION, 'us-east-1'}",
            "logRetentionInDays": 14,
            "environment": {"QUEUE": {"Ref": "Completions"}},
        },
        "package": {"artifact": archive},
        "functions": {"conductor": _conductor(parts), **actions},
        "resources": {
            "Resources": {
                **_STATE,
                "ConductorRole": _role(["ConductorLogGroup"], _conductor_may(actions)),
                "ActionRole": _role([_log_group(key) for key in actions], _ACTIONS_MAY),
            },
            "extensions": {
                f"{key[0].upper()}{key[1:]}LambdaFunction": _MAY_COME_BACK
                for key in ("conductor", *actions)
            },
            "Outputs": {"Completions": {"Value": {"Ref": "Completions"}}},
        },
    }


def _conductor(parts: Parts) -> dict[str, Any]:
    paths = [f"/{name.removeprefix('/_/')}" for name in parts.programs]
    routes = [("POST", path) for path in paths]
    routes += [("GET", "/executions/{id}"), ("DELETE", "/executions/{id}")]
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


def _action(key: str, action: Action) -> dict[str, Any]:
    return {
        "handler": f"wrappers.{key}",
        "role": "ActionRole",
        "timeout": -(-action.limits.timeout_ms // 1000),
        "memorySize": action.limits.memory_mb,
        "maximumRetryAttempts": 0,  # whether to try again is said in the composition
        "maximumEventAge": EVENT_AGE_S,
        "destinations": {"onFailure": {"type": "sqs", "arn": _arn("Completions")}},
    }


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


def _role(log_groups: Iterable[str], statements: list[dict[str, Any]]) -> dict[str, Any]:
    """A role that Lambda takes on, to write these logs and do this."""
    groups = [_arn(group) for group in log_groups]
    logging = _may(["logs:CreateLogStream", "logs:PutLogEvents"], groups)
    trusted = {
        "Effect": "Allow",
        "Principal": {"Service": "lambda.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {
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
