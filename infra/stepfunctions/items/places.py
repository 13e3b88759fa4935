"""Where buckets are, for one namespace: in a directory of this machine, or on S3."""

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
    """Knows where buckets are.

    Args:
        directory: buckets that are directories; None when there are none. They are this server's own, as its
            credentials are: for the namespaces that may use those.
        on_s3: makes objects on S3, as those see them who ask; None when that cannot work here.
        authorizers: who asks.
        secrets: of namespaces.
    """

    directory: DirectoryObjects | None
    on_s3: Callable[[Request], Objects] | None
    authorizers: Authorizers
    secrets: Secrets

    def seen_by(self, invocation: Invocation, deadline_ms: int) -> Objects:
        """All objects that a namespace's run may use, until its deadline."""
        may = not invocation.lent and self.secrets.ambient(invocation.namespace)
        own = self.directory if may else None
        return _Seen(self, invocation, deadline_ms, own)

    def s3(self, invocation: Invocation, deadline_ms: int) -> Objects:
        """Objects on S3.

        Raises:
            SecretError: when the namespace has nothing to ask with, or nothing can be asked.
        """
        if self.on_s3 is None:
            raise SecretError(MISSING)
        if invocation.lent:
            raise SecretError(
                f"what is of the namespace '{invocation.owner}' and is run by '{invocation.namespace}' is "
                "given the secrets of neither"
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
    """Objects wherever their buckets are. `Objects`."""

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
