"""Basic authentication with a namespace's uuid and key."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from ...actions import ForbiddenError, UnauthorizedError

if TYPE_CHECKING:
    from starlette.requests import Request

    from ..access import Namespaces


class Authenticator:
    """Finds the namespace that sends a request."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces

    def caller(self, request: Request) -> str:
        """The namespace whose key the request has.

        Raises:
            UnauthorizedError: the key is missing or wrong; the text is OpenWhisk's.
        """
        header = request.headers.get("authorization")
        if header is None:
            raise UnauthorizedError(
                "The resource requires authentication, which was not supplied with the request"
            )
        scheme, _, encoded = header.partition(" ")
        try:
            user, _, key = base64.b64decode(encoded, validate=True).decode().partition(":")
        except ValueError:  # not base64, or not text
            user, key = "", ""
        name = self._namespaces.authenticated(user, key) if scheme.lower() == "basic" else None
        if name is None:
            raise UnauthorizedError("The supplied authentication is invalid")
        request.scope["proved"] = True  # its body counts as one of an authenticated sender
        return name

    def named(self, request: Request) -> tuple[str, str]:
        """The caller, and the namespace that the path names; `_` is the caller's own.

        Raises:
            UnauthorizedError: the credentials are missing or wrong.
        """
        caller = self.caller(request)
        named = request.path_params["namespace"]
        return caller, caller if named == "_" else named

    def own(self, request: Request) -> str:
        """The caller's namespace, which must be the one that the path names.

        Raises:
            UnauthorizedError: the credentials are missing or wrong.
            ForbiddenError: the path names another namespace.
        """
        caller, named = self.named(request)
        if named != caller:
            raise ForbiddenError(f"{named}/{request.path_params.get('name', '')}")
        return caller
