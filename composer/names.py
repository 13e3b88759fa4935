"""Fully qualified names of actions, and the ids derived from where a step stands.

Grammar: OpenWhisk's, as its controller and Composer read it: an entity name is a letter, digit or
underscore followed by up to 255 of those, space, @, ., &, or -, with no space at the end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import blake2s

from .errors import InvalidNameError

DEFAULT_NAMESPACE = "_"  # the namespace of the caller: resolved when the name is used
MAX_NAME = 256

_PART = re.compile(r"\A(?:\w|\w[\w@ .&-]{0,254}[\w@.&-])\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Name:
    """`/namespace/name` or `/namespace/package/name`.

    `path` is the name inside its namespace: `name` or `package/name`. `text` is the whole name. Both are made
    once: every step reads them.
    """

    namespace: str
    package: str | None
    name: str
    path: str = field(init=False, repr=False, compare=False)
    text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        path = f"{self.package}/{self.name}" if self.package else self.name
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "text", f"/{self.namespace}/{path}")

    def __str__(self) -> str:
        return self.text

    def within(self, namespace: str) -> Name:
        """This name, with the default namespace `_` replaced by `namespace`."""
        if self.namespace != DEFAULT_NAMESPACE:
            return self
        return Name(namespace, self.package, self.name)

    @classmethod
    def parse(cls, text: str) -> Name:
        """Reads `name`, `package/name`, `/namespace/name` or `/namespace/package/name`.

        Raises:
            InvalidNameError: naming the invalid part.
        """
        if not isinstance(text, str):
            raise InvalidNameError(f"an action name must be a string, not {text!r}")
        parts = text.strip().split("/")
        if len(parts) > 1 and not parts[0]:
            parts = parts[1:]
            if not 2 <= len(parts) <= 3:  # noqa: PLR2004  /ns/name or /ns/package/name
                raise InvalidNameError(
                    f"action name {text!r}: a name that starts with '/' is "
                    "'/namespace/name' or '/namespace/package/name'"
                )
        elif len(parts) <= 2:  # noqa: PLR2004  name or package/name
            parts = [DEFAULT_NAMESPACE, *parts]
        else:
            raise InvalidNameError(
                f"action name {text!r}: a relative name is 'name' or 'package/name'; "
                "start it with '/' to name a namespace"
            )
        for part in parts:
            check_part(part, within=text)
        namespace, *package, name = parts
        return cls(namespace, package[0] if package else None, name)


def check_part(part: str, *, within: str | None = None) -> str:
    """Returns one segment of a name, unchanged.

    Raises:
        InvalidNameError: when OpenWhisk's grammar refuses it.
    """
    if not isinstance(part, str) or not _PART.match(part):
        where = f"{within!r}: " if within is not None else ""
        raise InvalidNameError(
            f"name {where}{part!r} must be 1 to {MAX_NAME} ASCII letters, digits or any of "
            "'_ @.&-', start with a letter, a digit or '_', and not end with a space"
        )
    return part


def activation_id(execution: str, fiber: str, turn: int, generation: int = 0) -> str:
    """The activation id of the step that `fiber` of `execution` waits for in `turn`.

    `generation` counts the redrives of the execution: a step that runs again has another id.

    It has 32 lowercase hexadecimal digits, as in OpenWhisk. It is derived, not random, so that a conductor that
    starts again asks for the same activation. It begins with the time of its execution's id, so that records
    written together are stored together.
    """
    digest = blake2s(f"{execution}/{fiber}/{turn}/{generation}".encode(), digest_size=10)
    return execution[:12] + digest.hexdigest()
