"""Basic authentication with the id and the secret of a key, and the check of the key's role."""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING

from ...actions import ForbiddenError, UnauthorizedError
from ..access import INVALID, MISSING, OPERATOR

if TYPE_CHECKING:
    from starlette.requests import Request

    from ..access import Failures, Identity, Keys, Right

IDENTITY = "identity"  # of the key that a request has proved, in the request's scope


class Authenticator:
    """Finds the key that sends a request, and checks its rights.

    Args:
        keys: the keys of all namespaces.
        failures: counts failed attempts.
    """

    def __init__(self, keys: Keys, failures: Failures) -> None:
        self._keys, self.failures = keys, failures

    def admit(self, request: Request, right: Right) -> Identity:
        """Authenticates a request, and checks that its key has a right. Notes the key in the scope.

        Raises:
            UnauthorizedError: the key is missing or wrong; the text is OpenWhisk's.
            MissingRoleError: the key's role does not have the right.
        """
        try:
            identity = self._proved(request)
        except UnauthorizedError:
            self.count(request, _credentials(request.headers.get("authorization", ""))[0])
            raise
        request.scope[IDENTITY] = identity
        identity.check(right)
        return identity

    def count(self, request: Request, id: str) -> None:
        """Counts a failed attempt; `id` is the id of the key that was sent."""
        self.failures.add(
            INVALID if "authorization" in request.headers else MISSING,
            address_of(request),
            f"{request.method} {request.url.path}",
            self._keys.name_of(id),
        )

    def caller(self, request: Request) -> str:
        """The namespace whose key the request has.

        Raises:
            UnauthorizedError: the key is missing or wrong; the text is OpenWhisk's.
        """
        return self.identity(request).namespace

    def identity(self, request: Request) -> Identity:
        """The key that a request has.

        Raises:
            UnauthorizedError: the key is missing or wrong; the text is OpenWhisk's.
        """
        identity: Identity | None = request.scope.get(IDENTITY)
        return identity or self._proved(request)

    def _proved(self, request: Request) -> Identity:
        header = request.headers.get("authorization")
        if header is None:
            raise UnauthorizedError(
                "The resource requires authentication, which was not supplied with the request"
            )
        identity = self._keys.identify(*_credentials(header))
        if identity is None:
            raise UnauthorizedError("The supplied authentication is invalid")
        request.scope["proved"] = True  # its body counts as one of an authenticated sender
        return identity

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

    def administered(self, request: Request) -> str:
        """The namespace that the path names: the caller's own, or any namespace for the operator.

        Raises:
            UnauthorizedError: the credentials are missing or wrong.
            ForbiddenError: the path names another namespace, and the caller is not the operator.
        """
        caller, named = self.named(request)
        return named if caller == OPERATOR else self.own(request)


def address_of(request: Request) -> str:
    """The address of the client; "" if it is unknown."""
    return "" if request.client is None else request.client.host


def _credentials(header: str) -> tuple[str, str]:
    """The id and the secret in an Authorization header; empty if it has none."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return "", ""
    try:
        user, _, key = binascii.a2b_base64(encoded, strict_mode=True).decode().partition(":")
    except ValueError:  # not base64, or not text
        return "", ""
    return user, key
