"""Keys of a store: their sources, and the sealing (encryption) of the whole store with them.

A server on a folder makes a key at its first start and keeps it in the file `key` of that folder. Keys can
also come from the environment (`XINGQIAO_PARAMETER_KEYS`) or from a command, such as a client of a key
management service (`XINGQIAO_KEY_COMMAND`). The first key seals, all keys open.

One document in the store, the mark, is sealed like all others. From the mark the server learns if the store is
sealed, if its keys open the store, and if the store must be sealed again because the first key has changed.
"""

from __future__ import annotations

import asyncio
import logging
import shlex
import subprocess
from typing import TYPE_CHECKING

import orjson

from ...actions import Document, Write
from ..settings import KEY_FILE, each, write_secret
from ..stores import Seal, SealedStore, SealError, document_place, key_bytes, new_key
from .vault import CREDENTIALS, FIELD, opened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ...actions import Store
    from ..settings import Settings
    from ..stores import Rewritable

log = logging.getLogger(__name__)

MARK_KIND, MARK_KEY = "seal", "store"
MARK = document_place(MARK_KIND, MARK_KEY)
BEGUN, DONE = b"begun", b"done"
COMMAND_S = 60  # time limit of the key command, in seconds
ONCE_SEALED = {  # fields that older versions sealed one by one
    b"document/entity/": FIELD,
    b"document/namespace/": CREDENTIALS,
    b"document/credential/": FIELD,
}


async def sealed(store: Rewritable, settings: Settings) -> Store:
    """Wraps an open store in its seal. At the first start it seals the existing rows.

    Raises:
        SealError: a key is malformed, none of the keys opens the sealed store, or the command fails.
        StoreError: the rows cannot be sealed.
    """
    keys = [*await asyncio.to_thread(given_keys, settings), *kept_keys(settings.data)]
    mark = await _mark(store)
    if not keys and mark is not None:
        raise SealError(_missing(settings, "its key is missing"))
    if not keys and (settings.dynamodb is not None or settings.data is None):
        log.warning(
            "table %s is not encrypted: every reader of the table can read keys, secrets and parameters. "
            "Set XINGQIAO_PARAMETER_KEYS to a key (`xingqiao key new` prints one)",
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
    """Wraps a store in its seal for reading; nothing in the store is changed.

    Raises:
        SealError: a key is malformed, or none of the keys opens the sealed store.
    """
    mark = await _mark(store)
    if mark is None:
        return store
    keys = [*await asyncio.to_thread(given_keys, settings), *kept_keys(settings.data)]
    if not keys:
        raise SealError(_missing(settings, "its key is missing"))
    seal = Seal(keys)
    _check(seal, mark, settings)
    return SealedStore(store, seal)


async def rotate(store: Rewritable, settings: Settings) -> int:
    """Replaces the key in the folder's file. Returns the number of rows that were sealed again.

    The file holds both keys until every row is sealed: after a crash, the next start or rotation continues.

    Raises:
        SealError: the keys come from another source, or none of them opens the store.
    """
    if settings.parameter_keys or settings.key_command:
        raise SealError(
            "this command cannot rotate keys from XINGQIAO_PARAMETER_KEYS or XINGQIAO_KEY_COMMAND: put a new "
            "key before the others there and restart the server, which then encrypts the store again"
        )
    assert settings.data is not None  # noqa: S101  there is no rotation without a folder
    old, mark = kept_keys(settings.data), await _mark(store)
    if mark is not None:
        if not old:
            raise SealError(_missing(settings, "its key is missing"))
        _check(Seal(old), mark, settings)
    file, keys = settings.data / KEY_FILE, [new_key(), *old]
    write_secret(file, "\n".join(keys))
    count = await reseal(store, Seal(keys), keys, mark)
    write_secret(file, keys[0])
    return count


async def reseal(store: Rewritable, seal: Seal, keys: Sequence[str], mark: bytes | None) -> int:
    """Seals every row that is not sealed with the first key. Returns the number of these rows.

    Args:
        store: the store below the seal.
        seal: seal with these keys.
        keys: keys for fields that older versions sealed one by one.
        mark: mark found in the store; None if the store has no mark.
    """
    if mark is not None and seal.is_current(mark) and seal.opened(MARK, mark) == DONE:
        return 0

    def change(place: bytes, body: bytes) -> bytes | None:
        if place == MARK or seal.is_current(body):
            return None
        return seal.sealed(place, _plain(keys, place, seal.opened(place, body)))

    await _put_mark(store, seal, BEGUN)
    if not await _is_new(store):
        log.info("encrypting the rows of the store; this may take a while")
    count = await store.rewrite(change)
    await _put_mark(store, seal, DONE)
    if count:
        log.info("encrypted %d rows of the store", count)
    return count


def given_keys(settings: Settings) -> list[str]:
    """The keys from the command and from the environment.

    Raises:
        SealError: the command fails or prints nothing.
    """
    return [*_commanded(settings.key_command), *each(settings.parameter_keys)]


def kept_keys(data: Path | None) -> list[str]:
    """The keys in the file of a folder; [] if the file does not exist.

    Raises:
        SealError: the file is empty or holds a malformed key.
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
            f"the key file {data / KEY_FILE} is damaged (each line must be a key): restore it from a backup"
        )
    return keys


def _made(file: Path) -> str:
    key = new_key()
    write_secret(file, key)
    log.info(
        "created the key file %s, which encrypts the store: back it up, apart from the store", file
    )
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
            f"{ended.stderr.strip()[-500:] or 'its standard error is empty'}"
        )
    keys = ended.stdout.replace(",", " ").split()
    if not keys:
        raise SealError("XINGQIAO_KEY_COMMAND printed no key: it must print one or more keys")
    return keys


async def _mark(store: Store) -> bytes | None:
    async for document in store.documents(MARK_KIND, MARK_KEY):
        return document.body
    return None


async def _is_new(store: Store) -> bool:
    """True if no server has used the store yet: each server creates namespaces at its first start."""
    return not [one async for one in store.documents("namespace", limit=1)]


async def _put_mark(store: Store, seal: Seal, text: bytes) -> None:
    body = seal.sealed(MARK, text)
    await store.commit([Write(documents=[Document(kind=MARK_KIND, key=MARK_KEY, body=body)])])


def _check(seal: Seal, mark: bytes, settings: Settings) -> None:
    try:
        seal.opened(MARK, mark)
    except SealError:
        raise SealError(_missing(settings, "none of the given keys opens it")) from None


def _missing(settings: Settings, why: str) -> str:
    where = f"table {settings.dynamodb}" if settings.dynamodb else f"the store in {settings.data}"
    file = "" if settings.data is None else f"put the file {settings.data / KEY_FILE} back, or "
    return (
        f"{where} is encrypted, and {why}: {file}provide the key with XINGQIAO_PARAMETER_KEYS or "
        "XINGQIAO_KEY_COMMAND. Without its key the store cannot be read; no new key is made"
    )


def _plain(keys: Sequence[str], place: bytes, body: bytes) -> bytes:
    """Returns a body with its single sealed field decrypted."""
    for start, field in ONCE_SEALED.items():
        if place.startswith(start):
            doc = orjson.loads(body)
            return orjson.dumps(opened(keys, place.removeprefix(start).decode(), doc, field))
    return body
