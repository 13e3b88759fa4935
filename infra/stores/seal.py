"""Seals bodies before they are stored: AES-256-GCM, each authenticated with the name of its place.

A sealed body is `MAGIC`, four bytes that name the key, twelve bytes of salt, a nonce of twelve bytes, and
the ciphertext with its tag. Key and salt give the subkey: each process draws its own salt and counts its
nonces, so no nonce is used twice with one subkey. A body that was moved to another place does not open.

This runs for every row of every commit; decision 13 has the cost.
"""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAGIC = b"\x00XQ\x01"  # no JSON begins like this
KEY_BYTES = 32
NAME_BYTES, SALT_BYTES, NONCE_BYTES = 4, 12, 12
SALT_AT = len(MAGIC) + NAME_BYTES
NONCE_AT = SALT_AT + SALT_BYTES
TEXT_AT = NONCE_AT + NONCE_BYTES
SUBKEYS = 4096  # cached: one for each process that has written


class SealError(StoreError):
    """A body cannot be opened; the text says why and what to do."""


class Seal:
    """Seals bodies with the first of several keys, and opens bodies sealed with any of them.

    `sealed(place, body)` returns the body as it is stored in that place.

    Args:
        keys: 32 bytes each, in url-safe base64.

    Raises:
        SealError: if a key is malformed, or there is none.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        if not keys:
            raise SealError("there is no key to seal the store with")
        self._keys = {_name(raw): raw for raw in map(key_bytes, keys)}
        first = key_bytes(keys[0])
        self._begins = MAGIC + _name(first)
        self.sealed = _sealer(first, self._begins)

    def opened(self, place: bytes, body: bytes) -> bytes:
        """Opens a sealed body; a body that is not sealed is returned unchanged.

        Raises:
            SealError: if it was sealed with another key or for another place, or is damaged.
        """
        try:
            if not body.startswith(MAGIC):
                return body
        except (AttributeError, TypeError):  # another program has written text or NULL
            raise SealError(f"the body of {_shown(place)} is not bytes: it is damaged") from None
        key = self._keys.get(body[len(MAGIC) : SALT_AT])
        if key is None:
            raise SealError(f"the body of {_shown(place)} is sealed with a key that is not here")
        try:
            cipher = _cipher(key, body[SALT_AT:NONCE_AT])
            return cipher.decrypt(body[NONCE_AT:TEXT_AT], body[TEXT_AT:], place)
        except (InvalidTag, ValueError):
            raise SealError(
                f"the body of {_shown(place)} was changed, or belongs to another place: restore the "
                "store from a backup"
            ) from None

    def is_current(self, body: bytes) -> bool:
        """True if a body is sealed with the first key."""
        return body.startswith(self._begins)


def _sealer(key: bytes, begins: bytes) -> Callable[[bytes, bytes], bytes]:
    """Returns the function that seals. A closure: it runs for every row, and a method takes longer."""
    salt = secrets.token_bytes(SALT_BYTES)
    start, encrypt, numbers = begins + salt, _cipher(key, salt).encrypt, count(1)

    def sealed(place: bytes, body: bytes) -> bytes:
        nonce = next(numbers).to_bytes(NONCE_BYTES, "big")
        return start + nonce + encrypt(nonce, body, place)

    return sealed


def is_sealed(body: bytes) -> bool:
    """True if a stored body is sealed, with any key."""
    return body.startswith(MAGIC)


def new_key() -> str:
    """Returns a new random key."""
    return urlsafe_b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def key_bytes(key: str) -> bytes:
    """Returns the bytes of a key.

    Raises:
        SealError: if the key is malformed.
    """
    try:
        raw = urlsafe_b64decode(key)
    except (Base64Error, ValueError):
        raw = b""
    if len(raw) != KEY_BYTES:
        raise SealError(
            f"a key must be {KEY_BYTES} bytes in url-safe base64 (44 characters); make one with: "
            "xingqiao key new"
        )
    return raw


def _name(key: bytes) -> bytes:
    return _derived(key, b"", b"xingqiao key name", NAME_BYTES)


@lru_cache(maxsize=SUBKEYS)
def _cipher(key: bytes, salt: bytes) -> AESGCM:
    return AESGCM(_derived(key, salt, b"xingqiao store", KEY_BYTES))


def _derived(key: bytes, salt: bytes, what: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=what).derive(key)


def _shown(place: bytes) -> str:
    return place.decode(errors="replace").replace("\n", " ")
