"""Settings that operators give to names of a namespace, such as its queues and limits. Each is a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import orjson

from ...actions import Document, Write
from .units import Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...actions import Store
    from ...composer import JSON
    from .tick import Tick

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Form(Generic[Value]):
    """The form of settings.

    Args:
        kind: of their documents.
        check: raises an InvalidError for a name that cannot have any.
        read: reads a document; raises an InvalidError that names a malformed member.
        show: writes settings as the document that sets them.
    """

    kind: str
    check: Callable[[str], object]
    read: Callable[[JSON], Value]
    show: Callable[[Value], Mapping[str, JSON]]


class NamedSettings(Generic[Value]):
    """Settings of one form, by namespace and name."""

    def __init__(self, form: Form[Value], store: Store, tick: Tick) -> None:
        self._form, self._store, self._tick = form, store, tick
        self._values: dict[tuple[str, str], Value] = {}

    async def load(self) -> None:
        """Reads them from the store."""
        async for document in self._store.documents(self._form.kind):
            _, namespace, name = document.key.split("/", 2)
            self._values[namespace, name] = self._form.read(orjson.loads(document.body or b"{}"))

    def get(self, namespace: str, name: str) -> Value | None:
        """The settings of a name; None if none were set."""
        return self._values.get((namespace, name))

    def named(self, namespace: str) -> set[str]:
        """The names of a namespace that have settings."""
        return {name for of, name in self._values if of == namespace}

    async def put(self, namespace: str, name: str, doc: JSON) -> None:
        """Sets those of a name.

        Raises:
            InvalidError: the name or a member is malformed. The message names it.
        """
        self._form.check(name)
        value = self._form.read(doc)
        await self._keep(namespace, name, orjson.dumps(self._form.show(value)))
        self._values[namespace, name] = value

    async def remove(self, namespace: str, name: str) -> bool:
        """Removes those of a name. Returns False if there were none."""
        if (namespace, name) not in self._values:
            return False
        await self._keep(namespace, name, None)
        self._values.pop((namespace, name), None)
        return True

    async def _keep(self, namespace: str, name: str, body: bytes | None) -> None:
        document = Document(kind=self._form.kind, key=f"/{namespace}/{name}", body=body)
        await self._tick.submit(Unit(Write(documents=[document])))
