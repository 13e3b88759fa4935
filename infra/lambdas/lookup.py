"""Finds what a request names: a function, or a version or an alias of a function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...actions import LATEST, Action, function_of
from .configuration import arn_of, invalid, missing, named

if TYPE_CHECKING:
    from ...composer import Name
    from .api import LambdaApi
    from .configuration import Function
    from .lambdas import Lambda
    from .protocol import ApiCall
    from .records import Alias

UNQUALIFIED = (
    "This operation is permitted on Lambda functions only. Aliases and versions do not support this "
    "operation. Please specify either a function name or an unqualified function ARN."
)


@dataclass(frozen=True, slots=True)
class Target:
    """A function, or its version or alias, as a request names it.

    `action` and `function` are those of the version, for an alias those of the version that gets most calls.
    """

    owner: Lambda
    qualifier: str | None
    alias: Alias | None
    action: Action
    function: Function

    @property
    def key(self) -> str:
        """The key of its policy, its URL and its rules for events in the function's record."""
        return self.qualifier or ""


def name_of(call: ApiCall) -> Name:
    """The name of the action of the function in the path."""
    return named(call.name).action(call.namespace)


def target_of(call: ApiCall, api: LambdaApi) -> Target:
    """The function, version or alias that the path and the `Qualifier` of a request name.

    Raises:
        AwsError: ResourceNotFoundException, or the name is malformed.
    """
    meant = named(call.name, call.query("Qualifier"))
    owner = owner_of(meant.action(call.namespace), api)
    return qualified_target(owner, meant.qualifier, api)


def qualified_target(owner: Lambda, qualifier: str | None, api: LambdaApi) -> Target:
    """A function's version or alias.

    Raises:
        AwsError: ResourceNotFoundException.
    """
    if qualifier in (None, "", LATEST):
        return Target(owner, qualifier, None, owner.action, owner.function)
    alias = owner.record.aliases.get(str(qualifier))
    version = str(qualifier) if alias is None else alias.version
    action = owner.action if version == LATEST else api.lambdas.version(owner, version)
    function = None if action is None else function_of(action)
    if action is None or function is None:
        raise missing(arn_of(owner.name.name, api, qualifier))
    return Target(owner, qualifier, alias, action, function)


def owner_of(name: Name, api: LambdaApi) -> Lambda:
    """The function of this name.

    Raises:
        AwsError: ResourceNotFoundException.
    """
    owner = api.lambdas.find(name)
    if owner is None:
        raise missing(arn_of(name.name, api))
    return owner


def function_only(call: ApiCall, api: LambdaApi) -> Lambda:
    """The function of a request for an operation that versions and aliases do not have.

    Raises:
        AwsError: ResourceNotFoundException, or InvalidParameterValueException for a version or an alias.
    """
    meant = named(call.name, call.query("Qualifier"))
    if meant.qualifier not in (None, LATEST):
        raise invalid(UNQUALIFIED)
    return owner_of(meant.action(call.namespace), api)


def arn_in(target: Target, api: LambdaApi) -> str:
    """The ARN of a target, with the qualifier of the request."""
    return arn_of(target.owner.name.name, api, target.qualifier)
