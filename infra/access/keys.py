"""Keys of namespaces: the key of each namespace, which is its admin key, and further keys with roles.

The namespace's own key stays in the namespace's document (`namespaces.py`), where older versions put it. Each
further key has a document of its own. A rotated key keeps its name and its role, gets a new id and a new
secret, and may leave the credentials before them valid for a while.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import orjson

from ...actions import ConflictError, Document, InvalidError, NotFoundError, UnavailableError, Write
from .minting import is_minted
from .namespaces import hash_of, new_credentials
from .proofs import Proofs
from .roles import Identity, Role

if TYPE_CHECKING:
    from ...actions import Clock, Store
    from ...composer import JSON
    from .namespaces import Namespaces

KIND = "access-key"  # documents of keys, by namespace and name
USE_KIND = "access-key-use"  # documents with the last use of a key, by namespace and name
OWN = "admin"  # name of the namespace's own key
ACTION = "action"  # name that stands for the keys of running actions
MAX_KEYS = 100  # of a namespace, without its own key
MAX_GRACE_MS = 30 * 24 * 3600 * 1000
USE_MS = 10 * 60 * 1000  # the stored time of the last use is at most this much too early
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_@.-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """An id and a secret that prove a key. They expire at `until_ms`, or never."""

    id: str
    key_hash: str
    key: str | None = field(repr=False)
    until_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessKey:
    """A key. `current` is None for the namespace's own key; `previous` is valid until its grace period ends.

    `created_ms` and `created_by` are of the key, not of its secrets.
    """

    namespace: str
    name: str
    role: Role
    created_ms: int | None = None
    created_by: str | None = None
    current: Secret | None = None
    previous: Secret | None = None

    @property
    def place(self) -> str:
        """The key of the document."""
        return f"{self.namespace}/{self.name}"


class Keys:
    """Holds the keys of all namespaces, and finds the key that a request proves. Call `load` first.

    Args:
        store: store of the keys.
        clock: source of time.
        namespaces: the loaded namespaces, with their own keys.
    """

    def __init__(self, store: Store, clock: Clock, namespaces: Namespaces) -> None:
        self._store, self._clock, self._namespaces = store, clock, namespaces
        self._changing = asyncio.Lock()
        self._keys: dict[str, AccessKey] = {}  # by place
        self._by_id: dict[str, tuple[Identity, Secret]] = {}
        self._owners: dict[str, Identity] = {}  # identities of namespaces' own keys, made once
        self._proofs = Proofs()
        self._used: dict[str, int] = {}  # by place
        self._stored_use: dict[str, int] = {}
        self._due: set[str] = set()  # places whose last use must be stored

    async def load(self) -> None:
        """Reads the keys from the store. Keys of deleted namespaces are left out."""
        names = {namespace.name for namespace in self._namespaces.list()}
        async for document in self._store.documents(KIND):
            namespace, _, name = document.key.partition("/")
            if namespace in names:
                self._take(_read(namespace, name, orjson.loads(document.body or b"")))
        async for document in self._store.documents(USE_KIND):
            self._used[document.key] = orjson.loads(document.body or b"")["used"]
        self._stored_use = dict(self._used)

    # --- authentication ----------------------------------------------------------------------

    def identify(self, id: str, key: str) -> Identity | None:
        """The key with this id and secret; None if they match no valid key.

        A proof is kept until any key or namespace changes, unless it expires by itself.
        """
        proved = self._proofs.find(id, key, self._namespaces.changes)
        return self._proved(id, key) if proved is None else self._noted(proved)

    def _proved(self, id: str, key: str) -> Identity | None:
        found = self._by_id.get(id)
        if found is not None:
            identity, secret = found
            if self._is_valid(secret):
                if hmac.compare_digest(hash_of(key), secret.key_hash):
                    if secret.until_ms is None:
                        self._proofs.add(id, key, identity)
                    return self._noted(identity)
                if identity.key == OWN and self._namespaces.minter.proves(id, secret.key_hash, key):
                    return _action(identity.namespace, id)
        namespace = self._namespaces.authenticated(id, key)
        if namespace is None:
            return None
        if is_minted(key):
            return _action(namespace, id)
        identity = self._owner(namespace, id)
        self._proofs.add(id, key, identity)
        return self._noted(identity)

    def signer(self, id: str, session: str | None = None) -> tuple[Identity, str | None] | None:
        """The key that signs with this id, and its secret (None if only the hash is stored).

        `session` is the start of an action's key. Returns None if nobody can sign with this id and session.
        """
        found = self._by_id.get(id)
        if found is not None and self._is_valid(found[1]):
            identity, secret = found
            if session is None:
                return identity, secret.key
            minter = self._namespaces.minter
            key = minter.signing_key(id, secret.key_hash, session) if identity.key == OWN else None
            return None if key is None else (_action(identity.namespace, id), key)
        signs = self._namespaces.signer(id, session)
        if signs is None:
            return None
        namespace, key = signs
        if session is not None:
            return _action(namespace, id), key
        return self._owner(namespace, id), key

    def name_of(self, id: str) -> str:
        """The namespace and the name of the key that has or had this id; "" if no key has."""
        found = self._by_id.get(id)
        if found is not None:
            return str(found[0])
        signs = self._namespaces.signer(id)
        return "" if signs is None else f"{signs[0]}/{OWN}"

    def note(self, identity: Identity) -> None:
        """Notes that a key was used now."""
        if identity.key != ACTION:
            self._noted(identity)

    def _owner(self, namespace: str, id: str) -> Identity:
        """The identity of a namespace's own key."""
        found = self._owners.get(namespace)
        if found is None or found.id != id:
            found = self._owners[namespace] = Identity(namespace, OWN, id, Role.ADMIN)
        return found

    def _noted(self, identity: Identity) -> Identity:
        now_ms, place = self._clock.now_ms(), identity.place
        self._used[place] = now_ms
        if now_ms - self._stored_use.get(place, 0) >= USE_MS:
            self._due.add(place)
        return identity

    def _is_valid(self, secret: Secret) -> bool:
        return secret.until_ms is None or self._clock.now_ms() < secret.until_ms

    @property
    def unkept(self) -> bool:
        """True if `keep` has something to store."""
        return bool(self._due) or self._namespaces.unkept

    async def keep(self) -> None:
        """Stores the times of last use, and the keys of namespaces that were only known by their hash."""
        if self._namespaces.unkept:
            await self._namespaces.keep()
        due, self._due = self._due, set()
        if not due:
            return
        used = {place: self._used[place] for place in sorted(due) if place in self._used}
        self._stored_use |= used
        documents = [
            Document(kind=USE_KIND, key=place, body=orjson.dumps({"used": at_ms}))
            for place, at_ms in used.items()
        ]
        try:
            await self._store.commit([Write(documents=documents)])
        except (UnavailableError, OSError):
            self._due |= due  # the next call tries again

    # --- administration ----------------------------------------------------------------------

    def list(self, namespace: str) -> list[dict[str, JSON]]:
        """The keys of a namespace in order of name, without their secrets.

        Raises:
            NotFoundError: no namespace has this name.
        """
        own = self._own(namespace)
        keys = {key.name: key for key in self._keys.values() if key.namespace == namespace}
        keys[OWN] = own
        return [self._shown(keys[name]) for name in sorted(keys)]

    def get(self, namespace: str, name: str) -> dict[str, JSON]:
        """A key without its secrets.

        Raises:
            NotFoundError: the namespace does not exist, or has no such key.
        """
        return self._shown(self._found(namespace, name))

    async def create(self, namespace: str, name: str, role: str, by: str) -> str:
        """Creates a key. Returns its credentials.

        Raises:
            InvalidError: the name or the role is malformed.
            ConflictError: the name is in use, or the namespace has too many keys.
            NotFoundError: no namespace has this name.
        """
        async with self._changing:
            self._namespaces.get(namespace)
            _check_name(name)
            if role not in {*Role}:
                raise InvalidError(f"The role must be one of {', '.join(Role)}, not {role!r:.80}.")
            names = {key.name for key in self._keys.values() if key.namespace == namespace}
            if name in names:
                raise ConflictError(f"The key '{name}' already exists: choose another name.")
            if len(names - {OWN}) >= MAX_KEYS:
                raise ConflictError(
                    f"The namespace has {MAX_KEYS} keys, which is the limit: revoke a key that is not used."
                )
            credentials = new_credentials()
            made = AccessKey(
                namespace=namespace, name=name, role=Role(role), created_ms=self._clock.now_ms(),
                created_by=by, current=_secret(credentials),
            )  # fmt: skip
            await self._commit(made)
            return credentials

    async def rotate(self, namespace: str, name: str, grace_ms: int) -> str:
        """Replaces the credentials of a key and returns the new ones.

        The credentials before them stay valid for the grace period; those of an earlier rotation end at once.

        Raises:
            InvalidError: the grace period is out of range.
            NotFoundError: the namespace does not exist, or has no such key.
        """
        if not 0 <= grace_ms <= MAX_GRACE_MS:
            raise InvalidError(
                f"The grace period must be 0 to {MAX_GRACE_MS // 1000} seconds, not {grace_ms / 1000:g}."
            )
        async with self._changing:
            key = self._found(namespace, name)
            until_ms = self._clock.now_ms() + grace_ms
            if key.current is None:
                own = self._namespaces.get(namespace)
                previous = Secret(
                    id=own.uuid, key_hash=own.key_hash, key=own.key, until_ms=until_ms
                )
                rotated = replace(key, previous=previous if grace_ms else None)
                credentials = await self._namespaces.rotate(namespace, beside=[_written(rotated)])
                self._take(rotated)
                return credentials
            credentials = new_credentials()
            previous = replace(key.current, until_ms=until_ms)
            await self._commit(
                replace(key, current=_secret(credentials), previous=previous if grace_ms else None)
            )
            return credentials

    async def revoke(self, namespace: str, name: str) -> dict[str, JSON]:
        """Deletes a key, which stops working at once. Returns the key without its secrets.

        Raises:
            ConflictError: the key is the namespace's own.
            NotFoundError: the namespace does not exist, or has no such key.
        """
        async with self._changing:
            key = self._found(namespace, name)
            if name == OWN:
                raise ConflictError(
                    f"The key '{OWN}' is the namespace's own and cannot be revoked: rotate it with a grace "
                    "period of 0, and its credentials stop working at once."
                )
            shown = self._shown(key)
            await self._store.commit([Write(documents=_gone([key.place]))])
            self._drop(key.place)
            return shown

    async def delete_namespace(self, namespace: str) -> None:
        """Deletes a namespace and all its keys, which stop working at once."""
        async with self._changing:
            places = {key.place for key in self._keys.values() if key.namespace == namespace}
            places.add(f"{namespace}/{OWN}")
            await self._namespaces.delete(namespace, beside=_gone(sorted(places)))
            for place in places:
                self._drop(place)

    def _own(self, namespace: str) -> AccessKey:
        self._namespaces.get(namespace)
        own = AccessKey(namespace=namespace, name=OWN, role=Role.ADMIN)
        return self._keys.get(own.place, own)

    def _found(self, namespace: str, name: str) -> AccessKey:
        own = self._own(namespace)
        found = own if name == OWN else self._keys.get(f"{namespace}/{name}")
        if found is None:
            raise NotFoundError(f"The namespace has no key '{name:.80}'.")
        return found

    async def _commit(self, key: AccessKey) -> None:
        await self._store.commit([Write(documents=[_written(key)])])
        self._take(key)

    def _take(self, key: AccessKey) -> None:
        self._proofs.forget()
        self._forget_ids(key.place)
        self._keys[key.place] = key
        for secret in (key.current, key.previous):
            if secret is not None:
                identity = Identity(key.namespace, key.name, secret.id, key.role)
                self._by_id[secret.id] = identity, secret

    def _drop(self, place: str) -> None:
        self._proofs.forget()
        self._forget_ids(place)
        self._keys.pop(place, None)
        self._used.pop(place, None)
        self._stored_use.pop(place, None)
        self._due.discard(place)

    def _forget_ids(self, place: str) -> None:
        before = self._keys.get(place)
        for secret in () if before is None else (before.current, before.previous):
            if secret is not None:
                self._by_id.pop(secret.id, None)

    def _shown(self, key: AccessKey) -> dict[str, JSON]:
        current = key.current
        id = self._namespaces.get(key.namespace).uuid if current is None else current.id
        doc: dict[str, JSON] = {
            "id": id,
            "name": key.name,
            "role": str(key.role),
            "created": key.created_ms,
            "createdBy": key.created_by,
            "lastUsed": self._used.get(key.place),
        }
        previous = key.previous
        if previous is not None and self._is_valid(previous):
            doc["previous"] = {"id": previous.id, "until": previous.until_ms}
        return doc


