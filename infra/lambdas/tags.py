"""Tags of functions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ...actions import LATEST
from ..aws import Entries, Required, Text, members, read
from .configuration import invalid, named
from .lookup import owner_of
from .protocol import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...composer import JSON
    from .api import LambdaApi
    from .configuration import Named
    from .protocol import ApiCall

MOST = 50  # tags of a function
DONE = 204
RESERVED = "aws:"
_ARN = re.compile(r"arn:aws[a-zA-Z-]*:lambda:[a-z0-9-]+:\d{12}:function:[a-zA-Z0-9-_]+(:[^:]+)?")
_PERMITTED = re.compile(r"[\w\s.:/=+\-@]*")
_TAGS = Entries(Text(least=1, most=128), Text(most=256), most=200)
GIVEN = members(Tags=Required(_TAGS))
OPTIONAL = members(Tags=_TAGS)


def tags_in(doc: Mapping[str, JSON]) -> dict[str, str]:
    """The checked tags in the request for a new function.

    Raises:
        AwsError: a tag is malformed, or there are too many.
    """
    return checked({}, read(OPTIONAL, {**doc}).get("Tags", {}))


def checked(tags: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The tags with those of a request; a tag replaces one with the same key.

    Raises:
        AwsError: InvalidParameterValueException: a tag is malformed, or there are too many.
    """
    for key, value in given.items():
        if key.lower().startswith(RESERVED):
            raise invalid(f"Tag key '{key}' is reserved: keys must not begin with '{RESERVED}'.")
        for text in (key, value):
            if not _PERMITTED.fullmatch(text):
                raise invalid(
                    f"Tag text '{text}' has a character that is not permitted: use letters, digits, spaces and "
                    "_ . : / = + - @"
                )
    made = {**tags, **given}
    if len(made) > MOST:
        raise invalid(
            f"The number of tags exceeds the limit of {MOST} for a function: {len(made)}."
        )
    return made


async def tag_resource(call: ApiCall, api: LambdaApi) -> Answer:
    given = read(GIVEN, call.document)["Tags"]
    name = _resource(call).action(call.namespace)
    async with api.lambdas.changing(name):
        owner = owner_of(name, api)
        tags = checked(owner.record.tags, given)
        await api.lambdas.keep(owner, replace(owner.record, tags=tags))
    return Answer(b"", DONE)


async def untag_resource(call: ApiCall, api: LambdaApi) -> Answer:
    """Removes tags; unknown keys are ignored."""
    keys = call.request.query_params.getlist("tagKeys")
    if not keys:
        raise invalid("tagKeys must name at least one key.")
    name = _resource(call).action(call.namespace)
    async with api.lambdas.changing(name):
        owner = owner_of(name, api)
        tags = {key: value for key, value in owner.record.tags.items() if key not in keys}
        await api.lambdas.keep(owner, replace(owner.record, tags=tags))
    return Answer(b"", DONE)


async def list_tags(call: ApiCall, api: LambdaApi) -> Answer:
    owner = owner_of(_resource(call).action(call.namespace), api)
    return Answer({"Tags": {**owner.record.tags}})


def _resource(call: ApiCall) -> Named:
    """The function whose ARN is in the path.

    Raises:
        AwsError: the text is not the ARN of a function, or names a version or an alias.
    """
    text = call.part("arn")
    if not _ARN.fullmatch(text):
        raise invalid(f"'{text:.200}' is not the ARN of a function: only functions have tags here.")
    meant = named(text)
    if meant.qualifier not in (None, LATEST):
        raise invalid(
            "Tags on function aliases and versions are not supported. Please specify a function ARN."
        )
    return meant
