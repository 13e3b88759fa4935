"""Functions: create, describe, change, list and delete them."""

from __future__ import annotations

import asyncio
import binascii
import secrets
import uuid
from base64 import b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING, Any

from ...actions import Action, ConflictError, NotFoundError, function_of
from ...actions.runtimes import ArchiveError, packed, repacked
from ..aws import AwsError
from .configuration import (
    CONFIGURED,
    CREATED,
    DEFAULTS,
    LATEST,
    REPLACED,
    arn_of,
    coded,
    document,
    environment,
    invalid,
    kind_of,
    missing,
    modified,
    named,
    settings,
    shown,
)
from .protocol import Answer

if TYPE_CHECKING:
    from ...composer import JSON
    from ..http import Api
    from .configuration import Function, Named
    from .protocol import ApiCall

PAGE, MOST = 50, 10_000
CREATED_STATUS, GONE, CONFLICT, CHANGED = 201, 204, 409, 412
UNZIPPED = "Could not unzip uploaded file. Please check your file, then try to upload again."


async def create_function(call: ApiCall, api: Api) -> Answer:
    """Creates a function; no action may have its name yet."""
    doc = call.document
    given = settings(CREATED, doc)
    meant = named(given.pop("FunctionName"))
    if given.pop("PackageType", "Zip") != "Zip":
        raise invalid("Only functions of PackageType Zip run here.")
    kind = kind_of(given.get("Runtime"), api)
    if "Handler" not in given:
        raise invalid("Runtime and Handler are mandatory parameters for functions created with deployment packages.")  # fmt: skip
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
    if isinstance(doc.get("Tags"), dict):
        function["Tags"] = doc["Tags"]
    archive = await _packed(uploaded, kind, function)
    try:
        await _put(meant, function, kind, archive, call, api, overwrite=False)
    except ConflictError:
        text = f"Function already exist: {meant.name}{_taken(meant, call, api)}"
        raise AwsError("ResourceConflictException", text, CONFLICT) from None
    return Answer(shown(function), CREATED_STATUS)


async def get_function(call: ApiCall, api: Api) -> Answer:
    _, function = found(_named(call), call, api)
    tags = {"Tags": function["Tags"]} if function.get("Tags") else {}
    return Answer({"Configuration": shown(function), "Code": {"RepositoryType": "S3"}, **tags})


async def get_configuration(call: ApiCall, api: Api) -> Answer:
    return Answer(shown(found(_named(call), call, api)[1]))


async def list_versions(call: ApiCall, api: Api) -> Answer:
    """Lists the only version, `$LATEST`."""
    return Answer({"Versions": [shown(found(_named(call), call, api)[1])]})


async def update_code(call: ApiCall, api: Api) -> Answer:
    """Replaces the code of a function."""
    given = settings(REPLACED, call.document)
    meant = _named(call)
    action, function = found(meant, call, api)
    _check_revision(given, function)
    uploaded = _uploaded(given.get("ZipFile"))
    made = {**function, **coded(uploaded), **_stamped(api)}
    archive = await _packed(uploaded, action.kind, made)
    if not given.get("DryRun"):
        await _put(meant, made, action.kind, archive, call, api, overwrite=True)
    return Answer(shown(made))


async def update_configuration(call: ApiCall, api: Api) -> Answer:
    """Changes the given settings of a function; its code stays."""
    given = settings(CONFIGURED, call.document)
    meant = _named(call)
    action, function = found(meant, call, api)
    _check_revision(given, function)
    given.pop("RevisionId", None)
    kind = kind_of(given.get("Runtime", function["Runtime"]), api)
    made = {**function, **given, **_stamped(api)}
    code: Any = action.exec
    before = b64decode(code.text)
    archive = await asyncio.to_thread(repacked, before, kind, made["Handler"], environment(made))
    await _put(meant, made, kind, archive, call, api, overwrite=True)
    return Answer(shown(made))


async def delete_function(call: ApiCall, api: Api) -> Answer:
    meant = _named(call)
    found(meant, call, api)
    await api.engine.registry.remove(Action, meant.action(call.namespace))
    return Answer(b"", GONE)


async def list_functions(call: ApiCall, api: Api) -> Answer:
    """Lists the functions of the namespace, by name, in pages."""
    query = call.request.query_params
    size = _size(query.get("MaxItems"))
    after = _marked(query.get("Marker"))
    functions: list[Function] = [
        function
        for action in api.engine.catalog.all(Action, call.namespace)
        if action.name.package is None and (function := function_of(action)) is not None
    ]
    left = sorted(
        (function for function in functions if function["FunctionName"] > after),
        key=lambda function: str(function["FunctionName"]),
    )
    page = left[:size]
    answer: dict[str, JSON] = {"Functions": [shown(function) for function in page]}
    if len(left) > size:
        answer["NextMarker"] = urlsafe_b64encode(page[-1]["FunctionName"].encode()).decode()
    return Answer(answer)


def found(meant: Named, call: ApiCall, api: Api) -> tuple[Action, Function]:
    """The action of a function, and the function.

    Raises:
        AwsError: ResourceNotFoundException.
    """
    arn = arn_of(meant.name, api)
    if meant.qualifier not in (None, LATEST):
        raise missing(f"{arn}:{meant.qualifier}")
    try:
        action = api.engine.catalog.resolve(meant.action(call.namespace), call.namespace)
    except NotFoundError:
        raise missing(arn) from None
    function = function_of(action)
    if function is None:
        raise missing(arn)
    return action, function


# --- steps ---------------------------------------------------------------------------------------


def _taken(meant: Named, call: ApiCall, api: Api) -> str:
    """The reason why a name is in use, if it is not a function's."""
    try:
        found(meant, call, api)
    except AwsError:
        return " (an action that is not a Lambda function has this name)"
    return ""


def _named(call: ApiCall) -> Named:
    return named(call.name, call.request.query_params.get("Qualifier"))


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


async def _put(  # noqa: PLR0913, PLR0917  an action has as many sides
    meant: Named,
    function: Function,
    kind: str,
    archive: bytes,
    call: ApiCall,
    api: Api,
    *,
    overwrite: bool,
) -> None:
    made = document(function, kind, archive)
    name = meant.action(call.namespace)
    await api.engine.registry.put(Action, name, made, overwrite=overwrite)


def _stamped(api: Api) -> dict[str, JSON]:
    revision = uuid.UUID(bytes=secrets.token_bytes(16), version=4)
    return {"LastModified": modified(api.engine.now_ms), "RevisionId": str(revision)}


def _check_revision(given: Function, function: Function) -> None:
    if given.get("RevisionId", function["RevisionId"]) != function["RevisionId"]:
        raise AwsError(
            "PreconditionFailedException",
            "The Revision Id provided does not match the latest Revision Id. Call the GetFunction/"
            "GetAlias API to retrieve the latest Revision Id",
            CHANGED,
        )


def _size(text: str | None) -> int:
    if text is None:
        return PAGE
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise invalid(f"MaxItems must be from 1 to {MOST}, not {text!r:.40}")
    return min(int(text), PAGE)


def _marked(text: str | None) -> str:
    try:
        return b64decode(text or "", altchars=b"-_", validate=True).decode()
    except ValueError:
        raise invalid("Invalid Marker") from None
