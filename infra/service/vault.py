"""Single fields that older versions encrypted with Fernet, before whole stores were sealed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from ...composer import Error

if TYPE_CHECKING:
    from collections.abc import Sequence

FIELD = "parameters"
CREDENTIALS = "credentials"


class VaultError(Error):
    """A field cannot be decrypted; the text says why and what to do."""


def opened(keys: Sequence[str], key: str, doc: dict[str, Any], field: str) -> dict[str, Any]:
    """Returns a document with one field decrypted, or unchanged if the field is not sealed.

    Args:
        keys: candidate keys; one of them has sealed the field.
        key: key of the document in the store, which was sealed with the field.
        doc: the document, as an older version stored it.
        field: name of the field that may be sealed.

    Raises:
        VaultError: none of the keys has sealed the field, or it was sealed for another document.
    """
    kept = doc.get(field)
    if not isinstance(kept, dict):
        return doc
    fernet = MultiFernet([Fernet(key) for key in keys])
    try:
        made = json.loads(fernet.decrypt(kept["sealed"].encode()))
    except InvalidToken:
        raise VaultError(
            f"the {field} of {key} cannot be decrypted, because their key is missing in "
            "XINGQIAO_PARAMETER_KEYS: add the earlier key to it"
        ) from None
    if made["of"] != key:
        raise VaultError(
            f"the {field} of {key} belong to {made['of']}: the store was changed; restore it from a backup"
        )
    return {**doc, field: made[field]}
