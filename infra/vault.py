"""What is secret at rest: sealed before it is stored, when there is a key for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from composer import Error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cryptography.fernet import MultiFernet

    from composer import JSON

FIELD = "parameters"
CREDENTIALS = "credentials"


class VaultError(Error):
    """Something cannot be sealed or opened; the text says why."""


class Vault:
    """Seals a field of documents, the parameters of entities above all, with Fernet (AES-128-CBC and HMAC-SHA256), or leaves them be.

    Args:
        keys: Fernet keys: the first seals, all of them open, so that a new one can be put before the
            old. Without any, nothing is sealed.

    Raises:
        VaultError: when a key is none, or the library for it is not installed.
    """

    def __init__(self, keys: Sequence[str] = ()) -> None:
        self._fernet = _fernet(keys) if keys else None

    @property
    def seals(self) -> bool:
        """Whether there is a key to seal with."""
        return self._fernet is not None

    def sealed(self, key: str, doc: dict[str, JSON], field: str = FIELD) -> dict[str, JSON]:
        """A document as it is stored; `key` is what it is stored under."""
        if self._fernet is None or not doc.get(field):
            return doc
        text = json.dumps({"of": key, field: doc[field]}, ensure_ascii=False)
        return {**doc, field: {"sealed": self._fernet.encrypt(text.encode()).decode()}}

    def opened(self, key: str, doc: dict[str, JSON], field: str = FIELD) -> dict[str, JSON]:
        """What `sealed` made, as it was.

        Raises:
            VaultError: when there is no key for it, or it was sealed under another name.
        """
        kept = doc.get(field)
        if not isinstance(kept, dict):
            return doc
        if self._fernet is None:
            raise VaultError(
                f"the {field} of {key} are sealed: set XINGQIAO_PARAMETER_KEYS to the key"
            )
        from cryptography.fernet import InvalidToken  # noqa: PLC0415  it is there only when it is used

        try:
            made = json.loads(self._fernet.decrypt(kept["sealed"].encode()))
        except InvalidToken:
            raise VaultError(
                f"the {field} of {key} are sealed with a key that is not among "
                "XINGQIAO_PARAMETER_KEYS"
            ) from None
        if made["of"] != key:
            raise VaultError(f"the {field} of {key} are those of {made['of']}")
        return {**doc, field: made[field]}


def _fernet(keys: Sequence[str]) -> MultiFernet:
    try:
        from cryptography.fernet import Fernet, MultiFernet  # noqa: PLC0415  an optional dependency
    except ImportError:
        raise VaultError(
            "XINGQIAO_PARAMETER_KEYS is set, but 'cryptography' is not installed: "
            "pip install 'xingqiao[encryption]'"
        ) from None
    try:
        return MultiFernet([Fernet(key) for key in keys])
    except ValueError:
        raise VaultError(
            "XINGQIAO_PARAMETER_KEYS must be Fernet keys (32 bytes in url-safe base64), separated "
            "by commas; make one with: python -c 'from cryptography.fernet import Fernet; "
            "print(Fernet.generate_key().decode())'"
        ) from None
