"""Changes to the catalog: each is committed, then applied."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson

from ...actions import (
    INACTIVE,
    Action,
    Catalog,
    Change,
    Code,
    ConflictError,
    Document,
    Rule,
    definition_from_json,
    deployment_of,
    planned,
)
from .hooks import Attachment
from .programs import program_document
from .units import Unit

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from ...actions import Definition, Plan
    from ...composer import JSON, Name
    from .hooks import Companion
    from .shared import Parts
    from .tick import Tick

DEFINITION = "entity"  # documents of actions, packages, triggers and rules, by full name
LARGE_CODE = 1 << 20  # characters, and instructions, from which on a thread writes them
LARGE_PROGRAM = 100
EXISTS = "resource already exists"
MODIFIED = "Concurrent modification to resource detected."

Beside: TypeAlias = "Callable[[Plan, Catalog], tuple[Plan, Attachment]]"
"""Adds to the plan of a deployment; the catalog is as it will be."""


def _alone(plan: Plan, _: Catalog) -> tuple[Plan, Attachment]:
    return plan, Attachment()


class Registry:
    """Puts and removes actions, packages, triggers and rules."""

    def __init__(self, parts: Parts, tick: Tick, companions: Sequence[Companion] = ()) -> None:
        self._parts, self._tick, self._catalog = parts, tick, parts.catalog
        self._companions = companions
        self._versions: dict[str, int] = {}

    async def load(self) -> None:
        """Fills the catalog from the store."""
        async for document in self._parts.store.documents(DEFINITION):
            doc = orjson.loads(document.body or b"")
            entity = definition_from_json(doc)
            self._catalog.apply(Change(entity, (entity,)))
            self._versions[document.key] = document.version

    async def put(self, kind: type[Any], name: Name, doc: JSON, *, overwrite: bool) -> Any:
        """Creates or updates the entity of this kind and name. Returns it.

        Raises:
            RefusedError: when it is malformed, too large, there already, or changed by another.
        """
        change = await self.defined(kind, name, doc, overwrite=overwrite)
        return await self.change(change, MODIFIED if overwrite else EXISTS)

    async def defined(
        self, kind: type[Any], name: Name, doc: JSON, *, overwrite: bool, now_ms: int | None = None
    ) -> Change:
        """The change that a PUT of the entity of this kind and name is. A large one is read on a thread.

        Raises:
            RefusedError: when it is malformed, too large, there already, or changed by another meanwhile.
        """
        key = str(name)
        version = self._versions.get(key, 0)
        now_ms = self._parts.clock.now_ms() if now_ms is None else now_ms
        read = partial(self._catalog.defined, kind, name, doc, overwrite=overwrite, now_ms=now_ms)
        change = await self._parts.threads.weigh(doc, read)
        if self._versions.get(key, 0) != version:
            raise ConflictError(MODIFIED if overwrite else EXISTS)
        return change

    async def deploy(
        self, namespace: str, doc: JSON, *, dry_run: bool, beside: Beside = _alone
    ) -> Plan:
        """Deploys all actions of a document in one commit, or none. A dry run changes nothing.

        Args:
            namespace: that they are in.
            doc: the document.
            dry_run: True to change nothing.
            beside: adds to the plan what else is deployed, of which it returns the attachment.

        Raises:
            RefusedError: when a definition is malformed, or changed by another.
        """
        staged, versions = Catalog.staged(self._catalog, namespace), dict(self._versions)
        now_ms = self._parts.clock.now_ms()
        plan: Plan = await self._parts.threads.weigh(
            doc, lambda: planned(staged, namespace, deployment_of(doc, namespace), now_ms)
        )
        changed = (*plan.change.put, *plan.change.gone)
        if any(versions.get(key) != self._versions.get(key) for key in map(_key, changed)):
            raise ConflictError(MODIFIED)
        plan, attachment = beside(plan, staged)
        if (changed or attachment.documents) and not dry_run:
            await self.change(plan.change, beside=(attachment,))
        return plan

    async def remove(self, kind: type[Any], name: Name, *, force: bool = False) -> Any:
        """Deletes the entity of this kind and name. Returns it.

        Raises:
            RefusedError: when there is none, it is a package that is not empty, or changed by another.
        """
        return await self.change(self._catalog.removed(kind, name, force=force))

    async def set_status(self, name: Name, status: JSON) -> Rule:
        """Activates or deactivates a rule. Returns it.

        Raises:
            RefusedError: when the status is not valid, there is no such rule, or its trigger is gone.
        """
        now_ms = self._parts.clock.now_ms()
        rule: Rule = await self.change(self._catalog.status_set(name, status, now_ms))
        return rule

    def deactivate(self, name: Name) -> None:
        """Has a transient rule become inactive soon, in a commit of its own; what others change meanwhile stays."""
        rule = self._catalog.find(Rule, name)
        if rule is None or not (rule.active and rule.transient):
            return
        off = replace(rule, status=INACTIVE, updated_ms=self._parts.clock.now_ms())
        change = Change(off, (off,))
        attachments = self._attached(change)
        expected = {str(name): self._versions[str(name)]}
        documents, _ = self._documents(change, expected)
        unit = Unit()
        unit.write.documents += documents
        for attachment in attachments:
            unit.write.documents += attachment.documents
        unit.effects.append(partial(self._apply, change, documents, attachments))
        taken = self._tick.submit(unit)
        taken.add_done_callback(partial(self._deactivated, name, expected))

    def _deactivated(
        self, name: Name, expected: dict[str, int], taken: asyncio.Future[bool]
    ) -> None:
        """The store has refused it if somebody else has changed the rule: what is there now is deactivated if it may."""
        changed = self._versions.get(str(name)) != expected[str(name)]
        if not taken.cancelled() and not taken.result() and changed:
            self.deactivate(name)

    async def change(
        self,
        change: Change,
        otherwise: str = MODIFIED,
        attached: Attachment | None = None,
        beside: Sequence[Attachment] = (),
    ) -> Any:
        """Commits a change and applies it. Returns its entity.

        Args:
            change: to entities; to none, when only the attachment is to be committed.
            otherwise: the text of the error.
            attached: the attachment; None for those of the companions.
            beside: further attachments.

        Raises:
            ConflictError: when another has changed the same in between.
            UnavailableError: when the store does not commit.
        """
        self._tick.ensure()
        attachments = [*(self._attached(change) if attached is None else (attached,)), *beside]
        expected = {  # as of now: others may change them while these are written
            str(entity.name): self._versions.get(str(entity.name), 0)
            for entity in (*change.put, *change.gone)
        }
        write = partial(self._documents, change, expected)
        if any(map(_is_large, change.put)):
            documents, programs = await self._parts.threads.run(write)
        else:
            documents, programs = write()
        unit = Unit(alone=True)
        unit.write.documents += documents
        unit.write.documents += programs
        for attachment in attachments:
            unit.write.documents += attachment.documents
        if unit.write.documents:
            unit.effects.append(partial(self._apply, change, documents, attachments))
            if not await self._tick.submit(unit, patient=False):
                raise ConflictError(otherwise)
        return change.definition

    def _attached(self, change: Change) -> Sequence[Attachment]:
        return [companion(change) for companion in self._companions]

    def _documents(
        self, change: Change, expected: dict[str, int]
    ) -> tuple[list[Document], list[Document]]:
        """The documents of a change: its entities, and the programs of those that are put."""
        put = {str(entity.name) for entity in change.put}
        gone = [entity for entity in change.gone if str(entity.name) not in put]
        documents = [
            self._document(entity, expected, gone=is_gone)
            for entities, is_gone in ((change.put, False), (gone, True))
            for entity in entities
        ]
        programs = [
            program_document(program)
            for entity in change.put
            if isinstance(entity, Action)
            for program in entity.programs
        ]
        return documents, programs

    def _document(self, entity: Definition, expected: dict[str, int], *, gone: bool) -> Document:
        key = str(entity.name)
        body = None
        if not gone:
            body = orjson.dumps(entity.to_json())
        return Document(kind=DEFINITION, key=key, body=body, expected=expected[key])

    def _apply(
        self, change: Change, documents: list[Document], attachments: Sequence[Attachment]
    ) -> None:
        self._catalog.apply(change)
        for document in documents:
            if document.body is None:
                self._versions.pop(document.key, None)
            else:
                self._versions[document.key] = (document.expected or 0) + 1
        for attachment in attachments:
            attachment.applied()


def _key(entity: Definition) -> str:
    return str(entity.name)


def _is_large(entity: Definition) -> bool:
    """True if it takes long to write: code is one text, and a program many instructions."""
    if not isinstance(entity, Action):
        return False
    code = entity.exec.text if isinstance(entity.exec, Code) else ""
    steps = sum(len(program.instructions) for program in entity.programs)
    return len(code) > LARGE_CODE or steps > LARGE_PROGRAM
