"""Definitions over HTTP: list, get, put and delete actions, packages, triggers and rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from ...actions import Action, ForbiddenError, Package, Rule, Trigger
from ...composer import InvalidNameError, Name
from . import requests
from .responses import Json
from .visibility import hides, is_hidden, names_of, without_code, without_tree

if TYPE_CHECKING:
    from starlette.requests import Request

    from ...composer import JSON
    from .api import Api
    from .responses import Body

NAMES = 1024  # names that were parsed lately: an action is called more than once
MAX_BODY_BYTES = 64 << 20  # code of 48 MB in base64


@dataclass(frozen=True, slots=True)
class Collection:
    """The definitions of one kind, and their name in paths."""

    name: str
    kind: type[Any]


COLLECTIONS = (
    Collection("actions", Action),
    Collection("packages", Package),
    Collection("triggers", Trigger),
    Collection("rules", Rule),
)


def name_of(request: Request, namespace: str) -> Name:
    """The name in a path.

    Raises:
        InvalidNameError: the name is malformed.
    """
    return _name(namespace, request.path_params["name"])


@lru_cache(NAMES)
def _name(namespace: str, path: str) -> Name:
    if path.count("/") > 1:
        raise InvalidNameError(
            f"the name {path!r:.300} has too many parts: inside a namespace a name is 'name' or "
            "'package/name'; a full name is '/namespace/package/name'"
        )
    return Name.parse(f"/{namespace}/{path}")


async def list_definitions(collection: Collection, request: Request, api: Api) -> Json:
    """Lists the definitions of a namespace; of another namespace only its public packages."""
    caller, namespace = api.auth.named(request)
    if collection.kind is not Package and namespace != caller:
        raise ForbiddenError(f"{namespace}/{collection.name}")
    found = api.engine.catalog.all(collection.kind, namespace)
    if namespace != caller:
        found = [package for package in found if package.public]
    elif collection.kind is Package and requests.flag(request.query_params, "public"):
        found = api.engine.catalog.public_packages()
    return _listed(request, found, collection.name)


async def list_package(request: Request, api: Api) -> Json:
    """Lists the actions of a package."""
    caller, namespace = api.auth.named(request)
    name = Name.parse(f"/{namespace}/{request.path_params['package']}")
    package = api.engine.catalog.package(name, caller)
    actions = api.engine.catalog.contents(package)
    hidden = any(is_hidden(api.engine.catalog, action, caller) for action in actions)
    return _listed(request, actions, "actions", hidden=hidden)


def _listed(request: Request, found: list[Any], collection: str, *, hidden: bool = False) -> Json:
    query = request.query_params
    if requests.flag(query, "count"):
        return Json({collection: len(found)})
    skip, limit = requests.page(query, collection)
    shown = [entity.summary() for entity in found[skip : skip + limit]]
    return Json([without_tree(doc) for doc in shown] if hidden else shown)


async def get_definition(collection: Collection, request: Request, api: Api) -> Json:
    """Returns a definition; `code=false` leaves out the code of an action."""
    caller, namespace = api.auth.named(request)
    name = name_of(request, namespace)
    catalog = api.engine.catalog
    if collection.kind is Action:
        code = request.query_params.get("code", "true").lower() not in requests.FALSE
        action = catalog.resolve(name, caller)
        if is_hidden(catalog, action, caller):
            return Json(without_code(action))
        shown = action.to_json(code=code)
        return await api.engine.threads.weigh(shown, partial(Json, shown))
    if collection.kind is Package:
        return Json(_package(catalog.package(name, caller), caller, api))
    if namespace != caller:
        raise ForbiddenError(f"{namespace}/{name.path}")
    return Json(_shown(catalog.get(collection.kind, name), api))


async def put_definition(collection: Collection, request: Request, api: Api) -> Json:
    """Creates a definition; `overwrite=true` also updates one that exists."""
    name = name_of(request, api.auth.own(request))
    overwrite = requests.flag(request.query_params, "overwrite")
    threads = api.engine.threads
    document = await requests.definition(request, MAX_BODY_BYTES, threads)
    entity = await api.engine.registry.put(collection.kind, name, document, overwrite=overwrite)
    shown = _shown(entity, api)
    return await threads.weigh(shown, partial(Json, shown))


async def delete_definition(collection: Collection, request: Request, api: Api) -> Json:
    """Deletes a definition, and returns it."""
    name = name_of(request, api.auth.own(request))
    force = requests.flag(request.query_params, "force")
    return Json(_shown(await api.engine.registry.remove(collection.kind, name, force=force), api))


async def set_rule_status(request: Request, api: Api) -> Json:
    """Sets the status of a rule; the body is `{"status": "active" | "inactive"}`."""
    name = name_of(request, api.auth.own(request))
    document = await requests.parameters(request, api.payload_bytes)
    await api.engine.registry.set_status(name, document.get("status"))
    return Json({})


def _shown(entity: Any, api: Api) -> dict[str, JSON]:
    """A definition as OpenWhisk shows it; a trigger with its rules, a rule with what it remembers."""
    doc: dict[str, JSON] = entity.to_json()
    if isinstance(entity, Rule) and (remembers := api.engine.contexts.shown(entity)):
        doc["remembers"] = remembers
    rules = api.engine.catalog.rules_of(entity.name) if isinstance(entity, Trigger) else []
    if rules:
        doc["rules"] = {
            f"{rule.name.namespace}/{rule.name.name}": {
                "action": rule.to_json()["action"],
                "status": rule.status,
            }
            for rule in rules
        }
    return doc


def _package(package: Package, caller: str, api: Api) -> dict[str, JSON]:
    """A package with its contents; a binding also with the parameters that it inherits."""
    catalog = api.engine.catalog
    doc: Body = package.to_json()
    if hides(package, caller):
        doc["parameters"] = names_of(package.parameters)
    if package.binding is not None:
        provider = catalog.package(package.binding, package.name.namespace)
        own = {item["key"] for item in doc["parameters"]}
        provided: Body = provider.to_json()
        below = provided["parameters"]
        if hides(provider, caller):
            below = names_of(provider.parameters)
        inherited = [p for p in below if p["key"] not in own]
        doc["parameters"] = inherited + doc["parameters"]
    contents = [
        (action.marked("feed"), _content(action, hidden=is_hidden(catalog, action, caller)))
        for action in catalog.contents(package)
    ]
    doc["actions"] = [item for is_feed, item in contents if not is_feed]
    doc["feeds"] = [item for is_feed, item in contents if is_feed]
    return doc


def _content(action: Action, *, hidden: bool) -> dict[str, JSON]:
    summary = without_tree(action.summary()) if hidden else action.summary()
    return {key: summary[key] for key in _CONTENT}


_CONTENT = ("name", "version", "annotations")
