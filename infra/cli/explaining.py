"""Remedies beside the server's refusals, which are OpenWhisk's texts: similar names, other kinds, other commands.

An explanation asks the server again, so it is made only for an error that reaches the user.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ..client import NAMESPACES
from .client import ApiError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from .client import Client

FORBIDDEN, NOT_FOUND, CONFLICT = 403, 404, 409
KINDS = {"actions": "action", "packages": "package", "triggers": "trigger", "rules": "rule"}
RECORDS = {
    "activations": "activation",
    "executions": "execution",
    "batches": "batch",
    "limits": "limit",
}
_MISSING = "The requested resource does not exist."
_EXISTS = "resource already exists"
_OTHER_KIND = "is not in this collection"
_PATH = re.compile(rf"{NAMESPACES}/([^/]+)/([a-z-]+)/(.+)")


@contextmanager
def explained(client: Client) -> Iterator[None]:
    """Replaces an error that leaves the block by one that names the remedy, if there is one."""
    try:
        yield
    except ApiError as error:
        told = explain(client, error)
        if told is error:
            raise
        raise told from error


def explain(client: Client, error: ApiError) -> ApiError:
    """An error whose text names the remedy; the same error if there is nothing to add."""
    method, path = error.request or ("", "")
    found = _PATH.fullmatch(path)
    if found is None:
        return error
    namespace, collection, name = found[1], found[2], unquote(found[3])
    try:
        own = str(client.get(NAMESPACES)[0])
        namespace = own if namespace == "_" else unquote(namespace)
        named = _Named(namespace, collection, name, own)
        text = _text(client, error, method, named)
    except (ApiError, LookupError, TypeError):  # the first error is the one to tell
        return error
    return error if text is None else ApiError(text, error.status, exit_code=error.exit_code)


class _Named:
    """The definition that a request named."""

    def __init__(self, namespace: str, collection: str, name: str, own: str) -> None:
        self.namespace, self.collection, self.own = namespace, collection, own
        self.kind = KINDS.get(collection) or RECORDS.get(collection, "")
        self.package, _, self.name = name.rpartition("/")
        self.path = name

    @property
    def shown(self) -> str:
        """Its name as a command takes it."""
        return self.path if self.namespace == self.own else f"/{self.namespace}/{self.path}"


def _text(client: Client, error: ApiError, method: str, named: _Named) -> str | None:
    text = str(error)
    if error.status == FORBIDDEN and named.namespace != named.own:
        return (
            f"{text.removesuffix(f' ({FORBIDDEN})')} Your credentials belong to the namespace "
            f"{named.own!r}: check the namespace {named.namespace!r} in the name, or give the "
            "credentials of that namespace"
        )
    if error.status == NOT_FOUND and _MISSING in text:
        return _missing(client, method, named)
    if error.status == CONFLICT and _EXISTS in text and named.collection in KINDS:
        return (
            f"the {named.kind} {named.shown!r} exists already: change it with "
            f"`xingqiao {named.kind} update {named.shown}`"
        )
    if error.status == CONFLICT and _OTHER_KIND in text:
        doc = client.get(f"{NAMESPACES}/_")
        kind = next(
            kind
            for many, kind in KINDS.items()
            if named.path in {item["name"] for item in doc[many]}
        )
        return _belongs(named.shown, kind)
    return None


def _belongs(name: str, kind: str) -> str:
    return (
        f"the name {name!r} belongs to {'an' if kind == 'action' else 'a'} {kind}: choose another name, or delete the {kind} with "
        f"`xingqiao {kind} delete {name}`"
    )


def _missing(client: Client, method: str, named: _Named) -> str | None:
    where = f"in the namespace {named.namespace!r}"
    if named.collection in RECORDS:
        id = named.path.partition("/")[0]
        return (
            f"the {named.kind} {id!r} does not exist {where}: `xingqiao {named.kind} list` shows "
            f"the {named.collection}"
        )
    if named.collection not in KINDS:
        return None
    if named.package:
        packages = _names(client, "packages", named.namespace)
        if named.package not in packages:
            remedy = _close(named.package, packages) or (
                f"create it with `xingqiao package create {named.package}`"
                if method == "PUT"
                else f"`xingqiao package list /{named.namespace}` shows the packages"
            )
            return f"the package {named.package!r} does not exist {where}: {remedy}"
        inside = client.ask_action("GET", f"/{named.namespace}/{named.package}/", limit=200)
        names = [doc["name"] for doc in inside]
        remedy = _close(named.name, names) or (
            f"`xingqiao action list /{named.namespace}/{named.package}` shows the actions"
        )
        return (
            f"the action {named.name!r} does not exist in the package "
            f"'/{named.namespace}/{named.package}': {remedy}"
        )
    names = _names(client, named.collection, named.namespace)
    remedy = _close(named.name, names) or (
        f"`xingqiao {named.kind} list` shows the {named.collection}"
    )
    return f"the {named.kind} {named.name!r} does not exist {where}: {remedy}"


def _names(client: Client, collection: str, namespace: str) -> list[str]:
    found = client.collection(collection, namespace, limit=200)
    return [doc["name"] for doc in found if "/" not in doc["namespace"]]


def _close(name: str, names: Collection[str]) -> str:
    """`did you mean ...?` for names that are like this one; "" if there are none."""
    close = get_close_matches(name, names)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else ""
