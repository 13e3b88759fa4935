"""The CORS headers of function URLs. They replace those that the function itself returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

ANY = "*"
PREFIX = "access-control-"


def asks(method: str, headers: Mapping[str, str]) -> bool:
    """True for a browser's preflight request."""
    return method == "OPTIONS" and "origin" in headers and f"{PREFIX}request-method" in headers


def cors_headers(
    rules: Mapping[str, Any], headers: Mapping[str, str], *, preflight: bool
) -> list[tuple[str, str]]:
    """The headers for a request with these headers; none if its origin is not allowed."""
    origin = headers.get("origin")
    origins = rules.get("AllowOrigins", ())
    if origin is None or not (ANY in origins or origin in origins):
        return []
    credentials = rules.get("AllowCredentials", False)
    allowed = ANY if ANY in origins and not credentials else origin
    found = [("allow-origin", allowed)]
    if credentials:
        found.append(("allow-credentials", "true"))
    if preflight:
        found += [
            (name, ", ".join(rules[key]))
            for name, key in (("allow-methods", "AllowMethods"), ("allow-headers", "AllowHeaders"))
            if rules.get(key)
        ]
        if "MaxAge" in rules:
            found.append(("max-age", str(rules["MaxAge"])))
    elif rules.get("ExposeHeaders"):
        found.append(("expose-headers", ", ".join(rules["ExposeHeaders"])))
    return [*((f"{PREFIX}{name}", value) for name, value in found), ("vary", "Origin")]
