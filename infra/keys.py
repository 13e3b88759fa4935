"""The keys that a store is sealed with: where they come from, and that every store is sealed with them.

A server on a folder makes a key at its first start and keeps it in the file `key` of that folder. Keys can
also come from the environment (`XINGQIAO_PARAMETER_KEYS`) or from a command, such as a client of a key
management service (`XINGQIAO_KEY_COMMAND`). The first key seals, all keys open.

A document in the store, the mark, is sealed like all else. It tells whether the store is sealed, whether the
keys at hand open the store, and whether the store must be sealed anew with another first key.
"""

from __future__ import annotations

import asyncio
import logging
import shlex
import subprocess
from typing import TYPE_CHECKING

import orjson

from ..actions import Document, Write
from .settings import KEY_FILE, each, write_secret
from .stores import Seal, SealedStore, SealError, document_place, key_bytes, new_key
from .vault import CREDENTIALS, FIELD, opened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..actions import Store
    from .settings import Settings
    from .stores import Rewritable

log = logging.getLogger(__name__)

MARK_KIND, MARK_KEY = "seal", "store"
MARK = document_place(MARK_KIND, MARK_KEY)
BEGUN, DONE = b"begun", b"done"
COMMAND_S = 60  # seconds that the command may take
ONCE_SEALED = {  # fields that were sealed each by itself, before whole stores were
    b"document/entity/": FIELD,
    b"document/namespace/": CREDENTIALS,
    b"document/credential/": FIELD,
}


async def sealed(store: Rewritable, settings: Settings) -> Store:
    """A store, which is open, as the service uses it: sealed. At the first start its rows are sealed, too.

    Raises:
        SealError: when a key is malformed, the store is sealed and none of the keys opens it, or the
            command fails.
        StoreError: when the rows cannot be sealed.
    """
    keys = [*await asyncio.to_thread(given_keys, settings), *kept_keys(settings.data)]
    mark = await _mark(store)
    if not keys and mark is not None:
        raise SealError(_missing(settings, "its key is not here"))
    if not keys and (settings.dynamodb is not None or settings.data is None):
        log.warning(
            "table %s is not sealed: whoever reads the table reads keys, secrets and parameters. Set "
            "XINGQIAO_PARAMETER_KEYS to a key (xingqiao key new makes one)",
            settings.dynamodb,
        )
        return store
    if not keys and settings.data is not None:
        keys = [_made(settings.data / KEY_FILE)]
    seal = Seal(keys)
    if mark is not None:
        _check(seal, mark, settings)
    await reseal(store, seal, keys, mark)
    return SealedStore(store, seal)


async def readable(store: Store, settings: Settings) -> Store:
    """A store as it can be read, though not as a server uses it: nothing in it is changed.

    Raises:
        SealError: when a key is malformed, or the store is sealed and none of the keys opens it.
    """
    mark = await _mark(store)
    if mark is None:
        return store
    keys = [*await asyncio.to_thread(given_keys, settings), *kept_keys(settings.data)]
    if not keys:
        raise SealError(_missing(settings, "its key is not here"))
    seal = Seal(keys)
    _check(seal, mark, settings)
    return SealedStore(store, seal)


async def rotate(store: Rewritable, settings: Settings) -> int:
    """Puts a new key in place of the one in the folder's file. Returns how many rows were sealed anew.

    Until every row is, the file has both keys: after a crash, the next start or rotation goes on.

    Raises:
        SealError: when the keys come from elsewhere, or none of them opens the store.
    """
    if settings.parameter_keys or settings.key_command:
        raise SealError(
            "the keys come from XINGQIAO_PARAMETER_KEYS or XINGQIAO_KEY_COMMAND: put a new key before "
            "the others there and restart the server, which then seals the store anew"
        )
    assert settings.data is not None  # noqa: S101  there is no rotation without a folder
    old, mark = kept_keys(settings.data), await _mark(store)
    if mark is not None:
        if not old:
            raise SealError(_missing(settings, "its key is not here"))
        _check(Seal(old), mark, settings)
    file, keys = settings.data / KEY_FILE, [new_key(), *old]
    write_secret(file, "\n".join(keys))
    count = await reseal(store, Seal(keys), keys, mark)
    write_secret(file, keys[0])
    return count


