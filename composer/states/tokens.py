"""Task tokens: which wait of which fiber an answer is for. Who may answer is for whoever takes it in."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

PARTS = 3


def task_token(execution: str, fiber: str, turn: int) -> str:
    """The token of a task: letters, digits, `-` and `_`."""
    text = f"{execution}|{fiber}|{turn}".encode()
    return urlsafe_b64encode(text).decode().rstrip("=")


def token_place(token: str) -> tuple[str, str, int] | None:
    """The execution, fiber and turn of a token; None for a text that is none."""
    try:
        text = urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
    except ValueError:
        return None
    parts = text.split("|")
    if len(parts) != PARTS or not parts[2].isdecimal() or not parts[2].isascii():
        return None
    return parts[0], parts[1], int(parts[2])
