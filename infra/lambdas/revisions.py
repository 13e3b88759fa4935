"""Revision ids: a client names the revision that it has read, and so does not overwrite another's change."""

from __future__ import annotations

import secrets
import uuid

from ..aws import AwsError

MODIFIED_STATUS = 412


def new_revision() -> str:
    """A new revision id."""
    return str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))


def check_revision(given: str | None, *revisions: str) -> None:
    """Checks the RevisionId of a request, if it has one.

    Raises:
        AwsError: PreconditionFailedException.
    """
    if given is not None and given not in revisions:
        raise AwsError(
            "PreconditionFailedException",
            "The Revision Id provided does not match the latest Revision Id. Call the GetFunction/"
            "GetAlias API to retrieve the latest Revision Id",
            MODIFIED_STATUS,
        )
