"""Completion triggers' tokens: where an answer belongs, signed so that nobody can guess one."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

from ...actions import NotFoundError

DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Place:
    """The wait that an answer is for: a turn of a fiber of an execution, in one activation."""

    execution: str
    fiber: str
    turn: int
    activation: str


class Tokens:
    """Makes and reads tokens with a secret of this service; `tasks` is the key for tokens of tasks."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self.tasks = hmac.digest(secret, b"task tokens", "sha256")  # a key of their own

    def make(self, place: Place) -> str:
        """The token of a place: letters, digits, `-` and `_`."""
        text = f"{place.execution}|{place.fiber}|{place.turn}|{place.activation}".encode()
        return urlsafe_b64encode(self._digest(text) + text).decode().rstrip("=")

    def read(self, token: str) -> Place:
        """The place of a token.

        Raises:
            NotFoundError: when this service has not made it.
        """
        try:
            raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
            digest, text = raw[:DIGEST_BYTES], raw[DIGEST_BYTES:]
            execution, fiber, turn, activation = text.decode().split("|")
            place = Place(execution, fiber, int(turn), activation)
        except ValueError:
            raise NotFoundError from None
        if not hmac.compare_digest(digest, self._digest(text)):
            raise NotFoundError
        return place

    def _digest(self, text: bytes) -> bytes:
        return hmac.digest(self._secret, text, "sha256")[:DIGEST_BYTES]
