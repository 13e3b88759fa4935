"""Attributes and memos of executions: who declares them, and how an execution is given others.

Attributes are found by, so they are indexed in the commit that sets them. Those of a namespace are few: all are
in memory, in `Parts.attributes`, and each is a document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ...actions import (
    MAX_ATTRIBUTES,
    ConflictError,
    Document,
    ExecutionRow,
    InvalidError,
    NotFoundError,
    StartOptions,
    check_name,
    check_type,
    indexed,
)
from ...composer import ANNOTATED, NOTHING, ROOT, Changes, Entry
from .indexing import check_memo, checked, described, index_of, set_attributes
from .live import CONTINUED
from .turns import Turns
from .units import Unit, nothing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...composer import JSON
    from .core import Core
    from .live import LiveExecution
    from .recovery import Recovery
    from .stored_values import Stored
    from .units import Also

ATTRIBUTE = "attribute"  # documents of declared attributes, by namespace and name


class Annotations:
    """Declares attributes, checks those of a start, and changes those of an execution."""

    def __init__(self, core: Core, recovery: Recovery) -> None:
        self._parts, self._tick, self._recovery = core.parts, core.tick, recovery
        self._chains = core.chains
        self.turns = Turns()

    async def load(self) -> None:
        """Reads all declarations from the store."""
        async for document in self._parts.store.documents(ATTRIBUTE):
            namespace, _, name = document.key.rpartition("/")
            declared = self._parts.attributes.setdefault(namespace, {})
            declared[name] = orjson.loads(document.body or b"")["type"]

    # --- declarations ------------------------------------------------------------------------

    def declared(self, namespace: str) -> list[Stored]:
        """The attributes of a namespace, by name."""
        return [
            {"name": name, "type": type}
            for name, type in sorted(self._parts.attributes.get(namespace, {}).items())
        ]

    def attribute(self, namespace: str, name: str) -> Stored:
        """One attribute.

        Raises:
            NotFoundError: it is not declared.
        """
        declared = self._parts.attributes.get(namespace, {})
        if name not in declared:
            raise NotFoundError(f"The attribute '{name}' is not declared in this namespace.")
        return {"name": name, "type": declared[name]}

    async def declare(self, namespace: str, name: str, type: JSON) -> Stored:
        """Declares an attribute. One that is declared with this type stays as it is.

        Raises:
            InvalidError: the name or the type is not valid, or the namespace has as many as it may.
            ConflictError: it is declared with another type.
        """
        check_name(name)
        type = check_type(type)
        declared = self._parts.attributes.setdefault(namespace, {})
        before = declared.get(name)
        if before not in (None, type):
            raise ConflictError(
                f"The attribute '{name}' is declared as {before}. Delete it first: executions are then "
                "no longer found by the values they have."
            )
        if before is None:
            if len(declared) >= MAX_ATTRIBUTES:
                raise InvalidError(
                    f"A namespace has at most {MAX_ATTRIBUTES} attributes: delete one first."
                )
            await self._put(namespace, name, orjson.dumps({"type": type}))
            declared[name] = type
        return {"name": name, "type": type}

    async def remove(self, namespace: str, name: str) -> Stored:
        """Deletes an attribute. Executions keep the values that they have, and are not found by them.

        Raises:
            NotFoundError: it is not declared.
        """
        found = self.attribute(namespace, name)
        await self._put(namespace, name, None)
        self._parts.attributes[namespace].pop(name, None)
        return found

    async def _put(self, namespace: str, name: str, body: bytes | None) -> None:
        self._tick.ensure()
        unit = Unit()
        unit.write.documents.append(Document(kind=ATTRIBUTE, key=f"{namespace}/{name}", body=body))
        await self._tick.submit(unit)

    # --- executions --------------------------------------------------------------------------

    def check(self, namespace: str, options: StartOptions) -> None:
        """Checks the attributes and the memo of a start.

        Raises:
            InvalidError: an attribute is not declared, or a value does not fit.
            TooLargeError: the memo is too large.
        """
        if options.attributes:
            indexed(options.attributes, self._parts.attributes.get(namespace, {}))
        if options.memo is not None:
            check_memo(options.memo)

    async def annotate(
        self,
        namespace: str,
        id: str,
        attributes: Mapping[str, JSON],
        memo: JSON = NOTHING,
        also: Also = nothing,
    ) -> Stored:
        """Sets attributes of an execution, which may have ended; None removes one. `memo` replaces its memo.

        `also` adds to the commit of the change.

        Returns:
            Its attributes and its memo.

        Raises:
            NotFoundError: the namespace has no such execution.
            InvalidError: an attribute is not declared, or a value does not fit.
            TooLargeError: the memo is too large.
            ConflictError: it is an express execution that has not ended, which is in memory only.
        """
        self._tick.ensure()
        given = checked(self._parts, namespace, attributes)
        other = {} if memo is NOTHING else {"memo": memo}
        if other:
            check_memo(memo)
        async with self.turns.of(
            id
        ):  # of two for one that has ended, the second reads what the first has written
            found = await self._annotated(namespace, id, given, other)
            also(self._tick.gathering.write)
            self._tick.wake()
            await self._tick.committed()
        return {"attributes": found.attributes, "memo": found.memo}

    async def _annotated(
        self, namespace: str, id: str, given: Mapping[str, JSON], memo: Mapping[str, JSON]
    ) -> StartOptions:
        """Changes an execution in the unit that gathers; nothing is awaited after that."""
        while True:
            run = await self._recovery.found(id)
            if run is not None:
                return self._annotated_live(namespace, run, given, memo)
            await self._tick.committed()  # its end may be on the way to the store
            saved = await self._parts.store.load(id)
            if saved is None or saved.execution.namespace != namespace:
                raise NotFoundError
            if saved.execution.status == CONTINUED:
                id = await self._chains.newest(id)
                continue
            if saved.execution.ended_ms is not None and id not in self._parts.runs:
                return self._annotated_row(saved.execution, given, memo)

    def _annotated_live(
        self,
        namespace: str,
        run: LiveExecution,
        given: Mapping[str, JSON],
        memo: Mapping[str, JSON],
    ) -> StartOptions:
        if run.origin.namespace != namespace:
            raise NotFoundError
        if run.origin.express:
            raise ConflictError(f"Execution {run.id} is express: annotate it when it has ended.")
        write, now_ms = self._tick.gathering.write, run.now_ms(self._parts.clock)
        set_attributes(run, given, self._parts, write, **memo)
        if not run.origin.solo:
            entry = Entry(now_ms, ROOT, 0, ANNOTATED, {"by": "operator"}, dict(given))
            run.write(Changes(entries=[entry]), write)
        return run.origin.options

    def _annotated_row(
        self, row: ExecutionRow, given: Mapping[str, JSON], memo: Mapping[str, JSON]
    ) -> StartOptions:
        body = orjson.loads(row.body)
        options = described(StartOptions.from_json(body.get("options", {})), given, memo)
        body["options"] = options.to_json()
        write = self._tick.gathering.write
        write.executions.append(row._replace(body=orjson.dumps(body)))
        write.indexed.append(index_of(self._parts, row.id, row.namespace, row.started_ms, options))
        return options
