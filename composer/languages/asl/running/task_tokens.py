"""Task tokens: each names a wait of a fiber, and is signed so that it cannot be guessed."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode

PARTS = 3
DIGITS = 32  # of a signature


def task_token(execution: str, fiber: str, turn: int, key: bytes = b"") -> str:
    """The token of a task: letters, digits, `-` and `_`. Without a key the token is not signed."""
    text = f"{execution}|{fiber}|{turn}"
    if key:
        text = f"{text}|{_signature(text, key)}"
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def token_place(token: str, key: bytes = b"") -> tuple[str, str, int] | None:
    """The execution, fiber and turn of a token; None for any other text.

    With a key the token must be signed with it; without a key it must not be signed.
    """
    try:
        text = urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
    except ValueError:
        return None
    if key:
        text, _, signature = text.rpartition("|")
        if not hmac.compare_digest(signature.encode(), _signature(text, key).encode()):
            return None
    parts = text.split("|")
    if len(parts) != PARTS or not parts[2].isdecimal() or not parts[2].isascii():
        return None
    return parts[0], parts[1], int(parts[2])


def _signature(text: str, key: bytes) -> str:
    return hmac.digest(key, text.encode(), "sha256").hex()[:DIGITS]
