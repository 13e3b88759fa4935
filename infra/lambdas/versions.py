"""Versions of functions: immutable copies with a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..aws import AwsError, Text, members, read
from .configuration import invalid
from .functions import every_version, last_version, place_of
from .lookup import function_only, name_of
from .pages import page
from .protocol import Answer
from .revisions import check_revision

if TYPE_CHECKING:
    from .api import LambdaApi
    from .protocol import ApiCall

PUBLISHED = members(CodeSha256=Text(), Description=Text(most=256), RevisionId=Text())
CREATED, CONFLICT = 201, 409


async def publish_version(call: ApiCall, api: LambdaApi) -> Answer:
    """Publishes a version of what a function is now; returns the last version if nothing has changed since."""
    given = read(PUBLISHED, call.document)
    async with api.lambdas.changing(name_of(call)):
        owner = function_only(call, api)
        check_revision(given.get("RevisionId"), owner.function["RevisionId"])
        sha = owner.function["CodeSha256"]
        if given.get("CodeSha256") not in (None, "", sha):
            raise invalid(
                f"CodeSHA256 ({given['CodeSha256']}) is different from current CodeSHA256 in $LATEST ({sha}). "
                "Please try again with the CodeSHA256 in $LATEST."
            )
        owner = await api.lambdas.publish(owner, given.get("Description", ""))
        if api.lambdas.version(owner, str(owner.record.published)) is None:
            raise AwsError(
                "ResourceConflictException", "The version was deleted meanwhile.", CONFLICT
            )
    return Answer(last_version(owner, api), CREATED)


async def list_versions(call: ApiCall, api: LambdaApi) -> Answer:
    """Lists `$LATEST` and the versions of a function, in pages."""
    owner = function_only(call, api)
    listed, more = page(every_version(owner, api), lambda about: place_of("", about), call)
    return Answer({"Versions": [*listed], **more})