async def reseal(store: Rewritable, seal: Seal, keys: Sequence[str], mark: bytes | None) -> int:
    """Seals every row that is not sealed with the first key. Returns how many that were.

    Args:
        store: the store below the seal.
        seal: of these keys.
        keys: for fields that were sealed by themselves, before whole stores were.
        mark: as it was found in the store.
    """
    if mark is not None and seal.is_current(mark) and seal.opened(MARK, mark) == DONE:
        return 0

    def change(place: bytes, body: bytes) -> bytes | None:
        if place == MARK or seal.is_current(body):
            return None
        return seal.sealed(place, _plain(keys, place, seal.opened(place, body)))

    await _put_mark(store, seal, BEGUN)
    if not await _is_new(store):
        log.info("sealing the rows of the store; that may take a while")
    count = await store.rewrite(change)
    await _put_mark(store, seal, DONE)
    if count:
        log.info("sealed %d rows of the store", count)
    return count


def given_keys(settings: Settings) -> list[str]:
    """The keys from the command and from the environment.

    Raises:
        SealError: when the command fails or has no output.
    """
    return [*_commanded(settings.key_command), *each(settings.parameter_keys)]


def kept_keys(data: Path | None) -> list[str]:
    """The keys in the file of a folder; none when there is no such file.

    Raises:
        SealError: when the file has no key in it, or something that is none.
    """
    if data is None or not (data / KEY_FILE).exists():
        return []
    keys = (data / KEY_FILE).read_text("ascii", "replace").split()
    try:
        for key in keys:
            key_bytes(key)
    except SealError:
        keys = []
    if not keys:
        raise SealError(
            f"{data / KEY_FILE} is damaged: each line must be a key. Restore it from a backup"
        )
    return keys


def _made(file: Path) -> str:
    key = new_key()
    write_secret(file, key)
    log.info("made %s: the store is sealed with it. Back it up, apart from the store", file)
    return key


def _commanded(command: str) -> list[str]:
    if not command:
        return []
    try:
        ended = subprocess.run(  # noqa: S603  the operator's own command
            shlex.split(command), capture_output=True, timeout=COMMAND_S, check=False, text=True
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        why = f"took more than {COMMAND_S} s" if isinstance(error, subprocess.TimeoutExpired) else (
            f"cannot be run: {error}"
        )  # fmt: skip
        raise SealError(f"XINGQIAO_KEY_COMMAND {why}") from None
    if ended.returncode:
        raise SealError(
            f"XINGQIAO_KEY_COMMAND ended with exit code {ended.returncode}: "
            f"{ended.stderr.strip()[-500:] or 'it has said nothing'}"
        )
    keys = ended.stdout.replace(",", " ").split()
    if not keys:
        raise SealError("XINGQIAO_KEY_COMMAND has printed no key")
    return keys


async def _mark(store: Store) -> bytes | None:
    async for document in store.documents(MARK_KIND, MARK_KEY):
        return document.body
    return None


async def _is_new(store: Store) -> bool:
    """Whether a store has never had a server: each server makes namespaces at its first start."""
    return not [one async for one in store.documents("namespace", limit=1)]


async def _put_mark(store: Store, seal: Seal, text: bytes) -> None:
    body = seal.sealed(MARK, text)
    await store.commit([Write(documents=[Document(kind=MARK_KIND, key=MARK_KEY, body=body)])])


def _check(seal: Seal, mark: bytes, settings: Settings) -> None:
    try:
        seal.opened(MARK, mark)
    except SealError:
        raise SealError(_missing(settings, "none of the keys here opens the store")) from None


def _missing(settings: Settings, why: str) -> str:
    where = f"table {settings.dynamodb}" if settings.dynamodb else f"the store in {settings.data}"
    file = "" if settings.data is None else f"put the file {settings.data / KEY_FILE} back, or "
    return (
        f"{where} is sealed, and {why}: {file}set XINGQIAO_PARAMETER_KEYS or XINGQIAO_KEY_COMMAND to "
        "the key. Without the key the store cannot be read; no new key is made in its place"
    )


def _plain(keys: Sequence[str], place: bytes, body: bytes) -> bytes:
    """A body without the seal of its one field."""
    for start, field in ONCE_SEALED.items():
        if place.startswith(start):
            doc = orjson.loads(body)
            return orjson.dumps(opened(keys, place.removeprefix(start).decode(), doc, field))
    return body
