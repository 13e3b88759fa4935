"""Who calls: Basic authentication with a namespace's uuid and key. Keys are kept as hashes."""

from __future__ import annotations

import base64
import hmac
import re
import secrets
import uuid
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import orjson

from actions import Document, Write
from composer import Error

from .errors import ForbiddenError, UnauthorizedError

if TYPE_CHECKING:
    from starlette.requests import Request

    from actions import Store

NAMESPACE = "namespace"  # documents of namespaces, by uuid
GUEST = "guest"
KEY_CHARACTERS = 64
MIN_KEY_CHARACTERS = 8
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_CREDENTIALS = re.compile(r"[\w.-]{1,128}:[!-~]{8,256}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace and the hash of its key."""

    name: str
    uuid: str
    key_hash: str


class AuthError(Error):
    """Credentials that cannot be used; the text says what they must be."""


class Authenticator:
    """Knows the namespaces and their keys."""

    def __init__(self, namespaces: list[Namespace]) -> None:
        self._namespaces = {namespace.uuid: namespace for namespace in namespaces}

    def namespace(self, request: Request) -> str:
        """The namespace whose key the request shows.

        Raises:
            UnauthorizedError: with OpenWhisk's text.
        """
        header = request.headers.get("authorization")
        if header is None:
            raise UnauthorizedError(
                "The resource requires authentication, which was not supplied with the request"
            )
        scheme, _, encoded = header.partition(" ")
        try:
            user, _, key = base64.b64decode(encoded, validate=True).decode().partition(":")
        except ValueError:  # it is no base64, or no text
            user, key = "", ""
        found = self._namespaces.get(user)
        expected = found.key_hash if found else ""
        if scheme.lower() != "basic" or not hmac.compare_digest(_hash(key), expected):
            raise UnauthorizedError("The supplied authentication is invalid")
        assert found is not None  # noqa: S101  its hash is not empty
        return found.name

    def own(self, request: Request) -> str:
        """The caller's namespace, which must be the one that the path names, or `_`.

        Raises:
            UnauthorizedError: when the caller is nobody we know.
            ForbiddenError: when the path names another namespace.
        """
        caller = self.namespace(request)
        named = request.path_params["namespace"]
        if named not in ("_", caller):
            raise ForbiddenError(
                "The supplied authentication is not authorized to access "
                f"'{named}/{request.path_params.get('name', '')}'."
            )
        return caller


async def open_authenticator(
    store: Store, credentials: str | None
) -> tuple[Authenticator, str | None]:
    """The authenticator of a store, and the credentials that are new and must be shown once.

    Args:
        store: where namespaces are.
        credentials: `uuid:key` for the first namespace, in place of what it had.

    Raises:
        AuthError: when `credentials` are not of that form.
    """
    namespaces = []
    async for document in store.documents(NAMESPACE):
        doc = orjson.loads(document.body or b"")
        namespaces.append(Namespace(doc["name"], document.key, doc["key_hash"]))
    if credentials is None and namespaces:
        return Authenticator(namespaces), None
    shown = None
    if credentials is None:
        key = "".join(secrets.choice(_ALPHABET) for _ in range(KEY_CHARACTERS))
        credentials = shown = f"{uuid.UUID(bytes=secrets.token_bytes(16), version=4)}:{key}"
    if not _CREDENTIALS.fullmatch(credentials):
        raise AuthError(
            "--auth must be uuid:key, the key of at least "
            f"{MIN_KEY_CHARACTERS} printable characters without spaces"
        )
    user, _, key = credentials.partition(":")
    others = [namespace for namespace in namespaces if namespace.name != GUEST]
    guest = Namespace(GUEST, user, _hash(key))
    if guest not in namespaces:
        await _store(store, guest, [n for n in namespaces if n.name == GUEST and n.uuid != user])
    return Authenticator([*others, guest]), shown


async def _store(store: Store, namespace: Namespace, replaced: list[Namespace]) -> None:
    body = orjson.dumps({"name": namespace.name, "key_hash": namespace.key_hash})
    write = Write(documents=[Document(kind=NAMESPACE, key=namespace.uuid, body=body)])
    for old in replaced:
        write.documents.append(Document(kind=NAMESPACE, key=old.uuid, body=None))
    await store.commit([write])


def _hash(key: str) -> str:
    """Keys are long and random, so one round of SHA-256 keeps them."""
    return sha256(key.encode()).hexdigest()
