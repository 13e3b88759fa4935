"""Lambda functions: actions with a record, versions and aliases."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from ...actions import Action, Change, function_of, qualified
from ...actions.runtimes import repacked
from ...composer import Name
from ..engine import MODIFIED
from .configuration import document, environment, source_of
from .records import Record, Records, remnant

if TYPE_CHECKING:
    from ..engine import Engine
    from .configuration import Function

EXISTS = "resource already exists"


@dataclass(frozen=True, slots=True)
class Lambda:
    """A Lambda function as it is now: its action, its configuration and its record."""

    action: Action
    function: Function
    record: Record

    @property
    def name(self) -> Name:
        return self.action.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The next state of a function: its configuration and the archive of its action.

    `publication` is the description of the version that is published at the same time; None publishes none.
    """

    function: Function
    kind: str
    archive: bytes
    publication: str | None = None


class Lambdas:
    """Knows the Lambda functions of an engine that runs. Call `load` first.

    Args:
        records: their records; a companion of the engine.
        engine: the engine whose catalog has the actions.
    """

    def __init__(self, records: Records, engine: Engine) -> None:
        self._records, self._engine = records, engine
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def load(self) -> None:
        """Reads the records from the store."""
        await self._records.load()

    # --- what there is -----------------------------------------------------------------------

    def find(self, name: Name) -> Lambda | None:
        """The function of this name, if there is one."""
        action = self._engine.catalog.find(Action, name)
        function = None if action is None else function_of(action)
        if action is None or function is None or "Version" in function:
            return None
        return Lambda(action, function, self._records.record(action))

    def all(self, namespace: str) -> list[Lambda]:
        """The functions of a namespace, in order of name."""
        names = (action.name for action in self._engine.catalog.all(Action, namespace))
        found = (self.find(name) for name in names if name.package is None)
        return sorted(
            (function for function in found if function is not None), key=lambda one: one.name.name
        )

    def version(self, owner: Lambda, number: str) -> Action | None:
        """The action of a version, if it has been published and not been deleted."""
        if number not in map(str, owner.record.versions):
            return None
        return self._engine.catalog.find(Action, qualified(owner.name, number))

    def url(self, id: str) -> tuple[Lambda, str] | None:
        """The function and the qualifier that a URL belongs to."""
        found = self._records.url(id)
        owner = None if found is None else self.find(Name.parse(found[0]))
        return None if found is None or owner is None else (owner, found[1])

    # --- changes -----------------------------------------------------------------------------

    def changing(self, name: Name) -> asyncio.Lock:
        """The lock that a caller holds from reading a function to having changed it."""
        return self._locks.setdefault(str(name), asyncio.Lock())

    async def create(self, name: Name, revision: Revision, tags: dict[str, str]) -> Lambda:
        """Creates a function.

        Raises:
            RefusedError: an action has the name already, or the action cannot be put.
        """
        record = Record(published=self._records.published(name), tags=tags)
        return await self._put(name, revision, record, overwrite=False)

    async def update(self, owner: Lambda, revision: Revision) -> Lambda:
        """Replaces the code and the configuration of a function.

        Raises:
            RefusedError: another has changed the function in between, or the action cannot be put.
        """
        return await self._put(owner.name, revision, owner.record, overwrite=True)

    async def publish(self, owner: Lambda, description: str) -> Lambda:
        """Publishes a version of what a function is now, unless the last version is the same.

        Raises:
            RefusedError: another has changed the function in between.
        """
        made = await self._version(owner, description)
        if made is None:
            return owner
        change, record = made
        await self._commit(owner.name, change, record)
        return replace(owner, record=record)

    async def keep(self, owner: Lambda, record: Record) -> None:
        """Stores the record of a function.

        Raises:
            ConflictError: another has changed it in between.
        """
        await self._commit(owner.name, Change(None), record)

    async def remove(self, owner: Lambda) -> None:
        """Removes a function with its versions and its record. Executions that are under way fail.

        Raises:
            ConflictError: another has changed it in between.
        """
        versions = [self.version(owner, str(number)) for number in owner.record.versions]
        gone = (owner.action, *(action for action in versions if action is not None))
        await self._commit(owner.name, Change(owner.action, gone=gone), remnant(owner.record))

    async def remove_version(self, owner: Lambda, number: str) -> None:
        """Removes a version.

        Raises:
            ConflictError: another has changed it in between.
        """
        action, record = self.version(owner, number), owner.record
        policies, events = _without(record.policies, number), _without(record.events, number)
        left = tuple(one for one in record.versions if str(one) != number)
        record = replace(record, versions=left, policies=policies, events=events)
        gone = () if action is None else (action,)
        await self._commit(owner.name, Change(action, gone=gone), record)

    # --- inside ------------------------------------------------------------------------------

    async def _put(
        self, name: Name, revision: Revision, record: Record, *, overwrite: bool
    ) -> Lambda:
        made = document(revision.function, revision.kind, revision.archive)
        change = await self._engine.registry.defined(Action, name, made, overwrite=overwrite)
        after = Lambda(change.definition, revision.function, record)
        if revision.publication is not None:
            published = await self._version(after, revision.publication)
            if published is not None:
                change = replace(change, put=(*change.put, *published[0].put))
                after = replace(after, record=published[1])
        await self._commit(name, change, after.record, MODIFIED if overwrite else EXISTS)
        return after

    async def _version(self, owner: Lambda, description: str) -> tuple[Change, Record] | None:
        """The next version and the record with it; None if the last version is the same as the function."""
        record, source = owner.record, source_of(owner.function)
        if record.source == source and record.published in record.versions:
            return None
        number = record.published + 1
        code: Any = owner.action.exec
        function: Function = {
            **owner.function,
            "Description": description or owner.function["Description"],
            "Version": str(number),
            "FunctionArn": f"{owner.function['FunctionArn']}:{number}",
        }
        archive = await asyncio.to_thread(
            repacked, b64decode(code.text), code.kind, function["Handler"], environment(function)
        )
        name = qualified(owner.name, str(number))
        made = document(function, code.kind, archive)
        change = await self._engine.registry.defined(Action, name, made, overwrite=False)
        versions = (*record.versions, number)
        return change, replace(record, published=number, source=source, versions=versions)

    async def _commit(
        self, name: Name, change: Change, record: Record | None, otherwise: str = MODIFIED
    ) -> None:
        attached = self._records.kept(name, record)
        await self._engine.registry.change(change, otherwise, attached)


def _without(by_qualifier: dict[str, Any], qualifier: str) -> dict[str, Any]:
    return {name: value for name, value in by_qualifier.items() if name != qualifier}