def _action(namespace: str, id: str) -> Identity:
    """The identity of a running action: it may deploy, so that no key of a lesser role becomes an admin."""
    return Identity(namespace, ACTION, id, Role.DEPLOY)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidError(
            f"The name {name!r:.80} cannot be used for a key: give 1 to 64 letters, digits or any of _@.-, "
            "with a letter or a digit first."
        )
    if name in (OWN, ACTION):
        raise InvalidError(
            f"The name '{name}' cannot be used for a key: '{OWN}' is the namespace's own key, and "
            f"'{ACTION}' stands for the keys of running actions."
        )


def _secret(credentials: str) -> Secret:
    id, _, key = credentials.partition(":")
    return Secret(id=id, key_hash=hash_of(key), key=key)


def _gone(places: list[str]) -> list[Document]:
    return [
        Document(kind=kind, key=place, body=None) for place in places for kind in (KIND, USE_KIND)
    ]


def _written(key: AccessKey) -> Document:
    doc = {
        "role": key.role,
        "created": key.created_ms,
        "by": key.created_by,
        "current": _stored(key.current),
        "previous": _stored(key.previous),
    }
    return Document(kind=KIND, key=key.place, body=orjson.dumps(doc))


def _stored(secret: Secret | None) -> dict[str, JSON] | None:
    if secret is None:
        return None
    return {"id": secret.id, "hash": secret.key_hash, "key": secret.key, "until": secret.until_ms}


def _read(namespace: str, name: str, doc: Any) -> AccessKey:
    return AccessKey(
        namespace=namespace,
        name=name,
        role=Role(doc["role"]),
        created_ms=doc["created"],
        created_by=doc["by"],
        current=_restored(doc["current"]),
        previous=_restored(doc["previous"]),
    )


def _restored(doc: Any) -> Secret | None:
    if doc is None:
        return None
    return Secret(id=doc["id"], key_hash=doc["hash"], key=doc["key"], until_ms=doc["until"])
