"""Secrets: credentials that actions use to sign in to other services, by namespace and name.

Secrets can be set, listed and deleted, never read. They are sealed with the whole store: see `infra/service/keys.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ...actions import Document, InvalidError, NotFoundError, Write
from ...composer import Error, check_part

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...actions import Clock, Store
    from ...composer import JSON

KIND = "credential"  # documents of secrets, by namespace and name
EVERYBODY = "*"
AMBIENT = "ambient"  # the name that stands for the server's own credentials, as in `adapters`


class SecretStore:
    """Holds the secrets of all namespaces. Call `load` first.

    Args:
        store: store of the secrets.
        clock: source of time.
        ambient: names of the namespaces whose actions may use the server's own credentials.
    """

    def __init__(self, store: Store, clock: Clock, ambient: frozenset[str]) -> None:
        self._store, self._clock, self._ambient = store, clock, ambient
        self._secrets: dict[tuple[str, str], tuple[JSON, int]] = {}

    async def load(self) -> None:
        """Reads the secrets from the store."""
        async for document in self._store.documents(KIND):
            doc = orjson.loads(document.body or b"")
            namespace, _, name = document.key.partition("/")
            self._secrets[namespace, name] = doc["parameters"][0], doc["updated"]

    def find(self, namespace: str, name: str) -> JSON:
        return self._secrets.get((namespace, name), (None, 0))[0]

    def ambient(self, namespace: str) -> bool:
        return is_among(self._ambient, namespace)

    def list(self, namespace: str) -> list[dict[str, JSON]]:
        """Names, types and dates of a namespace's secrets."""
        return [
            {"name": name, "type": _type(secret), "updated": updated_ms}
            for (owner, name), (secret, updated_ms) in sorted(self._secrets.items())
            if owner == namespace
        ]

    async def put(
        self, namespace: str, name: str, secret: JSON, check: Callable[[JSON], object]
    ) -> None:
        """Sets or replaces a secret; `check` raises an Error for a malformed secret.

        Raises:
            InvalidError: the name or the secret is malformed.
        """
        check_part(name)
        if name == AMBIENT or "/" in name:
            raise InvalidError(
                f"The name {name!r} cannot be used for a secret: '{AMBIENT}' stands for the server's own "
                "credentials, and a name has no '/'."
            )
        try:
            check(secret)
        except Error as error:
            raise InvalidError(str(error)) from None
        now_ms = self._clock.now_ms()
        key = f"{namespace}/{name}"
        doc = {"parameters": [secret], "updated": now_ms}  # the form that older versions read
        document = Document(kind=KIND, key=key, body=orjson.dumps(doc))
        await self._store.commit([Write(documents=[document])])
        self._secrets[namespace, name] = secret, now_ms

    async def delete(self, namespace: str, name: str) -> None:
        """Deletes a secret.

        Raises:
            NotFoundError: no secret has this name.
        """
        if (namespace, name) not in self._secrets:
            raise NotFoundError
        document = Document(kind=KIND, key=f"{namespace}/{name}", body=None)
        await self._store.commit([Write(documents=[document])])
        self._secrets.pop((namespace, name), None)


def _type(secret: JSON) -> str:
    return str(secret.get("type")) if isinstance(secret, dict) else "basic"


def is_among(named: frozenset[str], namespace: str) -> bool:
    """True if a setting that lists namespaces includes this one, by name or by `*`."""
    return EVERYBODY in named or namespace in named
