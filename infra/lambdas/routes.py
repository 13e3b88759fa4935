"""The paths of Lambda's API, with their operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..http import Wing
from . import (
    account,
    aliases,
    events,
    functions,
    invocations,
    policies,
    tags,
    url_calls,
    urls,
    versions,
)
from .protocol import served, unknown
from .urls import PLACE

if TYPE_CHECKING:
    from ..http import Route
    from .protocol import Operation

_ALL = "/2015-03-31/functions"
_ONE = _ALL + "/{name}"
_ALIAS = _ONE + "/aliases/{alias}"
_TAGS = "/2017-03-31/tags/{arn:path}"
_URL = "/2021-10-31/functions/{name}/url"
_EVENTS = "/2019-09-25/functions/{name}/event-invoke-config"
_RESERVED = "/2017-10-31/functions/{name}/concurrency"
_RUNTIME = "/2021-07-20/functions/{name}/runtime-management-config"
_PROVISIONED = "/2019-09-30/functions/{name}/provisioned-concurrency"

_OPERATIONS: list[tuple[str, str, Operation]] = [
    ("POST", _ONE + "/invocations", invocations.invoke),
    ("POST", _ALL, functions.create_function),
    ("POST", _ALL + "/", functions.create_function),
    ("GET", _ALL, functions.list_functions),
    ("GET", _ALL + "/", functions.list_functions),
    ("GET", _ONE, functions.get_function),
    ("DELETE", _ONE, functions.delete_function),
    ("GET", _ONE + "/configuration", functions.get_configuration),
    ("PUT", _ONE + "/configuration", functions.update_configuration),
    ("PUT", _ONE + "/code", functions.update_code),
    ("GET", _ONE + "/versions", versions.list_versions),
    ("POST", _ONE + "/versions", versions.publish_version),
    ("GET", _ONE + "/aliases", aliases.list_aliases),
    ("POST", _ONE + "/aliases", aliases.create_alias),
    ("GET", _ALIAS, aliases.get_alias),
    ("PUT", _ALIAS, aliases.update_alias),
    ("DELETE", _ALIAS, aliases.delete_alias),
    ("GET", _ONE + "/policy", policies.get_policy),
    ("POST", _ONE + "/policy", policies.add_permission),
    ("DELETE", _ONE + "/policy/{statement}", policies.remove_permission),
    ("GET", _TAGS, tags.list_tags),
    ("POST", _TAGS, tags.tag_resource),
    ("DELETE", _TAGS, tags.untag_resource),
    ("GET", _URL, urls.get_url),
    ("POST", _URL, urls.create_url),
    ("PUT", _URL, urls.update_url),
    ("DELETE", _URL, urls.delete_url),
    ("GET", _URL + "s", urls.list_urls),
    ("GET", _EVENTS + "/list", events.list_configs),
    ("GET", _EVENTS, events.get_config),
    ("PUT", _EVENTS, events.put_config),
    ("POST", _EVENTS, events.update_config),
    ("DELETE", _EVENTS, events.delete_config),
    ("PUT", _RESERVED, account.put_concurrency),
    ("DELETE", _RESERVED, account.delete_concurrency),
    ("GET", "/2019-09-30/functions/{name}/concurrency", account.get_concurrency),
    ("GET", _PROVISIONED, account.get_provisioned),
    ("GET", "/2020-06-30/functions/{name}/code-signing-config", account.get_code_signing),
    ("GET", "/2015-03-31/event-source-mappings", account.list_event_sources),
    ("GET", "/2015-03-31/event-source-mappings/", account.list_event_sources),
    ("GET", _RUNTIME, account.get_runtime_management),
    ("GET", "/2016-08-19/account-settings", account.get_settings),
    ("GET", "/2016-08-19/account-settings/", account.get_settings),
]

ROUTES: list[Route] = [(method, path, served(operation)) for method, path, operation in _OPERATIONS]
_AT_URL: list[Route] = [
    ("*", PLACE + "{url}", url_calls.serve),
    ("*", PLACE + "{url}/{path:path}", url_calls.serve),
]

LAMBDA: Wing = Wing(
    routes=[*ROUTES, *_AT_URL],
    frequent=("POST /2015-03-31/functions/{name}/invocations",),
    unknown=unknown,
    asked=(PLACE,),
)
