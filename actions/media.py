"""Media types: the headers `Content-Type` and `Accept` (RFC 9110, 8.3 and 12.5.1).

The division into text and binary types is that of OpenWhisk's server, which is Pekko's table of types.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

JSON_TYPE = "application/json"
FORM = "application/x-www-form-urlencoded"

_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_TYPE = re.compile(rf"({_WORD}/{_WORD})\s*(;.*)?")
_CHARSET = re.compile(r';\s*charset\s*=\s*"?([\w.:+-]+)"?', re.ASCII | re.IGNORECASE)
_TEXT = re.compile(r"text/.*|application/((.*\+)?json|(.*\+)?xml|javascript|x-www-form-urlencoded)")
_REFUSING = re.compile(r"q\s*=\s*(0+(\.0*)?|\.0+)")
_ANYTHING = ("*", "*/*")
BYTES = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class MediaType:
    """A type in lower case, without its parameters, and the charset among them."""

    name: str
    charset: str | None = None

    @property
    def json(self) -> bool:
        return self.name == JSON_TYPE or self.name.endswith("+json")

    @property
    def xml(self) -> bool:
        return self.name.endswith(("/xml", "+xml"))

    @property
    def text(self) -> bool:
        """True for text types, and for an application's own type with a charset."""
        if _TEXT.fullmatch(self.name):
            return True
        return (
            self.charset is not None
            and self.name.startswith("application/")
            and self.name != BYTES
        )  # fmt: skip


def media_type(text: str) -> MediaType | None:
    """Reads `type/subtype[; parameters]`; None if it is malformed."""
    match = _TYPE.fullmatch(text.strip())
    if match is None:
        return None
    charset = _CHARSET.search(match[2] or "")
    return MediaType(match[1].lower(), charset[1] if charset else None)


def accepts(accept: str, media: str) -> bool:
    """True if an `Accept` header takes a type; its most precise range counts.

    An empty header takes any type.
    """
    best, taken, named = -1, False, False
    for item in accept.lower().split(","):
        kind, *parameters = (part.strip() for part in item.split(";"))
        if "/" not in kind and kind not in _ANYTHING:
            continue
        named = True
        rank = _rank(kind, media)
        if rank > best:
            best, taken = rank, not any(_REFUSING.fullmatch(one) for one in parameters)
    return taken or not named


def _rank(kind: str, media: str) -> int:
    """The precision with which a range names a type; -1 if it does not."""
    if kind == media:
        return 2
    if kind == media.partition("/")[0] + "/*":
        return 1
    return 0 if kind in _ANYTHING else -1
