"""Secrets of namespaces, and the authorizers made from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from ..actions import LAMBDA, Remote
from .credentials import AMBIENT, Expiring, SecretError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..composer import JSON
    from .credentials import Tokens
    from .port import Adapter, Authorizer

AWS_SECRET = "aws"  # noqa: S105  the name of the secret with which a namespace itself calls AWS
MAX_KEPT = 10_000  # authorizers, of all namespaces


class Secrets(Protocol):
    """The store of named secrets. Law: the secrets of one namespace are not found in another."""

    def find(self, namespace: str, name: str) -> JSON:
        """The secret of this name; None if no secret has this name."""

    def ambient(self, namespace: str) -> bool:
        """True if a namespace may use the server's own credentials."""


class Authorizers:
    """Authorizers of actions, kept for as long as their secrets stay the same."""

    def __init__(self, secrets: Secrets, tokens: Tokens, adapters: Mapping[str, Adapter]) -> None:
        self._secrets, self._tokens, self._adapters = secrets, tokens, adapters
        self._made: dict[tuple[str, str, str], tuple[JSON, Authorizer]] = {}
        self._ambient: dict[tuple[str, str], Authorizer | None] = {}

    def of(self, remote: Remote, owner: str) -> Authorizer | None:
        """The authorizer for an action of a namespace; None if the action needs no credentials.

        Raises:
            SecretError: the action names a secret that does not exist or cannot be used.
        """
        name, audience = remote.option("credentials"), audience_of(remote)
        if name is None and remote.kind.startswith("aws:"):
            name = AMBIENT
        if name is None:
            return None
        if name == AMBIENT:
            return _leased(self._of_server(remote, owner, audience))
        secret = self._secrets.find(owner, name)
        if secret is None:
            raise SecretError(
                f"namespace '{owner}' has no secret '{name}': xingqiao secret set {name}"
            )
        known = self._made.get((owner, name, audience))
        if known is None or known[0] != secret:
            if len(self._made) >= MAX_KEPT:
                self._made.clear()  # the next request makes a new authorizer
            known = self._made[owner, name, audience] = (
                secret,
                self._tokens.authorizer(secret, audience),
            )
        return _leased(known[1])

    def on_aws(self, owner: str, *, ambient: bool = True) -> Authorizer | None:
        """The authorizer of a namespace for AWS: its secret `aws` if it has one, else this server's credentials.

        Raises:
            SecretError: the namespace has no such secret, and may not use this server's credentials.
        """
        has = self._secrets.find(owner, AWS_SECRET) is not None
        if not has and not ambient:
            raise SecretError(
                f"namespace '{owner}' has no secret '{AWS_SECRET}' (xingqiao secret set {AWS_SECRET}), and may "
                "not use this server's own credentials for AWS' services (XINGQIAO_AMBIENT_SERVICES)"
            )
        return self.of(Remote(LAMBDA, "", {"credentials": AWS_SECRET if has else AMBIENT}), owner)

    def _of_server(self, remote: Remote, owner: str, audience: str) -> Authorizer | None:
        if not self._secrets.ambient(owner):
            raise SecretError(
                f"namespace '{owner}' may not use this server's own credentials: name a secret of its "
                "own in 'credentials'"
            )
        if remote.option("audience") and not _same_origin(audience, remote.function):
            raise SecretError(
                "'audience' must be of the function's own host if the server's own credentials are used: "
                "else the function could use the token elsewhere, in this server's name"
            )
        place = remote.kind, "" if remote.kind.startswith("aws:") else audience
        if place not in self._ambient:
            if len(self._ambient) >= MAX_KEPT:
                self._ambient.clear()
            self._ambient[place] = self._adapters[remote.kind].ambient(remote)
        return self._ambient[place]


def _same_origin(one: str, other: str) -> bool:
    return urlsplit(one)[:2] == urlsplit(other)[:2]


def _leased(authorizer: Authorizer | None) -> Authorizer | None:
    return authorizer.lease() if isinstance(authorizer, Expiring) else authorizer


def audience_of(remote: Remote) -> str:
    """The audience of an identity token for this function."""
    return str(remote.option("audience") or remote.option("host") or remote.function)
