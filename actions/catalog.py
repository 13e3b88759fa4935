"""The names of a service and what they stand for: an index in memory, one for all namespaces.

Whoever changes it also stores what it returns; the index follows the store, never the other way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import ConflictError, NotFoundError
from .model import Action, updated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from composer import JSON, Name


class Catalog:
    """Actions by namespace and name. Default package only; names are unique in a namespace."""

    def __init__(self, actions: Iterable[Action] = ()) -> None:
        self._namespaces: dict[str, dict[str, Action]] = {}
        for action in actions:
            self.apply(action)

    def find(self, name: Name) -> Action | None:
        """The action of this name, if there is one."""
        return self._namespaces.get(name.namespace, {}).get(name.path)

    def get(self, name: Name) -> Action:
        """The action of this name.

        Raises:
            NotFoundError: when there is none.
        """
        action = self.find(name)
        if action is None:
            raise NotFoundError
        return action

    def list(self, namespace: str) -> list[Action]:
        """The actions of a namespace, the last changed first."""
        found = self._namespaces.get(namespace, {}).values()
        return sorted(found, key=lambda action: (-action.updated_ms, action.name.path))

    def updated(self, name: Name, doc: JSON, *, overwrite: bool, now_ms: int) -> Action:
        """What a PUT of `doc` makes of the action of this name. Changes nothing here.

        Raises:
            ConflictError: when it exists and is not to be overwritten.
            NotFoundError: when it stands in a package that does not exist.
            InvalidError: naming the field that is malformed.
            TooLargeError: for code or parameters over their limit.
        """
        before = self.find(name)
        if before is not None and not overwrite:
            raise ConflictError("resource already exists")
        if name.package is not None:
            raise NotFoundError
        return updated(name, doc, before, now_ms)

    def apply(self, action: Action) -> None:
        """Takes an action in, in place of one of the same name."""
        self._namespaces.setdefault(action.name.namespace, {})[action.name.path] = action

    def remove(self, name: Name) -> Action:
        """Takes an action out.

        Raises:
            NotFoundError: when there is none of this name.
        """
        action = self.get(name)
        del self._namespaces[name.namespace][name.path]
        return action
