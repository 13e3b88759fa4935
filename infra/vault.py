"""Fields that older versions sealed each by itself, with Fernet, before whole stores were sealed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from ..composer import Error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..composer import JSON

FIELD = "parameters"
CREDENTIALS = "credentials"


class VaultError(Error):
    """A field cannot be opened; the text says why and what to do."""


def opened(keys: Sequence[str], key: str, doc: dict[str, JSON], field: str) -> dict[str, JSON]:
    """A document with its one field in clear; a document without a sealed field is returned as it is.

    Args:
        keys: one of which has sealed it.
        key: what the document is stored under, which was sealed with the field.
        doc: the document.
        field: that may be sealed.

    Raises:
        VaultError: when none of the keys has sealed it, or it was sealed under another name.
    """
    kept = doc.get(field)
    if not isinstance(kept, dict):
        return doc
    fernet = MultiFernet([Fernet(key) for key in keys])
    try:
        made = json.loads(fernet.decrypt(kept["sealed"].encode()))
    except InvalidToken:
        raise VaultError(
            f"the {field} of {key} were sealed with a key of XINGQIAO_PARAMETER_KEYS that is not here: "
            "set it as it was"
        ) from None
    if made["of"] != key:
        raise VaultError(f"the {field} of {key} are those of {made['of']}")
    return {**doc, field: made[field]}
