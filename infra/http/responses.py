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
        super().__init__(content, status_code, headers)

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content)
