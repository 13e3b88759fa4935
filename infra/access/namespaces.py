"""Namespaces: their credentials and limits.

The store holds the key itself, sealed like everything else: clients that sign requests as AWS clients do
never send the key, so a hash is not enough to check them. Older versions stored only the hash; for such a
namespace the key is stored when a client next sends it.

A namespace also has short-lived keys, with which its actions call back. They are signed, not stored.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
import uuid
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING

import orjson

from ...actions import (
    SYSTEM,
    ConflictError,
    Document,
    InvalidError,
    NotFoundError,
    Quotas,
    UnavailableError,
    Write,
)
from ...composer import Error, check_part
from .minting import Minter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...actions import Clock, Store

CREDENTIALS = "credentials"  # field of a document that holds the key
KIND = "namespace"  # documents of namespaces, by uuid
GUEST = "guest"
OPERATOR = SYSTEM
KEY_CHARACTERS = 64
MIN_KEY_CHARACTERS = 8
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_CREDENTIALS = re.compile(r"[\w.-]{1,128}:[!-~]{8,256}", re.ASCII)


class IsolationError(Error):
    """Namespaces are not isolated well enough from each other; the text says what to do."""


class AuthError(Error):
    """Credentials cannot be used; the text says what they must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A namespace, the hash of its key ("" once it is deleted), and its own limits.

    `key` is None if only the hash is known.
    """

    name: str
    uuid: str
    key_hash: str
    key: str | None = field(default=None, repr=False)
    limits: dict[str, int] = field(default_factory=dict)

    @property
    def deleted(self) -> bool:
        return not self.key_hash


LIMITS = {  # limit: its quota. The first three are spelled as in OpenWhisk's UserLimits
    "invocationsPerMinute": "per_minute",
    "concurrentInvocations": "concurrent",
    "firesPerMinute": "fires_per_minute",
    "liveExecutions": "live",
    "descendants": "descendants",
}


class Namespaces:
    """Holds all namespaces. Call `load` first.

    Args:
        store: store of the namespaces.
        clock: source of time.
        quotas: quotas of a namespace without limits of its own.
        secret: secret of this service, which signs its actions' keys.
    """

    def __init__(self, store: Store, clock: Clock, quotas: Quotas, secret: bytes) -> None:
        self._store, self._defaults = store, quotas
        self.minter = Minter(secret, clock)
        self._changing = asyncio.Lock()
        self._seen: set[str] = set()  # names of namespaces whose key is not stored yet
        self._by_uuid: dict[str, Namespace] = {}
        self._by_name: dict[str, Namespace] = {}
        self._quotas: dict[str, Quotas] = {}
        self._alone = ""
        self.changes = (
            0  # grows with each change of a namespace: what was proved before may not hold
        )

    async def load(self, alone: str = "") -> None:
        """Reads the namespaces from the store.

        Args:
            alone: reason to allow only one namespace besides the operator's; "" to allow more.

        Raises:
            IsolationError: the store has more namespaces than allowed.
        """
        async for document in self._store.documents(KIND):
            doc = orjson.loads(document.body or b"")
            key = doc.pop(CREDENTIALS, None)
            self._take(Namespace(uuid=document.key, key=key, **doc))
        self._alone = alone
        users = [namespace.name for namespace in self.list() if namespace.name != OPERATOR]
        if alone and len(users) > 1:
            raise IsolationError(
                f"the store has {len(users)} namespaces ({', '.join(users)}), but {alone}"
            )

    def _take(self, namespace: Namespace) -> None:
        self.changes += 1
        before = self._by_name.get(namespace.name)
        if before is not None and before.uuid != namespace.uuid:
            del self._by_uuid[before.uuid]
        self._by_uuid[namespace.uuid] = self._by_name[namespace.name] = namespace
        changes = {LIMITS[limit]: value for limit, value in namespace.limits.items()}
        self._quotas[namespace.name] = replace(self._defaults, **changes)

    # --- authentication ----------------------------------------------------------------------

    def authenticated(self, user: str, key: str) -> str | None:
        """The name of the namespace with this uuid and key; None if they match no namespace."""
        found = self._by_uuid.get(user)
        if found is None:
            hmac.compare_digest(hash_of(key), "")
            return None
        if hmac.compare_digest(hash_of(key), found.key_hash):
            if found.key is None:
                self._take(replace(found, key=key))
                self._seen.add(found.name)
            return found.name
        minted = not found.deleted and self.minter.proves(user, found.key_hash, key)
        return found.name if minted else None

    def signer(self, user: str, session: str | None = None) -> tuple[str, str | None] | None:
        """The namespace with this uuid and its signing key (None if only the hash is stored).

        `session` is the start of a minted key; the whole minted key signs, until it expires. Returns None
        if nobody can sign with this uuid and session.
        """
        found = self._by_uuid.get(user)
        if found is None or found.deleted:
            return None
        if session is None:
            return found.name, found.key
        key = self.minter.signing_key(user, found.key_hash, session)
        return None if key is None else (found.name, key)

    @property
    def unkept(self) -> bool:
        """True if there are keys for `keep` to store."""
        return bool(self._seen)

    async def keep(self) -> None:
        """Stores the keys that clients have sent for namespaces with only a stored hash."""
        async with self._changing:
            for name in sorted(self._seen):
                try:
                    await self._store.commit([self._written(self._by_name[name])])
                except UnavailableError:
                    return  # the next call tries again
                self._seen.discard(name)

    def action_key(self, name: str, deadline_ms: int) -> str:
        """Credentials for an action that runs in a namespace until a deadline (ms since the epoch)."""
        namespace = self._by_name.get(name)
        if namespace is None or namespace.deleted:
            return ""
        return self.minter.key(namespace.uuid, namespace.key_hash, deadline_ms)

    def quotas(self, name: str) -> Quotas:
        """The quotas of a namespace."""
        return self._quotas.get(name, self._defaults)

    # --- administration ----------------------------------------------------------------------

    def list(self) -> list[Namespace]:
        """All namespaces, in order of name."""
        found = [namespace for namespace in self._by_name.values() if not namespace.deleted]
        return sorted(found, key=lambda namespace: namespace.name)

    def get(self, name: str) -> Namespace:
        """The namespace of this name.

        Raises:
            NotFoundError: no namespace has this name.
        """
        found = self._by_name.get(name)
        if found is None or found.deleted:
            raise NotFoundError(f"The namespace {name!r} does not exist.")
        return found

    async def create(
        self, name: str, limits: dict[str, int], credentials: str | None = None
    ) -> str:
        """Creates a namespace. Returns its credentials.

        Raises:
            InvalidNameError, InvalidError, AuthError: the name, a limit or the credentials are malformed.
            ConflictError: the name is or was in use, or no further namespace is allowed.
        """
        check_part(name)
        known = self._by_name.get(name)
        if known is not None:
            past = "was deleted, but its records remain" if known.deleted else "already exists"
            raise ConflictError(f"The namespace {name!r} {past}: choose another name.")
        others = {namespace.name for namespace in self.list()} - {OPERATOR}
        if self._alone and others and name != OPERATOR:
            raise ConflictError(f"The namespace {name!r} is not created: {self._alone}.")
        return await self._put(name, credentials, _checked(limits))

    async def rotate(
        self, name: str, credentials: str | None = None, beside: Iterable[Document] = ()
    ) -> str:
        """Replaces the credentials of a namespace and returns the new ones; the old stop working.

        The documents `beside` are written in the same commit.
        """
        return await self._put(name, credentials, self.get(name).limits, beside)

    async def limit(self, name: str, limits: dict[str, int]) -> Namespace:
        """Replaces the limits of a namespace.

        Raises:
            InvalidError: a limit is unknown or malformed.
        """
        namespace = replace(self.get(name), limits=_checked(limits))
        await self._commit(namespace)
        return namespace

    async def delete(self, name: str, beside: Iterable[Document] = ()) -> None:
        """Deletes a namespace: its key stops working and its name cannot be used again.

        The documents `beside` are written in the same commit.
        """
        await self._commit(replace(self.get(name), key_hash="", key=None), beside)

    async def _put(
        self,
        name: str,
        credentials: str | None,
        limits: dict[str, int],
        beside: Iterable[Document] = (),
    ) -> str:
        credentials = new_credentials() if credentials is None else credentials
        if not _CREDENTIALS.fullmatch(credentials):
            raise AuthError(
                "the credentials must be UUID:KEY, with a key of at least "
                f"{MIN_KEY_CHARACTERS} printable characters without spaces"
            )
        user, _, key = credentials.partition(":")
        taken = self._by_uuid.get(user)
        if taken is not None and taken.name != name:
            raise AuthError(
                f"the uuid of these credentials belongs to the namespace {taken.name!r}: use another uuid"
            )
        namespace = Namespace(name=name, uuid=user, key_hash=hash_of(key), key=key, limits=limits)
        if namespace != self._by_name.get(name):
            await self._commit(namespace, beside)
        return credentials

    async def _commit(self, namespace: Namespace, beside: Iterable[Document] = ()) -> None:
        async with self._changing:
            write = self._written(namespace)
            write.documents.extend(beside)
            await self._store.commit([write])
            self._take(namespace)

    def _written(self, namespace: Namespace) -> Write:
        doc = {
            "name": namespace.name,
            "key_hash": namespace.key_hash,
            "limits": namespace.limits,
        }
        if namespace.key is not None:
            doc[CREDENTIALS] = namespace.key
        body = orjson.dumps(doc)
        write = Write(documents=[Document(kind=KIND, key=namespace.uuid, body=body)])
        before = self._by_name.get(namespace.name)
        if before is not None and before.uuid != namespace.uuid:
            write.documents.append(Document(kind=KIND, key=before.uuid, body=None))
        return write


async def first_namespaces(
    namespaces: Namespaces, guest: str | None, operator: str | None
) -> tuple[str | None, str | None]:
    """Ensures that the namespaces `guest` and `whisk.system` (the operator's) exist.

    Args:
        namespaces: the existing namespaces.
        guest: new credentials of `guest`; None keeps its credentials, or generates them.
        operator: the same for `whisk.system`.

    Returns:
        The generated credentials of `guest` and of `whisk.system`; None if they were given or exist.
    """
    try:
        shown = await _ensured(namespaces, GUEST, guest)
    except AuthError as error:
        origin = "--auth-file, --auth, XINGQIAO_AUTH_FILE or XINGQIAO_AUTH"
        raise AuthError(f"{error} (the namespace {GUEST!r}; from {origin})") from error
    try:
        return shown, await _ensured(namespaces, OPERATOR, operator)
    except AuthError as error:
        raise AuthError(
            f"{error} (the operator's namespace {OPERATOR!r}; from XINGQIAO_OPERATOR)"
        ) from error


async def _ensured(namespaces: Namespaces, name: str, given: str | None) -> str | None:
    """Ensures that a namespace exists. Returns its credentials if they were generated now."""
    if name not in {namespace.name for namespace in namespaces.list()}:
        made = await namespaces.create(name, {}, given)
        return None if given else made
    if given is not None:
        await namespaces.rotate(name, given)
    return None


def new_credentials() -> str:
    """Random credentials, `uuid:key`."""
    key = "".join(secrets.choice(_ALPHABET) for _ in range(KEY_CHARACTERS))
    return f"{uuid.UUID(bytes=secrets.token_bytes(16), version=4)}:{key}"


def _checked(limits: dict[str, int]) -> dict[str, int]:
    for limit, value in limits.items():
        if limit not in LIMITS:
            raise InvalidError(f"The limit {limit!r} does not exist; use {', '.join(LIMITS)}.")
        if type(value) is not int or value < 0:
            raise InvalidError(
                f"The limit '{limit}' must be a whole number of 0 or more, not {value!r:.100}."
            )
    return limits


def hash_of(key: str) -> str:
    """Hash of a key. Keys are long and random, so one round of SHA-256 is enough."""
    return sha256(key.encode()).hexdigest()
