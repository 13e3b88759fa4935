"""What other namespaces see of a public package that hides: names and kinds, neither code nor values.

The annotation `hide: true` on a package makes it hide. Its actions run for everybody as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ...actions import Package, RefusedError
from ...composer import Name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...actions import Action, Catalog
    from ...composer import JSON
    from ..engine import NamedExecution
    from .api import Api

HIDE = "hide"
TREE = "conductor"  # the annotation in which Composer puts a whole composition
SHOWN = ("seq", "at", "fiber", "turn", "type", "path", "action", "activation", "code")


def hides(package: Package, caller: str) -> bool:
    """Whether a package shows a caller neither code nor values."""
    return package.name.namespace != caller and package.marked(HIDE)


def is_hidden(catalog: Catalog, action: Action, caller: str) -> bool:
    """Whether an action, as it was resolved for a caller, is in a package that hides."""
    name = action.name
    if name.package is None or name.namespace == caller:
        return False
    package = catalog.find(Package, Name(name.namespace, None, name.package))
    return package is None or hides(package, caller)


def without_code(action: Action) -> dict[str, JSON]:
    """An action as others see it."""
    doc = action.to_json(code=False)
    binary = doc["exec"].get("binary", False)
    doc["exec"] = {"kind": action.kind, "binary": binary}
    doc["parameters"] = names_of(action.parameters)
    return without_tree(doc)


def names_of(parameters: Iterable[str]) -> list[dict[str, JSON]]:
    """Parameters without their values."""
    return [{"key": name, "value": None, "hidden": True} for name in parameters]


def without_tree(doc: dict[str, JSON]) -> dict[str, JSON]:
    """A document of an action, or the summary of one, without the composition in its annotations."""
    notes = [note for note in doc["annotations"] if note["key"] != TREE]
    return {**doc, "annotations": notes}


async def is_run_hidden(namespace: str, id: str, api: Api) -> bool:
    """Whether an execution of this namespace runs what a package of another namespace hides.

    An action that is not there any more, or not for this namespace, may have been in such a package.

    Raises:
        NotFoundError: when there is no such execution in this namespace.
    """
    row = await api.engine.records.row(namespace, id)
    body = orjson.loads(row.body)
    name = Name.parse(body["action"])
    return _is_hidden_now(name, body.get("owner", name.namespace), namespace, api)


def is_machine_hidden(execution: NamedExecution, caller: str, api: Api) -> bool:
    """Whether an execution runs a state machine that a package of another namespace hides from a caller."""
    return _is_hidden_now(Name.parse(execution.action), execution.owner, caller, api)


def is_letter_hidden(namespace: str, id: str, api: Api) -> bool:
    """Whether a dead letter of this namespace called what a package of another namespace hides.

    Raises:
        NotFoundError: when there is no such dead letter in this namespace.
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


def without_values(entry: dict[str, JSON]) -> dict[str, JSON]:
    """An entry of a history: what happened when, not with which values."""
    return {name: entry[name] for name in SHOWN if name in entry}
