"""JSON responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import orjson
from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Mapping


Body: TypeAlias = "dict[str, Any]"
"""The body of a response, made by the engine or by a definition's `to_json`."""


class Json(Response):
    """A JSON response."""

    media_type = "application/json"

    def __init__(
        self, content: Any, status_code: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        """Makes a response; `headers` has no header of the content.

        It sets what the framework's own method would set, in a fifth of its time.
        """
        self.status_code, self.background = status_code, None
        self.body = orjson.dumps(content)
        self.raw_headers = [
            (b"content-length", b"%d" % len(self.body)),
            (b"content-type", self.media_type.encode()),
        ]
        if headers:
            self.raw_headers[:0] = [
                (name.lower().encode("latin-1"), value.encode("latin-1"))
                for name, value in headers.items()
            ]
