"""Who there is: namespaces, their keys, and what each may use.

A key is kept, and sealed with everything else that is stored: whoever signs requests as AWS' clients do
shows nothing that a hash could be compared with. Before there were such clients only hashes were kept;
a namespace of that time keeps its key when it is next shown.

Beside its own key a namespace has any number of short-lived ones, which its actions are given to call
back with: they are signed, not stored.
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

from ..actions import (
    ConflictError,
    Document,
    InvalidError,
    NotFoundError,
    Quotas,
    UnavailableError,
    Write,
)
from ..composer import Error, check_part

if TYPE_CHECKING:
    from ..actions import Clock, Store

CREDENTIALS = "credentials"  # the member of a document that holds the key
KIND = "namespace"  # documents of namespaces, by uuid
GUEST = "guest"
OPERATOR = "whisk.system"
KEY_CHARACTERS = 64
MIN_KEY_CHARACTERS = 8
GRACE_MS = 60_000  # that an action's key outlives its deadline
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_CREDENTIALS = re.compile(r"[\w.-]{1,128}:[!-~]{8,256}", re.ASCII)
_MINTED = re.compile(r"action-([0-9a-f]{1,16})-([0-9a-f]{64})")
_SESSION = re.compile(r"action-([0-9a-f]{1,16})")  # what a minted key is called where it signs


class IsolationError(Error):
    """Namespaces that are not kept apart well enough; the text says what to do."""


class AuthError(Error):
    """Credentials that cannot be used; the text says what they must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A namespace, the hash of its key ("" once it is deleted), and what it may use besides defaults.

    `key` is None when only the hash is known.
    """

    name: str
    uuid: str
    key_hash: str
    key: str | None = field(default=None, repr=False)
    limits: dict[str, int] = field(default_factory=dict)

    @property
    def deleted(self) -> bool:
        return not self.key_hash


LIMITS = {  # the first three as OpenWhisk's UserLimits spell them, and which quota each is
    "invocationsPerMinute": "per_minute",
    "concurrentInvocations": "concurrent",
    "firesPerMinute": "fires_per_minute",
    "liveExecutions": "live",
    "descendants": "descendants",
}


class Namespaces:
    """Knows the namespaces. Read them with `load` before anything else.

    Args:
        store: where they are.
        clock: the time.
        quotas: of a namespace that has none of its own.
        secret: of this service, for its actions' keys.
    """

    def __init__(self, store: Store, clock: Clock, quotas: Quotas, secret: bytes) -> None:
        self._store, self._clock, self._defaults, self._secret = store, clock, quotas, secret
        self._changing = asyncio.Lock()
        self._seen: set[str] = set()  # names of those whose key is not stored yet
        self._by_uuid: dict[str, Namespace] = {}
        self._by_name: dict[str, Namespace] = {}
        self._quotas: dict[str, Quotas] = {}
        self._alone = ""

    async def load(self, alone: str = "") -> None:
        """Reads them from the store.

        Args:
            alone: why there may be only one besides the operator's; "" when there may be more.

        Raises:
            IsolationError: when there are more than there may be.
        """
        async for document in self._store.documents(KIND):
            doc = orjson.loads(document.body or b"")
            key = doc.pop(CREDENTIALS, None)
            self._take(Namespace(uuid=document.key, key=key, **doc))
        self._alone = alone
        users = [namespace.name for namespace in self.list() if namespace.name != OPERATOR]
        if alone and len(users) > 1:
            raise IsolationError(f"there are {len(users)} namespaces ({', '.join(users)}): {alone}")

    def _take(self, namespace: Namespace) -> None:
        before = self._by_name.get(namespace.name)
        if before is not None and before.uuid != namespace.uuid:
            del self._by_uuid[before.uuid]
        self._by_uuid[namespace.uuid] = self._by_name[namespace.name] = namespace
        changes = {LIMITS[limit]: value for limit, value in namespace.limits.items()}
        self._quotas[namespace.name] = replace(self._defaults, **changes)

    # --- who calls ---------------------------------------------------------------------------

    def authenticated(self, user: str, key: str) -> str | None:
        """The name of the namespace whose uuid and key these are."""
        found = self._by_uuid.get(user)
        if found is None:
            hmac.compare_digest(_hash(key), "")
            return None
        if hmac.compare_digest(_hash(key), found.key_hash):
            if found.key is None:
                self._take(replace(found, key=key))
                self._seen.add(found.name)
            return found.name
        return found.name if self._minted(found, key) else None

    def signer(self, user: str, session: str | None = None) -> tuple[str, str | None] | None:
        """The namespace of this uuid and the key that it signs with: None when only its hash is kept.

        `session` is what a minted key begins with; its whole is what signs, and it is over in time.
        None when nobody can sign as these.
        """
        found = self._by_uuid.get(user)
        if found is None or found.deleted:
            return None
        if session is None:
            return found.name, found.key
        match = _SESSION.fullmatch(session)
        if match is None or int(match[1], 16) < self._clock.now_ms():
            return None
        return found.name, f"{session}-{self._signature(found, match[1])}"

    @property
    def unkept(self) -> bool:
        """Whether there are keys to `keep`."""
        return bool(self._seen)

    async def keep(self) -> None:
        """Stores keys that were not: those shown since, where only the hash was, and unsealed ones."""
        async with self._changing:
            for name in sorted(self._seen):
                try:
                    await self._store.commit([self._written(self._by_name[name])])
                except UnavailableError:
                    return  # after another answer
                self._seen.discard(name)

    def _minted(self, namespace: Namespace, key: str) -> bool:
        match = _MINTED.fullmatch(key)
        if match is None or namespace.deleted or int(match[1], 16) < self._clock.now_ms():
            return False
        return hmac.compare_digest(match[2], self._signature(namespace, match[1]))

    def action_key(self, name: str, deadline_ms: int) -> str:
        """Credentials for an action that runs in a namespace until a deadline."""
        namespace = self._by_name.get(name)
        if namespace is None or namespace.deleted:
            return ""
        until = f"{deadline_ms + GRACE_MS:x}"
        return f"{namespace.uuid}:action-{until}-{self._signature(namespace, until)}"

    def _signature(self, namespace: Namespace, until: str) -> str:
        text = f"{namespace.uuid}|{namespace.key_hash}|{until}"
        return hmac.new(self._secret, text.encode(), "sha256").hexdigest()

    def quotas(self, name: str) -> Quotas:
        """What a namespace may use."""
        return self._quotas.get(name, self._defaults)

    # --- whom there is -----------------------------------------------------------------------

    def list(self) -> list[Namespace]:
        """All of them, in order of name."""
        found = [namespace for namespace in self._by_name.values() if not namespace.deleted]
        return sorted(found, key=lambda namespace: namespace.name)

    def get(self, name: str) -> Namespace:
        """The namespace of this name.

        Raises:
            NotFoundError: when there is none.
        """
        found = self._by_name.get(name)
        if found is None or found.deleted:
            raise NotFoundError(f"There is no namespace {name!r}.")
        return found

    async def create(
        self, name: str, limits: dict[str, int], credentials: str | None = None
    ) -> str:
        """Makes a namespace. Returns its credentials.

        Raises:
            InvalidNameError, InvalidError, AuthError: when the name, a limit or credentials are none.
            ConflictError: when there is one of this name, or has been, or there may be no more.
        """
        check_part(name)
        known = self._by_name.get(name)
        if known is not None:
            past = "was deleted; its records are still kept" if known.deleted else "exists"
            raise ConflictError(f"The namespace {name!r} {past}: take another name.")
        others = {namespace.name for namespace in self.list()} - {OPERATOR}
        if self._alone and others and name != OPERATOR:
            raise ConflictError(f"The namespace {name!r} is not made: {self._alone}.")
        return await self._put(name, credentials, _checked(limits))

    async def rotate(self, name: str, credentials: str | None = None) -> str:
        """Gives a namespace new credentials, which are returned; the old are void."""
        return await self._put(name, credentials, self.get(name).limits)

    async def limit(self, name: str, limits: dict[str, int]) -> Namespace:
        """Sets what a namespace may use.

        Raises:
            InvalidError: when a limit is none.
        """
        namespace = replace(self.get(name), limits=_checked(limits))
        await self._commit(namespace)
        return namespace

    async def delete(self, name: str) -> None:
        """Ends a namespace: its keys are void. Its name is not given again."""
        await self._commit(replace(self.get(name), key_hash="", key=None))

    async def _put(self, name: str, credentials: str | None, limits: dict[str, int]) -> str:
        credentials = new_credentials() if credentials is None else credentials
        if not _CREDENTIALS.fullmatch(credentials):
            raise AuthError(
                "credentials must be uuid:key, the key of at least "
                f"{MIN_KEY_CHARACTERS} printable characters without spaces"
            )
        user, _, key = credentials.partition(":")
        taken = self._by_uuid.get(user)
        if taken is not None and taken.name != name:
            raise AuthError(
                f"the uuid of these credentials is that of the namespace {taken.name!r}"
            )
        namespace = Namespace(name=name, uuid=user, key_hash=_hash(key), key=key, limits=limits)
        if namespace != self._by_name.get(name):
            await self._commit(namespace)
        return credentials

    async def _commit(self, namespace: Namespace) -> None:
        async with self._changing:
            await self._store.commit([self._written(namespace)])
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
    """Makes the two that there must be: `guest`, and the operator's.

    Args:
        namespaces: that there are.
        guest: credentials for it, in place of what it had; None for those, or for new ones.
        operator: the same for `whisk.system`.

    Returns:
        The credentials of each that are new and were not given.
    """
    shown = []
    for name, given in ((GUEST, guest), (OPERATOR, operator)):
        known = {namespace.name for namespace in namespaces.list()}
        if name not in known:
            made = await namespaces.create(name, {}, given)
            shown.append(None if given else made)
        else:
            if given is not None:
                await namespaces.rotate(name, given)
            shown.append(None)
    return shown[0], shown[1]


def new_credentials() -> str:
    """`uuid:key`, which nobody can guess."""
    key = "".join(secrets.choice(_ALPHABET) for _ in range(KEY_CHARACTERS))
    return f"{uuid.UUID(bytes=secrets.token_bytes(16), version=4)}:{key}"


def _checked(limits: dict[str, int]) -> dict[str, int]:
    for limit, value in limits.items():
        if limit not in LIMITS:
            raise InvalidError(f"There is no limit {limit!r}; there are {', '.join(LIMITS)}.")
        if type(value) is not int or value < 0:
            raise InvalidError(f"The limit '{limit}' must be a whole number, not {value!r:.100}.")
    return limits


def _hash(key: str) -> str:
    """Keys are long and random, so one round of SHA-256 keeps them."""
    return sha256(key.encode()).hexdigest()
