"""The body of a request that deploys a project: read, and checked field by field."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..composer import InvalidNameError, Name
from .errors import ForbiddenError, InvalidError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..composer import JSON

_FIELDS = ("actions", "schedules", "origins", "prune", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """An action of a deployment, as its origin defines it."""

    name: Name
    origin: str
    document: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedSchedule:
    """A schedule of a deployment, as its origin writes it."""

    name: str
    origin: str
    document: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """Actions and schedules to deploy, and the origins that they are the whole of."""

    actions: Sequence[Deployed]
    schedules: Sequence[DeployedSchedule] = ()
    origins: Sequence[str] = ()
    prune: bool = False
    replace: bool = False


def deployment_of(doc: JSON, namespace: str) -> Deployment:
    """Reads the body of a request.

    Raises:
        InvalidError: a field is malformed. The message names the field.
        ForbiddenError: an action belongs to another namespace.
    """
    if not isinstance(doc, dict):
        raise malformed("the body must be an object")
    if unknown := doc.keys() - set(_FIELDS):
        raise malformed(f"the field {min(unknown)!r:.100} does not exist: {', '.join(_FIELDS)} do")
    items, scheduled = _list(doc, "actions"), _list(doc, "schedules")
    origins = doc.get("origins", [])
    if not isinstance(origins, list) or not all(isinstance(each, str) for each in origins):
        raise malformed("'origins' must be a list of strings")
    for flag in ("prune", "replace"):
        if not isinstance(doc.get(flag, False), bool):
            raise malformed(f"{flag!r} must be true or false")
    actions = [_deployed(at, item, namespace) for at, item in enumerate(items)]
    schedules = [_scheduled(at, item) for at, item in enumerate(scheduled)]
    _check_once("actions", [str(each.name) for each in actions])
    _check_once("schedules", [each.name for each in schedules])
    return Deployment(
        actions=actions,
        schedules=schedules,
        origins=[str(origin) for origin in origins],
        prune=bool(doc.get("prune")),
        replace=bool(doc.get("replace")),
    )


def _list(doc: dict[str, JSON], name: str) -> list[JSON]:
    found = doc.get(name, [])
    if not isinstance(found, list):
        raise malformed(f"{name!r} must be a list")
    return found


def _check_once(field_: str, names: list[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise malformed(f"{field_!r} has {name!r} twice")


def _scheduled(at: int, item: JSON) -> DeployedSchedule:
    taken = _item(f"'schedules[{at}]'", item, "document")
    return DeployedSchedule(name=taken[0], origin=taken[1], document=taken[2])


def _item(place: str, item: JSON, defined: str) -> tuple[str, str, dict[str, JSON]]:
    """The name, the origin and the definition, which stands in the field `defined`."""
    if not isinstance(item, dict):
        raise malformed(f"{place} must be an object")
    text, origin, document = item.get("name"), item.get("origin"), item.get(defined)
    if not isinstance(text, str):
        raise malformed(f"{place}: 'name' must be a string")
    if not isinstance(origin, str) or not origin:
        raise malformed(f"{place}: 'origin' must be a string, such as 'shop/pipeline.py'")
    if not isinstance(document, dict):
        raise malformed(f"{place}: '{defined}' must be an object")
    return text, origin, document


def _deployed(at: int, item: JSON, namespace: str) -> Deployed:
    place = f"'actions[{at}]'"
    text, origin, document = _item(place, item, "definition")
    try:
        name = Name.parse(text).within(namespace)
    except InvalidNameError as error:
        raise malformed(f"{place}: 'name': {error}") from error
    if name.namespace != namespace:
        raise ForbiddenError(f"{name.namespace}/{name.path}")
    return Deployed(name=name, origin=origin, document=document)


def malformed(text: str) -> InvalidError:
    """The refusal of a body, as OpenWhisk begins it."""
    return InvalidError(f"The request content was malformed:\n{text}")
