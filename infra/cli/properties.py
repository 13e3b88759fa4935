"""`xingqiao property ...`: the file `.wskprops`, which OpenWhisk's clients also read."""

from __future__ import annotations

import click

from ..client import wskprops
from . import output
from .client import credentials_in
from .options import as_json

NAMES = {  # option: its name in the file
    "apihost": "APIHOST",
    "auth": "AUTH",
    "namespace": "NAMESPACE",
    "apiversion": "APIVERSION",
}


@click.group("property")
def property_() -> None:
    """Manage the properties of this user: get, set, unset.

    Properties are stored in ~/.wskprops, or in the file that WSK_CONFIG_FILE names.
    """


@property_.command(
    "set",
    epilog="\b\nExample:\n  xingqiao property set --apihost http://127.0.0.1:3233 --auth-file auth.txt",
)
@click.option("--apihost", help="URL of the server.")
@click.option(
    "--auth",
    "-u",
    metavar="UUID:KEY",
    help="Credentials. Other users of this machine can read them in the list of processes while the "
    "command runs: prefer --auth-file.",
)
@click.option("--auth-file", metavar="FILE", help="File that holds the credentials.")
@click.option("--namespace", help="Name of the namespace, for wsk.")
@click.option("--apiversion", help="Version of the API, for wsk.")
@as_json
def set_(auth_file: str | None, *, as_json: bool, **given: str | None) -> None:
    """Set properties, the defaults of later commands."""
    given["auth"] = given["auth"] or credentials_in(auth_file)
    changes = {NAMES[name]: value for name, value in given.items() if value is not None}
    if not changes:
        raise click.UsageError(
            "there is nothing to set: give --apihost, --auth, --auth-file, --namespace or --apiversion"
        )
    for name, value in changes.items():
        if "\n" in value:
            raise click.UsageError(f"the value of {name} must be a single line")
    wskprops.write({**wskprops.read(), **changes})
    if as_json:
        output.write_json({"set": sorted(changes)})
        return
    for name, value in changes.items():
        output.done(f"{name} is {'set' if name == 'AUTH' else value}")


@property_.command()
@click.option("--apihost", is_flag=True, help="Remove the URL of the server.")
@click.option("--auth", "-u", is_flag=True, help="Remove the credentials.")
@click.option("--namespace", is_flag=True, help="Remove the name of the namespace.")
@click.option("--apiversion", is_flag=True, help="Remove the version of the API.")
@as_json
def unset(*, as_json: bool, **given: bool) -> None:
    """Remove properties."""
    gone = {NAMES[name] for name, wanted in given.items() if wanted}
    if not gone:
        raise click.UsageError(
            "there is nothing to unset: give --apihost, --auth, --namespace or --apiversion"
        )
    wskprops.write({name: value for name, value in wskprops.read().items() if name not in gone})
    if as_json:
        output.write_json({"removed": sorted(gone)})
    else:
        output.done(f"removed {', '.join(sorted(gone))}")


@property_.command()
@click.option("--apihost", is_flag=True, help="Show the URL of the server.")
@click.option("--auth", "-u", is_flag=True, help="Show the credentials.")
@click.option("--namespace", is_flag=True, help="Show the name of the namespace.")
@click.option("--apiversion", is_flag=True, help="Show the version of the API.")
@click.option("--all", "everything", is_flag=True, help="Show all properties [default].")
@as_json
def get(*, everything: bool, as_json: bool, **given: bool) -> None:
    """Show properties."""
    wanted = {NAMES[name] for name, chosen in given.items() if chosen}
    if everything or not wanted:
        wanted = set(NAMES.values())
    found = {name: value for name, value in wskprops.read().items() if name in wanted}
    if as_json:
        output.write_json(found)
    else:
        output.table(("property", "value"), found.items(), f"no properties in {wskprops.path()}")
