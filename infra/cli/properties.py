"""`xingqiao property ...`: the file `.wskprops`, which OpenWhisk's clients read, too."""

from __future__ import annotations

import click

from . import output
from .client import credentials_in
from .options import as_json
from .wskprops import path, read, write

NAMES = {  # options, and what the file calls them
    "apihost": "APIHOST",
    "auth": "AUTH",
    "namespace": "NAMESPACE",
    "apiversion": "APIVERSION",
}


@click.group("property")
def property_() -> None:
    """Properties of this user: get, set, unset."""


@property_.command("set")
@click.option("--apihost", help="URL of the server.")
@click.option(
    "--auth",
    "-u",
    metavar="UUID:KEY",
    help="Credentials. Others on this machine can read them in the list of processes meanwhile: prefer "
    "--auth-file.",
)
@click.option("--auth-file", metavar="FILE", help="File with the credentials.")
@click.option("--namespace", help="Namespace.")
@click.option("--apiversion", help="Version of the API.")
def set_(auth_file: str | None, **given: str | None) -> None:
    """Set properties, which commands use from then on."""
    given["auth"] = given["auth"] or credentials_in(auth_file)
    changes = {NAMES[name]: value for name, value in given.items() if value is not None}
    if not changes:
        raise click.UsageError("nothing to set: give --apihost, --auth, --namespace, --apiversion")
    for name, value in changes.items():
        if "\n" in value:
            raise click.UsageError(f"{name} must be one line")
    write({**read(), **changes})
    for name, value in changes.items():
        output.done(f"{name} is {'set' if name == 'AUTH' else value}")


@property_.command()
@click.option("--apihost", is_flag=True)
@click.option("--auth", "-u", is_flag=True)
@click.option("--namespace", is_flag=True)
@click.option("--apiversion", is_flag=True)
def unset(**given: bool) -> None:
    """Remove properties."""
    gone = {NAMES[name] for name, wanted in given.items() if wanted}
    if not gone:
        raise click.UsageError("nothing to unset: give --apihost, --auth, ...")
    write({name: value for name, value in read().items() if name not in gone})
    output.done(f"{', '.join(sorted(gone))} removed")


@property_.command()
@click.option("--apihost", is_flag=True)
@click.option("--auth", "-u", is_flag=True)
@click.option("--namespace", is_flag=True)
@click.option("--apiversion", is_flag=True)
@click.option("--all", "everything", is_flag=True, help="All of them [default].")
@as_json
def get(*, everything: bool, as_json: bool, **given: bool) -> None:
    """Show properties."""
    wanted = {NAMES[name] for name, asked in given.items() if asked}
    if everything or not wanted:
        wanted = set(NAMES.values())
    found = {name: value for name, value in read().items() if name in wanted}
    if as_json:
        output.write_json(found)
    else:
        output.table(("property", "value"), found.items(), f"nothing is set in {path()}")
