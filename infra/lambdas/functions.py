"""Functions: create, describe, change, list and delete them."""

from __future__ import annotations

import asyncio
import binascii
from base64 import b64decode
from typing import TYPE_CHECKING, Any

from ...actions import LATEST, Action, ConflictError, function_of
from ...actions.runtimes import ArchiveError, packed, repacked
from ..aws import AwsError
from .configuration import (
    CONFIGURED,
    CREATED,
    DEFAULTS,
    REPLACED,
    arn_of,
    coded,
    environment,
    invalid,
    kind_of,
    modified,
    named,
    settings,
    shown,
)
from .lambdas import Revision
from .lookup import arn_in, function_only, name_of, owner_of, target_of
from .pages import page
from .protocol import Answer
from .revisions import check_revision, new_revision
from .tags import tags_in

if TYPE_CHECKING:
    from ...composer import JSON, Name
    from .api import LambdaApi
    from .configuration import Function
    from .lambdas import Lambda
    from .protocol import ApiCall

CREATED_STATUS, GONE, CONFLICT = 201, 204, 409
UNZIPPED = "Could not unzip uploaded file. Please check your file, then try to upload again."


async def create_function(call: ApiCall, api: LambdaApi) -> Answer:
    """Creates a function; no action may have its name yet. `Publish` publishes its version 1."""
    doc = call.document
    given = settings(CREATED, doc)
    meant = named(given.pop("FunctionName"))
    if given.pop("PackageType", "Zip") != "Zip":
        raise invalid("Only functions of PackageType Zip run here.")
    publication = "" if given.pop("Publish", False) else None
    kind = kind_of(given.get("Runtime"), api)
    if "Handler" not in given:
        raise invalid("Runtime and Handler are mandatory parameters for functions created with deployment packages.")  # fmt: skip
    tags = tags_in(doc)
    code = doc.get("Code")
    uploaded = _uploaded(code.get("ZipFile") if isinstance(code, dict) else None)
    function: Function = {
        "FunctionName": meant.name,
        "FunctionArn": arn_of(meant.name, api),
        **DEFAULTS,
        **given,
        **coded(uploaded),
        **_stamped(api),
    }
    archive = await _packed(uploaded, kind, function)
    name = meant.action(call.namespace)
    async with api.lambdas.changing(name):
        try:
            made = await api.lambdas.create(
                name,
                Revision(function=function, kind=kind, archive=archive, publication=publication),
                tags,
            )
        except ConflictError:
            text = f"Function already exist: {meant.name}{_taken(name, api)}"
            raise AwsError("ResourceConflictException", text, CONFLICT) from None
    return Answer(_latest_or_published(made, publication, api), CREATED_STATUS)


async def get_function(call: ApiCall, api: LambdaApi) -> Answer:
    target = target_of(call, api)
    record = target.owner.record
    tags: dict[str, JSON] = {"Tags": {**record.tags}} if record.tags else {}
    if record.reserved is not None:
        tags["Concurrency"] = {"ReservedConcurrentExecutions": record.reserved}
    about = shown(target.function, arn_in(target, api))
    return Answer({"Configuration": about, "Code": {"RepositoryType": "S3"}, **tags})


async def get_configuration(call: ApiCall, api: LambdaApi) -> Answer:
    target = target_of(call, api)
    return Answer(shown(target.function, arn_in(target, api)))


async def update_code(call: ApiCall, api: LambdaApi) -> Answer:
    """Replaces the code of a function. `Publish` publishes a version of it."""
    given = settings(REPLACED, call.document)
    publication = "" if given.get("Publish") else None
    name = name_of(call)
    async with api.lambdas.changing(name):
        owner = function_only(call, api)
        check_revision(given.get("RevisionId"), owner.function["RevisionId"])
        uploaded = _uploaded(given.get("ZipFile"))
        function = {**owner.function, **coded(uploaded), **_stamped(api)}
        archive = await _packed(uploaded, owner.action.kind, function)
        if given.get("DryRun"):
            return Answer(shown(function))
        after = await api.lambdas.update(
            owner,
            Revision(
                function=function, kind=owner.action.kind, archive=archive, publication=publication
            ),
        )
    return Answer(_latest_or_published(after, publication, api))


async def update_configuration(call: ApiCall, api: LambdaApi) -> Answer:
    """Changes the given settings of a function; its code stays."""
    given = settings(CONFIGURED, call.document)
    revision = given.pop("RevisionId", None)
    async with api.lambdas.changing(name_of(call)):
        owner = function_only(call, api)
        check_revision(revision, owner.function["RevisionId"])
        kind = kind_of(given.get("Runtime", owner.function["Runtime"]), api)
        function = {**owner.function, **given, **_stamped(api)}
        code: Any = owner.action.exec
        before = b64decode(code.text)
        archive = await asyncio.to_thread(
            repacked, before, kind, function["Handler"], environment(function)
        )
        await api.lambdas.update(owner, Revision(function=function, kind=kind, archive=archive))
    return Answer(shown(function))


