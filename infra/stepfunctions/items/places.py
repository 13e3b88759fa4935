"""Finds the buckets of a namespace: in a directory of this machine, or on S3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....actions import LAMBDA, PERMISSION, Remote
from ....adapters import MISSING, Fault, Request, SecretError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....actions import Invocation
    from ....adapters import Authorizers, ObjectPart, Objects, Page, Secrets
    from .directory import DirectoryObjects


@dataclass(frozen=True, slots=True)
class Places:
    """Finds buckets.

    Args:
        directory: buckets that are directories, for the namespaces that may use the server's own credentials;
            None if the server has none.
        on_s3: makes the objects on S3 that a request may use; None if this server cannot use S3.
        authorizers: credentials for requests.
        secrets: secrets of namespaces.
    """

    directory: DirectoryObjects | None
    on_s3: Callable[[Request], Objects] | None
    authorizers: Authorizers
    secrets: Secrets

    def seen_by(self, invocation: Invocation, deadline_ms: int) -> Objects:
        """The objects that an invocation may use, until its deadline."""
        may = not invocation.lent and self.secrets.ambient(invocation.namespace)
        own = self.directory if may else None
        return _Seen(self, invocation, deadline_ms, own)

    def s3(self, invocation: Invocation, deadline_ms: int) -> Objects:
        """Objects on S3.

        Raises:
            SecretError: the namespace has no credentials, or this server cannot use S3.
        """
        if self.on_s3 is None:
            raise SecretError(MISSING)
        if invocation.lent:
            raise SecretError(
                f"an action of the namespace '{invocation.owner}' that '{invocation.namespace}' runs gets the "
                "secrets of neither"
            )
        return self.on_s3(
            Request(
                target=Remote(LAMBDA, "s3"),
                params={},
                deadline_ms=deadline_ms,
                key=invocation.idempotency_key,
                traceparent=invocation.traceparent,
                authorizer=self.authorizers.on_aws(invocation.namespace),
            )
        )


class _Seen:
    """Objects in all buckets, in the directory or on S3. `Objects`."""

    def __init__(
        self,
        places: Places,
        invocation: Invocation,
        deadline_ms: int,
        directory: DirectoryObjects | None,
    ) -> None:
        self._places, self._invocation, self._deadline_ms = places, invocation, deadline_ms
        self._directory = directory
        self._on_s3: Objects | None = None

    async def read(
        self, bucket: str, key: str, version: str | None, span: tuple[int, int], etag: str
    ) -> ObjectPart | Fault:
        where = self._where(bucket)
        return (
            where
            if isinstance(where, Fault)
            else await where.read(bucket, key, version, span, etag)
        )

    async def page(self, bucket: str, prefix: str, after: str, most: int) -> Page | Fault:
        where = self._where(bucket)
        return where if isinstance(where, Fault) else await where.page(bucket, prefix, after, most)

    async def write(self, bucket: str, key: str, body: bytes) -> Fault | None:
        where = self._where(bucket)
        return where if isinstance(where, Fault) else await where.write(bucket, key, body)

    def _where(self, bucket: str) -> Objects | Fault:
        if self._directory is not None and self._directory.has(bucket):
            return self._directory
        if self._on_s3 is None:
            try:
                self._on_s3 = self._places.s3(self._invocation, self._deadline_ms)
            except SecretError as error:
                return Fault.saying(PERMISSION, str(error), "no")
        return self._on_s3
