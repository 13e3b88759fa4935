"""The options of a bundle: the processor, wheels to install from, and the file `--config`.

The file is TOML:

    [vpc]
    subnets = ["subnet-0a1b"]
    security_groups = ["sg-0a1b"]

    [secrets]                      # by the name in an action's `credentials`
    azure = {secretsmanager = "prod/azure"}

    [action.charge]
    role = "arn:aws:iam::123456789012:role/charge"    # instead of a role of the bundle, or
    policies = ["arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"]
    environment = {CURRENCY = "EUR", API_KEY = {ssm = "/prod/api-key"}}
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from .errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

X86, ARM = "x86-64", "arm64"
PLATFORMS = (X86, ARM)
STORES = ("secretsmanager", "ssm")  # of secrets on AWS

Reference: TypeAlias = "dict[str, str]"
"""The place of a secret: `{"secretsmanager": name or ARN}` or `{"ssm": name}`."""

_VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_ARN = re.compile(r"arn:aws[a-z-]*:iam::(aws|\d{12}):\S+")
_RESERVED = ("AWS_", "LAMBDA_", "QUEUE", "XINGQIAO_REFERENCES", "XINGQIAO_SECRET_", "_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vpc:
    """The network in which the functions of actions run."""

    subnets: list[str]
    security_groups: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """The settings of one action at the target.

    role: the ARN of an existing role; "" for a role that the bundle makes.
    policies: the ARNs of managed policies that the role has, too.
    environment: texts, and references to secrets.
    """

    role: str = ""
    policies: list[str] = field(default_factory=list)
    environment: dict[str, str | Reference] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a bundle.

    platform: the processor of the target, one of PLATFORMS.
    wheels: a folder with all wheels of all requirements; None installs from the package index.
    vpc: the network of the actions' functions; None for the cloud's own.
    secrets: the places of the secrets that `credentials` name.
    actions: settings by the name of an action.
    """

    platform: str = X86
    wheels: Path | None = None
    vpc: Vpc | None = None
    secrets: Mapping[str, Reference] = field(default_factory=dict)
    actions: Mapping[str, Placed] = field(default_factory=dict)

    def of(self, action: str) -> Placed:
        """The settings of an action, by its name without a namespace."""
        return self.actions.get(action, Placed())


def read_options(
    config: Path | None, *, platform: str = X86, wheels: Path | None = None
) -> Options:
    """Reads the options of a bundle.

    Args:
        config: the file; None without a file.
        platform: one of PLATFORMS.
        wheels: see `Options`.

    Raises:
        BundleError: the file is malformed. The text names the field and its allowed values.
    """
    if config is None:
        return Options(platform=platform, wheels=wheels)
    try:
        doc = tomllib.loads(config.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BundleError(f"{config}: the file cannot be read as TOML: {error}") from error
    try:
        read = _members("", doc, {"vpc": _vpc, "secrets": _secrets, "action": _actions})
    except _MalformedError as error:
        raise BundleError(f"{config}: {error}") from error
    actions = read.pop("action", {})
    return Options(platform=platform, wheels=wheels, actions=actions, **read)


# --- the file ----------------------------------------------------------------------------------


class _MalformedError(Exception):
    """The text names the field and its allowed values."""


def _members(
    where: str, doc: object, known: Mapping[str, Callable[[str, Any], Any]]
) -> dict[str, Any]:
    """The known members of a table, each read."""
    for name in _table(where, doc):
        if name not in known:
            raise _MalformedError(
                f"'{where}{name}' is unknown: the file may have {', '.join(f'{where}{n}' for n in known)}"
            )
    return {
        name: known[name](f"{where}{name}", value) for name, value in _table(where, doc).items()
    }


def _table(where: str, doc: object) -> dict[str, Any]:
    if not isinstance(doc, dict):
        raise _MalformedError(f"'{where.rstrip('.')}' must be a table")
    return doc


def _vpc(where: str, doc: object) -> Vpc:
    read = _members(f"{where}.", doc, {"subnets": _ids, "security_groups": _ids})
    for name in ("subnets", "security_groups"):
        if name not in read:
            raise _MalformedError(f"'{where}.{name}' is missing: give a list of ids")
    return Vpc(**read)


def _ids(where: str, doc: object) -> list[str]:
    if not (isinstance(doc, list) and doc and all(isinstance(id, str) and id for id in doc)):
        raise _MalformedError(f"'{where}' must be a list of one or more ids")
    return doc


def _secrets(where: str, doc: object) -> dict[str, Reference]:
    return {
        name: _reference(f"{where}.{name}", value) for name, value in _table(where, doc).items()
    }


def _reference(where: str, doc: object) -> Reference:
    if isinstance(doc, dict) and len(doc) == 1:
        ((store, name),) = doc.items()
        if store in STORES and isinstance(name, str) and name.isprintable() and name:
            return {store: name}
    raise _MalformedError(
        f"'{where}' must say where the secret is: {{secretsmanager = NAME}} or {{ssm = NAME}}; "
        "the secret itself does not belong into this file"
    )


def _actions(where: str, doc: object) -> dict[str, Placed]:
    known = {"role": _role, "policies": _policies, "environment": _environment}
    made = {}
    for name, value in _table(where, doc).items():
        made[name] = Placed(**_members(f"{where}.{name}.", value, known))
        if made[name].role and made[name].policies:
            raise _MalformedError(
                f"'{where}.{name}' has a 'role' and 'policies': attach the policies to that role"
            )
    return made


def _role(where: str, doc: object) -> str:
    if not (isinstance(doc, str) and _ARN.fullmatch(doc)):
        raise _MalformedError(f"'{where}' must be the ARN of a role, not {doc!r:.200}")
    return doc


def _policies(where: str, doc: object) -> list[str]:
    if not isinstance(doc, list):
        raise _MalformedError(f"'{where}' must be a list of ARNs of policies")
    for arn in doc:
        if not (isinstance(arn, str) and _ARN.fullmatch(arn)):
            raise _MalformedError(f"'{where}' must be a list of ARNs of policies, not {arn!r:.200}")
    return doc


def _environment(where: str, doc: object) -> dict[str, str | Reference]:
    made: dict[str, str | Reference] = {}
    for name, value in _table(where, doc).items():
        if not _VARIABLE.fullmatch(name) or name.startswith(_RESERVED):
            raise _MalformedError(
                f"'{where}.{name}' is not an allowed name: use letters, digits and '_', a letter first, "
                f"and none that begins with {', '.join(_RESERVED)}"
            )
        made[name] = value if isinstance(value, str) else _reference(f"{where}.{name}", value)
    return made
