"""Keys of running actions: signed, short-lived and never stored."""

from __future__ import annotations

import hmac
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...actions import Clock

GRACE_MS = 60_000  # an action's key stays valid for this time after its deadline
_MINTED = re.compile(r"action-([0-9a-f]{1,16})-([0-9a-f]{64})")
_SESSION = re.compile(
    r"action-([0-9a-f]{1,16})"
)  # session token of a minted key in a signed request


class Minter:
    """Makes and checks the keys of actions. Each key derives from a namespace's key, and ends with it.

    Args:
        secret: secret of this service.
        clock: source of time.
    """

    def __init__(self, secret: bytes, clock: Clock) -> None:
        self._secret, self._clock = secret, clock

    def key(self, uuid: str, key_hash: str, deadline_ms: int) -> str:
        """Credentials for an action that runs until a deadline (ms since the epoch)."""
        until = f"{deadline_ms + GRACE_MS:x}"
        return f"{uuid}:action-{until}-{self._signature(uuid, key_hash, until)}"

    def proves(self, uuid: str, key_hash: str, key: str) -> bool:
        """True if `key` derives from the namespace's key and has not expired."""
        match = _MINTED.fullmatch(key)
        if match is None or int(match[1], 16) < self._clock.now_ms():
            return False
        return hmac.compare_digest(match[2], self._signature(uuid, key_hash, match[1]))

    def signing_key(self, uuid: str, key_hash: str, session: str) -> str | None:
        """The whole minted key that begins with `session`; None if it has expired or is malformed."""
        match = _SESSION.fullmatch(session)
        if match is None or int(match[1], 16) < self._clock.now_ms():
            return None
        return f"{session}-{self._signature(uuid, key_hash, match[1])}"

    def _signature(self, uuid: str, key_hash: str, until: str) -> str:
        text = f"{uuid}|{key_hash}|{until}"
        return hmac.new(self._secret, text.encode(), "sha256").hexdigest()


def is_minted(key: str) -> bool:
    """True if a key has the form of an action's key."""
    return key.startswith("action-") and _MINTED.fullmatch(key) is not None
