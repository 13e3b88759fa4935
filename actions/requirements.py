"""The packages that an action needs: `exec.requirements`, checked.

Python: a list of requirements as in PEP 508, each perhaps with `--hash=`. Node.js: an object of ranges of versions
by name, as the `dependencies` of a package.json. Both become a tuple of texts; for Node.js, of `NAME@RANGE`.

A server fetches packages from its own index only: a URL or a path that a user chooses would be opened with the
server's rights, and in the server's network.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .errors import InvalidError
from .kinds import NODE, PYTHON

if TYPE_CHECKING:
    from ..composer import JSON

MAX_REQUIREMENTS = 256  # packages of one action
MAX_CHARS = 16_384  # of one requirement: a package for many platforms has a hundred hashes
HASH = "--hash="
# The importable names of runtimes/python/requirements.txt and runtimes/node/package.json.
OFFERED = {
    PYTHON: (
        "bs4", "certifi", "charset_normalizer", "dateutil", "httplib2", "idna", "kafka", "lxml",
        "pyparsing", "requests", "simplejson", "soupsieve", "typing_extensions", "urllib3",
    ),
    NODE: ("openwhisk", "redis", "redis-commands", "uuid"),
}  # fmt: skip
"""Modules that code of a kind may import without naming their packages."""

_OPERATOR = r"(?:===|==|~=|!=|<=|>=|<|>)"
_VERSION = rf"{_OPERATOR} ?[A-Za-z0-9.*+!_-]+"
_VERSIONS = rf"{_VERSION}(?: ?, ?{_VERSION})*"
_PYTHON = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"  # the name
    r"(?: ?\[[A-Za-z0-9._, -]*\])?"  # extras
    rf"(?: ?{_VERSIONS}| ?\( ?{_VERSIONS} ?\))?"
    r"(?: ?;[A-Za-z0-9_.'\"<>=!~(), *+-]+)?"  # a marker, which the installer reads
)
_HASH = re.compile(r"--hash=(?:sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})")
_OPTION = re.compile(r"(?:^| )-")
_NPM_NAME = re.compile(r"(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~_-][A-Za-z0-9._~-]{0,213}")
_NPM_RANGE = re.compile(r"[A-Za-z0-9.*^~<>=|+ -]*")

OPTIONS = (
    "options such as -e, -r and --index-url are refused, because the installer runs with the "
    "server's rights: the operator configures it"
)
URLS = (
    "URLs are refused, because the server fetches packages from its own index only: "
    "name the package and its version"
)
PATHS = (
    "paths of files are refused, because the server has not got your files: name the package and its "
    "version, or have the operator put its wheel into the folder of XINGQIAO_WHEELS"
)


def parsed_requirements(kind: str, value: JSON) -> tuple[str, ...]:
    """Reads `exec.requirements` of code of this kind. None and an empty value are no requirements.

    Raises:
        InvalidError: a requirement is malformed or refused. The message names it.
    """
    if value is None:
        return ()
    return _of_node(value) if kind == NODE else _of_python(value)


def shown_requirements(kind: str, requirements: tuple[str, ...]) -> JSON:
    """Returns requirements as they were written."""
    if kind != NODE:
        return list(requirements)
    return {name: range for name, _, range in (line.rpartition("@") for line in requirements)}


def _of_python(value: JSON) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _malformed("", "must be a list such as ['requests>=2.31'] for this kind")
    _count(len(value))
    lines = []
    for at, line in enumerate(value):
        place = f"[{at}]"
        if not isinstance(line, str):
            raise _malformed(place, "must be a string such as 'requests>=2.31'")
        lines.append(_line(place, line))
    hashed = [HASH in line for line in lines]
    if any(hashed) and not all(hashed):
        why = "has no --hash, and others have: give hashes for all requirements or for none"
        raise _malformed(f"[{hashed.index(False)}]", why)
    return tuple(lines)


def _line(place: str, line: str) -> str:
    if len(line) > MAX_CHARS:
        raise _malformed(place, f"has {len(line)} characters: at most {MAX_CHARS} are allowed")
    head, *hashes = re.split(r" (?=--hash=)", " ".join(line.split()))
    if not all(map(_HASH.fullmatch, hashes)):
        raise _malformed(place, "has a --hash that is not one: write --hash=sha256:HEXADECIMAL")
    if "://" in head or re.search(r"[\w\]]\s*@", head):
        raise _malformed(place, URLS)  # without its text: a URL may hold credentials
    if _OPTION.search(head):
        raise _malformed(place, OPTIONS)
    if (
        "/" in head
        or "\\" in head
        or head.startswith(".")
        or head.endswith((".whl", ".gz", ".zip"))
    ):
        raise _malformed(place, PATHS)
    if not _PYTHON.fullmatch(head):
        raise _malformed(
            place, f"must be a requirement such as 'requests>=2.31', not {head!r:.100}"
        )
    return " ".join([head, *hashes])


def _of_node(value: JSON) -> tuple[str, ...]:
    if not isinstance(value, dict):
        raise _malformed("", 'must be an object such as {"lodash": "^4.17.21"} for this kind')
    _count(len(value))
    return tuple(sorted(_dependency(name, range) for name, range in value.items()))


def _dependency(name: str, range: Any) -> str:
    if not _NPM_NAME.fullmatch(name):
        raise _malformed("", f"has {name!r:.100}, which cannot be the name of a package")
    if not isinstance(range, str):
        raise _malformed(f".{name}", "must be a string such as '^4.17.21'")
    if len(range) > MAX_CHARS:
        raise _malformed(
            f".{name}", f"has {len(range)} characters: at most {MAX_CHARS} are allowed"
        )
    if "://" in range or "@" in range:
        raise _malformed(f".{name}", URLS)
    if ":" in range or "/" in range:
        raise _malformed(f".{name}", PATHS)
    if not _NPM_RANGE.fullmatch(range):
        raise _malformed(f".{name}", f"must be a range such as '^4.17.21', not {range!r:.100}")
    return f"{name}@{range}"


def _count(count: int) -> None:
    if count > MAX_REQUIREMENTS:
        raise _malformed("", f"has {count} packages: at most {MAX_REQUIREMENTS} are allowed")


def _malformed(place: str, why: str) -> InvalidError:
    return InvalidError(f"The request content was malformed:\n'exec.requirements{place}': {why}")
