"""A function's configuration: read from requests, kept as its action's annotation, and shown."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

from ...actions import FUNCTION, NODE, PYTHON, version_of
from ...composer import Name
from ..aws import AwsError, Flag, Number, Required, Text, members, read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...composer import JSON
    from ..aws import Members
    from ..http import Api

Function: TypeAlias = "dict[str, Any]"
"""A function's configuration in Lambda's words; `settings` has checked it."""

MAX_TIMEOUT_S, MAX_MEMORY_MB, LEAST_MEMORY_MB = 300, 512, 256  # limits of our workers
RUNTIMES = ((re.compile(r"python3\.\d{1,2}"), PYTHON), (re.compile(r"nodejs\d{1,2}\.x"), NODE))
_NAMED = re.compile(
    r"(?:arn:aws[a-zA-Z-]*:lambda:[a-z0-9-]+:)?(?:\d{12}:)?(?:function:)?"
    r"(?P<name>[a-zA-Z0-9_-]{1,64})(?::(?P<qualifier>\$LATEST|[a-zA-Z0-9_-]+))?"
)
_QUALIFIER = r"(|[a-zA-Z0-9$_-]+)"
_PATTERN = (
    r"(arn:(aws[a-zA-Z-]*)?:lambda:)?([a-z]{2}(-gov)?-[a-z]+-\d{1}:)?(\d{12}:)?(function:)?"
    r"([a-zA-Z0-9-_]+)(:(\$LATEST|[a-zA-Z0-9-_]+))?"
)
_SETTINGS: dict[str, Any] = {
    "Description": Text(most=256),
    "Handler": Text(most=128, pattern=r"[^\s]+"),
    "MemorySize": Number(least=128, most=10_240),
    "Role": Text(),
    "RevisionId": Text(),
    "Runtime": Text(),
    "Timeout": Number(least=1, most=900),
}
CREATED = members(
    **{**_SETTINGS, "FunctionName": Required(Text(least=1, most=140)), "PackageType": Text(),
       "Publish": Flag(), "Role": Required(Text())}
)  # fmt: skip
CONFIGURED = members(**_SETTINGS)
REPLACED = members(DryRun=Flag(), Publish=Flag(), RevisionId=Text(), ZipFile=Text())
VOLATILE = ("LastModified", "RevisionId", "Tags")  # differ between two equal functions
DEFAULTS: dict[str, JSON] = {"Description": "", "Timeout": 3, "MemorySize": 128}


@dataclass(frozen=True, slots=True)
class Named:
    """A function's name, and the version or alias in a request."""

    name: str
    qualifier: str | None

    def action(self, namespace: str) -> Name:
        """The name of the function's action."""
        return Name(namespace, None, self.name)


def named(text: str, qualifier: str | None = None) -> Named:
    """Parses a function's name, its ARN or a part of the ARN.

    Raises:
        AwsError: ValidationException, or InvalidParameterValueException for two different qualifiers.
    """
    match = _NAMED.fullmatch(text)
    if match is None:
        raise AwsError(
            "ValidationException",
            f"1 validation error detected: Value '{text}' at 'functionName' failed to satisfy "
            f"constraint: Member must satisfy regular expression pattern: {_PATTERN}",
        )
    if qualifier is not None:
        read(
            members(qualifier=Text(least=1, most=128, pattern=_QUALIFIER)), {"qualifier": qualifier}
        )
    if match["qualifier"] and qualifier not in (None, match["qualifier"]):
        raise invalid(
            "The derived qualifier from the function name does not match the specified qualifier."
        )
    return Named(match["name"], match["qualifier"] or qualifier)


def arn_of(name: str, api: Api, qualifier: str | None = None) -> str:
    """The ARN of a function, or of its version or alias."""
    arn = f"arn:aws:lambda:{api.arns.region}:{api.arns.account}:function:{name}"
    return f"{arn}:{qualifier}" if qualifier else arn


def kind_of(runtime: JSON, api: Api) -> str:
    """The kind of action for a runtime.

    Raises:
        AwsError: InvalidParameterValueException.
    """
    kind = next((kind for names, kind in RUNTIMES if names.fullmatch(str(runtime))), None)
    if kind is None or kind not in api.engine.catalog.kinds:
        raise invalid(
            f"Value {runtime} at 'runtime' failed to satisfy constraint: Member must satisfy enum "
            "value set: [python3.x, nodejs20.x] or be a valid ARN"
        )
    return kind


