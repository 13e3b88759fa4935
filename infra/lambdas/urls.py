"""Configuration of function URLs."""

from __future__ import annotations

import re
import secrets
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..aws import AwsError, Flag, Items, Number, Required, Text, members, read
from .configuration import arn_of, invalid, named
from .lookup import name_of, owner_of, qualified_target
from .pages import page
from .protocol import Answer
from .records import Url

if TYPE_CHECKING:
    from ...composer import JSON
    from .api import LambdaApi
    from .lambdas import Lambda
    from .protocol import ApiCall

PLACE = "/lambda-url/"  # the path below which URLs of functions are
CREATED, GONE, CONFLICT, MISSING = 201, 204, 409, 404
MOST = 50  # URLs in a page
_AUTH = Text(among=("NONE", "AWS_IAM"))
_HEADERS = Items(Text(most=1024), most=100)
_CORS = members(
    "Cors",
    AllowCredentials=Flag(),
    AllowHeaders=_HEADERS,
    AllowMethods=Items(Text(most=6), most=6),
    AllowOrigins=Items(Text(least=1, most=253), most=100),
    ExposeHeaders=_HEADERS,
    MaxAge=Number(least=0, most=86_400),
)
_METHODS = ("*", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
_SETTINGS: dict[str, Any] = {
    "Cors": _CORS,
    "InvokeMode": Text(among=("BUFFERED", "RESPONSE_STREAM")),
}
GIVEN = members(AuthType=Required(_AUTH), **_SETTINGS)
CHANGED = members(AuthType=_AUTH, **_SETTINGS)


async def create_url(call: ApiCall, api: LambdaApi) -> Answer:
    given = _checked(read(GIVEN, call.document))
    async with api.lambdas.changing(name_of(call)):
        owner, key = _owner(call, api)
        if key in owner.record.urls:
            arn = arn_of(owner.name.name, api, key)
            text = f"Failed to create function url config for [functionArn = {arn}]. Error message:  FunctionUrlConfig exists for this Lambda function"  # fmt: skip
            raise AwsError("ResourceConflictException", text, CONFLICT)
        now_ms = api.engine.now_ms
        url = Url(
            id=secrets.token_hex(16),
            auth=given["AuthType"],
            cors=given.get("Cors"),
            mode=given.get("InvokeMode", "BUFFERED"),
            created_ms=now_ms,
            modified_ms=now_ms,
        )
        await _keep(owner, {**owner.record.urls, key: url}, api)
    return Answer(_shown(url, owner, key, call, api), CREATED)


async def update_url(call: ApiCall, api: LambdaApi) -> Answer:
    """Changes the given settings of a URL. `Cors` replaces all of its rules."""
    given = _checked(read(CHANGED, call.document))
    async with api.lambdas.changing(name_of(call)):
        owner, key = _owner(call, api)
        before = _found(owner, key)
        url = replace(
            before,
            auth=given.get("AuthType", before.auth),
            cors=given.get("Cors", before.cors),
            mode=given.get("InvokeMode", before.mode),
            modified_ms=api.engine.now_ms,
        )
        await _keep(owner, {**owner.record.urls, key: url}, api)
    return Answer(_shown(url, owner, key, call, api))


async def get_url(call: ApiCall, api: LambdaApi) -> Answer:
    owner, key = _owner(call, api)
    return Answer(_shown(_found(owner, key), owner, key, call, api))


async def delete_url(call: ApiCall, api: LambdaApi) -> Answer:
    async with api.lambdas.changing(name_of(call)):
        owner, key = _owner(call, api)
        _found(owner, key)
        left = {name: url for name, url in owner.record.urls.items() if name != key}
        await _keep(owner, left, api)
    return Answer(b"", GONE)


async def list_urls(call: ApiCall, api: LambdaApi) -> Answer:
    """Lists the URLs of a function and of its aliases, in pages."""
    owner = owner_of(name_of(call), api)
    listed, more = page(owner.record.urls.items(), lambda pair: f"/{pair[0]}", call, MOST)
    shown: list[JSON] = [_shown(url, owner, key, call, api) for key, url in listed]
    return Answer({"FunctionUrlConfigs": shown, **more})


# --- steps ---------------------------------------------------------------------------------------


def _owner(call: ApiCall, api: LambdaApi) -> tuple[Lambda, str]:
    """The function of a URL and its alias; "" for the function itself.

    Raises:
        AwsError: the function or the alias does not exist, or the qualifier is not that of an alias.
    """
    meant = named(call.name, call.query("Qualifier"))
    owner = owner_of(meant.action(call.namespace), api)
    if meant.qualifier is None:
        return owner, ""
    if meant.qualifier.isdecimal() or "$" in meant.qualifier:
        raise invalid(
            f"1 validation error detected: Value '{meant.qualifier}' at 'qualifier' failed to satisfy constraint: "
            "Member must satisfy regular expression pattern: ((?!^\\d+$)^[0-9a-zA-Z-_]+$)"
        )
    return owner, qualified_target(owner, meant.qualifier, api).key


def _checked(given: dict[str, Any]) -> dict[str, Any]:
    """The settings of a request.

    Raises:
        AwsError: a setting is not supported, or contradicts another.
    """
    if given.get("InvokeMode") == "RESPONSE_STREAM":
        raise invalid("InvokeMode RESPONSE_STREAM is not supported: use BUFFERED.")
    cors = given.get("Cors", {})
    for method in cors.get("AllowMethods", ()):
        if method not in _METHODS:
            raise invalid(
                f"Value '{method}' at 'cors.allowMethods' failed to satisfy constraint: Member must satisfy enum "
                f"value set: [{', '.join(_METHODS)}]"
            )
    for origin in cors.get("AllowOrigins", ()):
        if origin != "*" and not re.fullmatch(r"https?://[^\s/]+", origin):
            raise invalid(
                f"Value '{origin}' at 'cors.allowOrigins' must be '*' or an origin, such as https://example.com"
            )
    return given


def _found(owner: Lambda, key: str) -> Url:
    url = owner.record.urls.get(key)
    if url is None:
        text = "The resource you requested does not exist."
        raise AwsError("ResourceNotFoundException", text, MISSING)
    return url


async def _keep(owner: Lambda, urls: dict[str, Url], api: LambdaApi) -> None:
    await api.lambdas.keep(owner, replace(owner.record, urls=urls))


def _shown(url: Url, owner: Lambda, key: str, call: ApiCall, api: LambdaApi) -> dict[str, JSON]:
    shown: dict[str, JSON] = {
        "FunctionUrl": f"{str(call.request.base_url).rstrip('/')}{PLACE}{url.id}/",
        "FunctionArn": arn_of(owner.name.name, api, key),
        "AuthType": url.auth,
        "CreationTime": _instant(url.created_ms),
        "LastModifiedTime": _instant(url.modified_ms),
        "InvokeMode": url.mode,
    }
    return {**shown, "Cors": url.cors} if url.cors else shown


def _instant(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat().replace("+00:00", "Z")