async def delete_function(call: ApiCall, api: LambdaApi) -> Answer:
    """Deletes a function with its versions and aliases, or with a `Qualifier` one version."""
    meant = named(call.name, call.query("Qualifier"))
    name = meant.action(call.namespace)
    async with api.lambdas.changing(name):
        owner = owner_of(name, api)
        if meant.qualifier is None:
            await api.lambdas.remove(owner)
        else:
            await _delete_version(owner, meant.qualifier, call, api)
    return Answer(b"", GONE)


async def list_functions(call: ApiCall, api: LambdaApi) -> Answer:
    """Lists the functions of the namespace, by name, in pages; with `FunctionVersion=ALL` their versions, too."""
    scope = call.query("FunctionVersion")
    if scope not in (None, "ALL"):
        raise invalid(
            f"Value '{scope:.40}' at 'functionVersion' failed to satisfy constraint: Member must satisfy enum "
            "value set: [ALL]"
        )
    found: list[dict[str, JSON]] = []
    for owner in api.lambdas.all(call.namespace):
        found += every_version(owner, api) if scope else [shown(owner.function)]
    listed, more = page(found, lambda about: place_of(str(about["FunctionName"]), about), call)
    return Answer({"Functions": [*listed], **more})


def every_version(owner: Lambda, api: LambdaApi) -> list[dict[str, JSON]]:
    """A function and its versions, as lists show them."""
    versions = (api.lambdas.version(owner, str(number)) for number in owner.record.versions)
    functions = (function_of(action) for action in versions if action is not None)
    latest = shown(owner.function, arn_of(owner.name.name, api, LATEST))
    return [latest, *(shown(function) for function in functions if function is not None)]


def place_of(name: str, about: dict[str, JSON]) -> str:
    """The place of a version in a list: by name, `$LATEST` first, then by number."""
    version = str(about["Version"])
    return f"{name}:{0 if version == LATEST else int(version):010}"


# --- steps ---------------------------------------------------------------------------------------


def _latest_or_published(owner: Lambda, publication: str | None, api: LambdaApi) -> dict[str, JSON]:
    """The configuration in the response: that of the published version, if one was asked for."""
    if publication is None:
        return shown(owner.function)
    return last_version(owner, api)


def last_version(owner: Lambda, api: LambdaApi) -> dict[str, JSON]:
    """The version of a function that was published last."""
    action = api.lambdas.version(owner, str(owner.record.published))
    assert action is not None  # noqa: S101  it has just been published, or was compared with
    return shown(function_of(action) or {})


async def _delete_version(owner: Lambda, qualifier: str, call: ApiCall, api: LambdaApi) -> None:
    if qualifier == LATEST:
        raise invalid("$LATEST version cannot be deleted without deleting the function.")
    target = target_of(call, api)
    if target.alias is not None:
        raise invalid("Aliases cannot be deleted by DeleteFunction: use DeleteAlias.")
    used = [
        alias.name
        for alias in owner.record.aliases.values()
        if qualifier in (alias.version, *dict(alias.weights))
    ]
    if used:
        text = f"Unable to delete because the following aliases reference it: [{', '.join(used)}]"
        raise AwsError("ResourceConflictException", text, CONFLICT)
    await api.lambdas.remove_version(owner, qualifier)


def _taken(name: Name, api: LambdaApi) -> str:
    """The reason why a name is in use, if it is not a function's."""
    if api.lambdas.find(name) is not None:
        return ""
    if api.engine.catalog.find(Action, name) is None:
        return " (the version that it is to have is the name of another action)"
    return " (an action that is not a Lambda function has this name)"


def _uploaded(text: JSON) -> bytes:
    if not isinstance(text, str) or not text:
        raise invalid("Please provide a source for function code: a ZipFile is the only one here.")
    try:
        return b64decode(text, validate=True)
    except binascii.Error:
        raise AwsError("SerializationException", "ZipFile is not valid base64.") from None


async def _packed(uploaded: bytes, kind: str, function: Function) -> bytes:
    try:
        return await asyncio.to_thread(
            packed, uploaded, kind, function["Handler"], environment(function)
        )
    except ArchiveError as error:
        raise invalid(f"{UNZIPPED} ({error})") from None


def _stamped(api: LambdaApi) -> dict[str, JSON]:
    return {"LastModified": modified(api.engine.now_ms), "RevisionId": new_revision()}