def environment_of(doc: Mapping[str, JSON]) -> dict[str, str] | None:
    """The environment variables in a request; None if it has none.

    Raises:
        AwsError: InvalidParameterValueException.
    """
    given = doc.get("Environment")
    if given is None:
        return None
    found = given.get("Variables") if isinstance(given, dict) else None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise invalid("Environment.Variables must be an object whose values are strings.")
    variables = {name: text for name, text in found.items() if isinstance(text, str)}
    if len(variables) < len(found):
        raise invalid("Environment.Variables must be an object whose values are strings.")
    for name in variables:
        if not re.fullmatch(r"[a-zA-Z]([a-zA-Z0-9_])+", name):
            raise invalid(
                f"1 validation error detected: Value '{name}' at 'environment.variables' failed to "
                "satisfy constraint: Map keys must satisfy constraint: [Member must satisfy regular "
                "expression pattern: [a-zA-Z]([a-zA-Z0-9_])+]"
            )
    return variables


def settings(shape: Members, doc: dict[str, JSON]) -> Function:
    """The checked settings in a request.

    Raises:
        AwsError: a setting is malformed or not supported.
    """
    found = read(shape, doc)
    if doc.get("Layers"):
        raise invalid("Layers are not supported: leave out 'Layers', and put their files into the ZipFile.")  # fmt: skip
    environment = environment_of(doc)
    if environment is not None:
        found["Environment"] = {"Variables": environment}
    return found


def environment(function: Function) -> dict[str, str]:
    """The environment variables of a function: its own, and those that Lambda sets."""
    name, own = function["FunctionName"], function.get("Environment", {}).get("Variables", {})
    region = function["FunctionArn"].split(":")[3]
    return {
        **own,
        "AWS_DEFAULT_REGION": region,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function["MemorySize"]),
        "AWS_LAMBDA_FUNCTION_NAME": name,
        "AWS_LAMBDA_FUNCTION_VERSION": version_of(function),
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{name}",
        "AWS_REGION": region,
    }


def source_of(function: Function) -> str:
    """The hash of all settings and of the code: equal for two functions that do the same."""
    about = {name: value for name, value in function.items() if name not in VOLATILE}
    return sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def coded(uploaded: bytes) -> dict[str, JSON]:
    """The hash and size of a function's code."""
    return {
        "CodeSha256": b64encode(sha256(uploaded).digest()).decode(),
        "CodeSize": len(uploaded),
    }


def document(function: Function, kind: str, archive: bytes) -> dict[str, JSON]:
    """The definition of a function's action."""
    seconds, memory_mb = function["Timeout"], function["MemorySize"]
    return {
        "exec": {"kind": kind, "code": b64encode(archive).decode()},
        "annotations": [{"key": FUNCTION, "value": function}],
        "limits": {
            "timeout": min(seconds, MAX_TIMEOUT_S) * 1000,
            "memory": max(LEAST_MEMORY_MB, min(memory_mb, MAX_MEMORY_MB)),
        },
    }


def modified(now_ms: int) -> str:
    """An instant in Lambda's format."""
    instant = datetime.fromtimestamp(now_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return instant.replace("+00:00", "+0000")


def shown(function: Function, arn: str | None = None) -> dict[str, JSON]:
    """The configuration of a function or a version as Lambda shows it; `arn` names it as the request did."""
    group: dict[str, JSON] = {
        "LogFormat": "Text",
        "LogGroup": f"/aws/lambda/{function['FunctionName']}",
    }
    return {
        **{name: value for name, value in function.items() if name != "Tags"},
        "FunctionArn": arn or function["FunctionArn"],
        "Version": version_of(function),
        "PackageType": "Zip",
        "Architectures": ["x86_64"],
        "TracingConfig": {"Mode": "PassThrough"},
        "EphemeralStorage": {"Size": 512},
        "SnapStart": {"ApplyOn": "None", "OptimizationStatus": "Off"},
        "LoggingConfig": group,
        "State": "Active",
        "LastUpdateStatus": "Successful",
    }


def invalid(message: str) -> AwsError:
    return AwsError("InvalidParameterValueException", message)


def missing(arn: str) -> AwsError:
    return AwsError("ResourceNotFoundException", f"Function not found: {arn}", 404)
