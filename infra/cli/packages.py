"""`xingqiao package ...`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import output
from .client import ApiError, annotations_of
from .options import annotated, as_json, connected, key_values, pages, parameters

if TYPE_CHECKING:
    from .client import Client

PACKAGES = "packages"
SHARED = click.option(
    "--shared", type=click.BOOL, help="Let every namespace use the package [default: no]."
)
HIDDEN = click.option(
    "--hide/--show",
    default=None,
    help="Hide code and parameter values from other namespaces [default: show].",
)


@click.group()
def package() -> None:
    """Manage packages: create, update, bind, get, list, delete."""


def _put(client: Client, name: str, *, overwrite: bool, as_json: bool, **given: Any) -> None:
    document: dict[str, Any] = {}
    if given["params"]:
        document["parameters"] = key_values(given["params"])
    notes = dict(given["notes"])
    if given.get("hide") is not None:
        kept = _annotations(client, name) if overwrite and not notes else {}
        notes = {**kept, **notes, "hide": given["hide"]}
    if notes:
        document["annotations"] = key_values(notes)
    if given.get("shared") is not None:
        document["publish"] = given["shared"]
    if given.get("binding"):
        document["binding"] = given["binding"]
    made = client.ask_named("PUT", PACKAGES, name, body=document, overwrite=overwrite)
    output.write_json(made) if as_json else output.done(f"{made['name']} {made['version']}")


def _annotations(client: Client, name: str) -> dict[str, Any]:
    """Annotations of a package, which `--hide` alone must keep."""
    try:
        found = client.ask_named("GET", PACKAGES, name)
    except ApiError as error:
        if not error.is_missing:
            raise
        return {}
    return annotations_of(found)


@package.command(epilog="\b\nExample:\n  xingqiao package create images --shared yes -p width 200")
@click.argument("name")
@SHARED
@HIDDEN
@annotated
@parameters
@as_json
@connected
def create(client: Client, name: str, **given: Any) -> None:
    """Create the package NAME.

    Parameters become defaults of all actions in the package.
    """
    _put(client, name, overwrite=False, **given)


@package.command(epilog="\b\nExample:\n  xingqiao package update images --shared no")
@click.argument("name")
@SHARED
@HIDDEN
@annotated
@parameters
@as_json
@connected
def update(client: Client, name: str, **given: Any) -> None:
    """Update the package NAME, or create it."""
    _put(client, name, overwrite=True, **given)


@package.command(
    epilog="\b\nExample:\n  xingqiao package bind /team-a/images pictures -p width 400"
)
@click.argument("provider")
@click.argument("name")
@annotated
@parameters
@as_json
@connected
def bind(client: Client, provider: str, name: str, **given: Any) -> None:
    """Bind the package PROVIDER to the new name NAME.

    PROVIDER is /NAMESPACE/PACKAGE. Parameters of the binding override those of the package.
    """
    namespace, _, bound = provider.removeprefix("/").rpartition("/")
    binding = {"namespace": namespace or "_", "name": bound}
    _put(client, name, overwrite=False, binding=binding, **given)


@package.command()
@click.argument("name")
@click.option("--summary", is_flag=True, help="Show the package's actions and feeds in a table.")
@as_json
@connected
def get(client: Client, name: str, *, summary: bool, as_json: bool) -> None:
    """Show the package NAME."""
    found = client.ask_named("GET", PACKAGES, name)
    if as_json:
        output.write_json(found)
    elif summary:
        inside = [("action", doc) for doc in found["actions"]]
        inside += [("feed", doc) for doc in found["feeds"]]
        rows = [(what, doc["name"], doc["version"], _about(doc)) for what, doc in inside]
        output.table(("", "name", "version", "description"), rows, "the package is empty")
    else:
        output.document(found)


def _about(doc: dict[str, Any]) -> str:
    return str(annotations_of(doc).get("description", ""))


@package.command("list")
@click.argument("namespace", required=False)
@pages
@as_json
@connected
def list_(client: Client, namespace: str | None, *, as_json: bool, **page: int) -> None:
    """List the packages of the namespace.

    With NAMESPACE, such as /whisk.system, the list contains the shared packages of that namespace.
    """
    found = client.collection(PACKAGES, namespace, **page)
    if as_json:
        output.write_json(found)
        return
    rows = [
        (
            f"/{doc['namespace']}/{doc['name']}",
            "shared" if doc["publish"] else "private",
            "" if not doc["binding"] else "/{namespace}/{name}".format(**doc["binding"]),
            doc["version"],
        )
        for doc in found
    ]
    output.table(("package", "", "binding of", "version"), rows, "no packages")


@package.command()
@click.argument("name")
@click.option("--force", is_flag=True, help="Delete the actions in the package too.")
@as_json
@connected
def delete(client: Client, name: str, *, force: bool, as_json: bool) -> None:
    """Delete the package NAME."""
    gone = client.ask_named("DELETE", PACKAGES, name, force=force)
    output.write_json(gone) if as_json else output.done(f"{name} is deleted")
