"""Packages that hide their contents: other namespaces see names and kinds, neither code nor values.

The annotation `hide: true` on a public package hides its contents. Its actions still run for everybody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from ...actions import ForbiddenError, Package, RefusedError
from ...composer import Name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...actions import Action, Catalog, ExecutionRow
    from ...composer import JSON
    from ..engine import NamedExecution
    from .api import Api
    from .responses import Body

HIDE = "hide"
TREE = "conductor"  # the annotation that holds a whole composition, set by Composer
SHOWN = ("seq", "at", "fiber", "turn", "type", "path", "action", "activation", "code")


def hides(package: Package, caller: str) -> bool:
    """True if a package hides code and values from a caller."""
    return package.name.namespace != caller and package.marked(HIDE)


def is_hidden(catalog: Catalog, action: Action, caller: str) -> bool:
    """True if an action, resolved for a caller, is in a package that hides its contents."""
    name = action.name
    if name.package is None or name.namespace == caller:
        return False
    package = catalog.find(Package, Name(name.namespace, None, name.package))
    return package is None or hides(package, caller)


def without_code(action: Action) -> dict[str, JSON]:
    """An action of a hidden package, without code and values."""
    doc: Body = action.to_json(code=False)
    binary = doc["exec"].get("binary", False)
    doc["exec"] = {"kind": action.kind, "binary": binary}
    doc["parameters"] = names_of(action.parameters)
    return without_tree(doc)


def names_of(parameters: Iterable[str]) -> list[dict[str, JSON]]:
    """Parameters without their values."""
    return [{"key": name, "value": None, "hidden": True} for name in parameters]


def without_tree(doc: Mapping[str, Any]) -> dict[str, JSON]:
    """An action's document or summary, without the composition in its annotations."""
    notes = [note for note in doc["annotations"] if note["key"] != TREE]
    return {**doc, "annotations": notes}


async def is_run_hidden(namespace: str, id: str, api: Api) -> bool:
    """True if an execution runs an action that a package of another namespace hides.

    A deleted or inaccessible action counts as hidden.

    Raises:
        NotFoundError: the namespace has no such execution.
    """
    return is_row_hidden(await api.engine.records.row(namespace, id), api)


async def check_run_shown(namespace: str, id: str, api: Api) -> None:
    """Checks that an execution runs no action that a package of another namespace hides.

    Raises:
        ForbiddenError: it does.
        NotFoundError: the namespace has no such execution.
    """
    if await is_run_hidden(namespace, id, api):
        raise ForbiddenError(f"{namespace}/{id}")


def is_row_hidden(row: ExecutionRow, api: Api) -> bool:
    """Like `is_run_hidden`, for the stored row of an execution."""
    body = orjson.loads(row.body)
    name = Name.parse(body["action"])
    return _is_hidden_now(name, body.get("owner", name.namespace), row.namespace, api)


def is_action_hidden(action: str, owner: str, caller: str, api: Api) -> bool:
    """True if a caller's execution runs an action of this owner that a package hides."""
    name = Name.parse(action)
    return _is_hidden_now(name, owner or name.namespace, caller, api)


def is_machine_hidden(execution: NamedExecution, caller: str, api: Api) -> bool:
    """True if an execution runs a state machine that a package of another namespace hides."""
    if execution.owner == caller:
        return False
    return _is_hidden_now(Name.parse(execution.action), execution.owner, caller, api)


def is_letter_hidden(namespace: str, id: str, api: Api) -> bool:
    """True if a dead letter called an action that a package of another namespace hides.

    Raises:
        NotFoundError: the namespace has no such dead letter.
    """
    target, owner = api.engine.letters.called(namespace, id)
    return _is_hidden_now(Name.parse(target), owner or namespace, namespace, api)


def _is_hidden_now(name: Name, owner: str, caller: str, api: Api) -> bool:
    if owner == caller:
        return False
    try:
        return is_hidden(api.engine.catalog, api.engine.catalog.resolve(name, caller), caller)
    except RefusedError:
        return True


def without_values(entry: Mapping[str, JSON]) -> dict[str, JSON]:
    """An entry of a history without its values."""
    return {name: entry[name] for name in SHOWN if name in entry}
