"""Aliases: names for one version, or for two versions with their shares of the calls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...actions import LATEST
from ..aws import AwsError, Entries, Number, Required, Text, members, read
from .configuration import arn_of, invalid, missing
from .lookup import function_only, name_of
from .pages import page
from .protocol import Answer
from .records import Alias
from .revisions import check_revision, new_revision

if TYPE_CHECKING:
    from ...composer import JSON
    from .api import LambdaApi
    from .lambdas import Lambda
    from .protocol import ApiCall

MOST = 1000  # aliases of a function
CREATED, GONE, CONFLICT = 201, 204, 409
_NAME = Text(least=1, most=128, pattern=r"(?!^[0-9]+$)([a-zA-Z0-9-_]+)")
_VERSION = Text(least=1, most=1024, pattern=r"(\$LATEST|[0-9]+)")
_WEIGHTS = Entries(Text(least=1, most=1024, pattern="[0-9]+"), Number(least=0, most=1, whole=False))
_ROUTES = members("AliasRoutingConfiguration", AdditionalVersionWeights=_WEIGHTS)
_SETTINGS: dict[str, Any] = {"Description": Text(most=256), "RoutingConfig": _ROUTES}
GIVEN = members(Name=Required(_NAME), FunctionVersion=Required(_VERSION), **_SETTINGS)
CHANGED = members(FunctionVersion=_VERSION, RevisionId=Text(), **_SETTINGS)


async def create_alias(call: ApiCall, api: LambdaApi) -> Answer:
    given = read(GIVEN, call.document)
    async with api.lambdas.changing(name_of(call)):
        owner = function_only(call, api)
        aliases, name = owner.record.aliases, given["Name"]
        if name in aliases:
            text = f"Alias already exists: {arn_of(owner.name.name, api, name)}"
            raise AwsError("ResourceConflictException", text, CONFLICT)
        if len(aliases) >= MOST:
            text = f"A function has at most {MOST} aliases: delete some of them."
            raise AwsError("AliasLimitExceededException", text)
        alias = Alias(
            name=name,
            version=given["FunctionVersion"],
            description=given.get("Description", ""),
            weights=_weights(given),
            revision=new_revision(),
        )
        _check(alias, owner, api)
        await _keep(owner, {**aliases, name: alias}, api)
    return Answer(_shown(alias, owner, api), CREATED)


async def update_alias(call: ApiCall, api: LambdaApi) -> Answer:
    """Changes the given settings of an alias. `RoutingConfig` replaces all of its weights."""
    given = read(CHANGED, call.document)
    async with api.lambdas.changing(name_of(call)):
        owner, before = _found(call, api)
        check_revision(given.get("RevisionId"), before.revision)
        alias = replace(
            before,
            version=given.get("FunctionVersion", before.version),
            description=given.get("Description", before.description),
            weights=_weights(given) if "RoutingConfig" in given else before.weights,
            revision=new_revision(),
        )
        _check(alias, owner, api)
        await _keep(owner, {**owner.record.aliases, alias.name: alias}, api)
    return Answer(_shown(alias, owner, api))


async def get_alias(call: ApiCall, api: LambdaApi) -> Answer:
    owner, alias = _found(call, api)
    return Answer(_shown(alias, owner, api))


async def delete_alias(call: ApiCall, api: LambdaApi) -> Answer:
    """Deletes an alias with its permissions, its URL and its rules for events; a missing alias is no error."""
    async with api.lambdas.changing(name_of(call)):
        owner, gone = function_only(call, api), call.part("alias")
        record = owner.record
        if gone in record.aliases:
            kept = replace(
                record,
                aliases=_without(record.aliases, gone),
                policies=_without(record.policies, gone),
                urls=_without(record.urls, gone),
                events=_without(record.events, gone),
            )
            await api.lambdas.keep(owner, kept)
    return Answer(b"", GONE)


async def list_aliases(call: ApiCall, api: LambdaApi) -> Answer:
    """Lists the aliases of a function, or those that name a version, in pages."""
    owner, version = function_only(call, api), call.query("FunctionVersion")
    found = [
        alias
        for alias in owner.record.aliases.values()
        if version in (None, alias.version, *dict(alias.weights))
    ]
    listed, more = page(found, lambda alias: alias.name, call)
    return Answer({"Aliases": [_shown(alias, owner, api) for alias in listed], **more})


# --- steps ---------------------------------------------------------------------------------------


def _found(call: ApiCall, api: LambdaApi) -> tuple[Lambda, Alias]:
    owner, name = function_only(call, api), call.part("alias")
    alias = owner.record.aliases.get(name)
    if alias is None:
        arn = arn_of(owner.name.name, api, name)
        raise AwsError("ResourceNotFoundException", f"Cannot find alias arn: {arn}", 404)
    return owner, alias


def _weights(given: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    routes = given.get("RoutingConfig", {}).get("AdditionalVersionWeights", {})
    return tuple(routes.items())


def _check(alias: Alias, owner: Lambda, api: LambdaApi) -> None:
    """Checks the versions of an alias.

    Raises:
        AwsError: ResourceNotFoundException, or InvalidParameterValueException.
    """
    others = dict(alias.weights)
    if len(others) > 1:
        raise invalid(
            "Number of items in AdditionalVersionWeights cannot be greater than 1. For more information, see the "
            "documentation of weighted aliases."
        )
    if others and alias.version == LATEST:
        raise invalid("$LATEST is not supported for an alias pointing to more than 1 version")
    if alias.version in others:
        raise invalid(
            f"Invalid function version {alias.version}. Function version {alias.version} is already included in "
            "routing configuration."
        )
    for version in (alias.version, *others):
        if version != LATEST and api.lambdas.version(owner, version) is None:
            raise missing(arn_of(owner.name.name, api, version))


async def _keep(owner: Lambda, aliases: dict[str, Alias], api: LambdaApi) -> None:
    await api.lambdas.keep(owner, replace(owner.record, aliases=aliases))


def _shown(alias: Alias, owner: Lambda, api: LambdaApi) -> dict[str, JSON]:
    shown: dict[str, JSON] = {
        "AliasArn": arn_of(owner.name.name, api, alias.name),
        "Name": alias.name,
        "FunctionVersion": alias.version,
        "Description": alias.description,
        "RevisionId": alias.revision,
    }
    if alias.weights:
        shown["RoutingConfig"] = {"AdditionalVersionWeights": dict(alias.weights)}
    return shown


def _without(items: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in items.items() if key != name}
