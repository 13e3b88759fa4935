"""`xingqiao invoke` and `action ...`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import files, output
from .client import annotations_of
from .completion import action_names
from .exit_codes import FAILED, TIMED_OUT
from .following import Call
from .options import (
    FILE,
    UNITS,
    annotated,
    as_json,
    connected,
    connected_by_host,
    key_values,
    pages,
    parameters,
)
from .standing import error_text
from .times import Duration

if TYPE_CHECKING:
    from .client import Client

OK, ACCEPTED = 200, 202
ON_OPEN = ("fail", "use", "same", "terminate")
ON_CLOSED = ("allow", "allow_failed", "reject")
WEB = click.Choice(["true", "false", "yes", "no", "raw"], case_sensitive=False)
WAIT_MS = 20_000  # time that one request waits for the end of an activation


@click.command(
    epilog="\b\nExamples:\n  xingqiao invoke pipeline -r -p build 7\n"
    "  xingqiao invoke pipeline -b -p build '{\"id\": 7}' -P defaults.json\n"
    "  xingqiao invoke pipeline --follow -p build 7"
)
@click.argument("name", shell_complete=action_names)
@parameters
@click.option("--blocking", "-b", is_flag=True, help="Wait until the action has ended.")
@click.option("--result", "-r", is_flag=True, help="Wait, and show only the result.")
@click.option(
    "--follow", "-f", is_flag=True, help="Show the timeline, the logs and then the result."
)
@click.option("--id", help="Your id for the execution, unique among the open executions.")
@click.option("--on-open", type=click.Choice(ON_OPEN), help="Reaction to an open execution with this id: refuse, "
              "use it, use it if action and parameters are the same, or end it and start [default: fail].")  # fmt: skip
@click.option("--on-closed", type=click.Choice(ON_CLOSED), help="Reaction to an ended execution with this id: "
              "start, start only if that has failed, or refuse [default: allow].")  # fmt: skip
@click.option("--token", help="Idempotency key: all calls with the same key start one execution.")
@as_json
@connected
def invoke(  # noqa: PLR0913  its options
    client: Client,
    name: str,
    params: dict[str, Any],
    *,
    blocking: bool,
    result: bool,
    follow: bool,
    as_json: bool,
    **start: str | None,
) -> int:
    """Invoke the action NAME.

    Without --blocking, --result or --follow the command prints the activation's id and does not wait. With
    one of them the exit code is 1 if the action fails, and 6 if it exceeds its time limit. With --follow and
    --json each line is a history entry, a log line, or, at the end, the record. A call that you send again
    with the same --token does not start the action again: you get the same activation. With --id you can use
    your own id wherever a command takes the id of an execution.
    """
    if follow:
        if blocking or result:
            raise click.UsageError("--follow waits and shows the result: leave -b and -r out")
        call = Call(client)
        _, answer = client.invoke(name, params, blocking=False, result=False, **start)
        record = call.show(answer["activationId"], as_json=as_json)
        return _ended(name, record, whole=as_json, as_json=as_json)
    if not (blocking or result):
        _, answer = client.invoke(name, params, blocking=False, result=False, **start)
        id = answer["activationId"]
        output.write_json(answer) if as_json else output.done(f"{name} is invoked: activation {id}")
        return 0
    record = _wait_for_end(client, name, params, start)
    return _ended(name, record, whole=not result, as_json=as_json)


def _ended(name: str, record: dict[str, Any], *, whole: bool, as_json: bool) -> int:
    """Shows the record of a run or only its result. Returns the exit code."""
    shown = record if whole else record["response"]["result"]
    output.write_json(shown) if as_json else output.document(shown)
    if record["response"]["success"]:
        return 0
    output.problem(_failure(name, record))
    return TIMED_OUT if annotations_of(record).get("timeout") else FAILED


def _failure(name: str, record: dict[str, Any]) -> str:
    """One line for a failed run: the step, the error, and the command that tells more."""
    notes, result, id = annotations_of(record), record["response"]["result"], record["activationId"]
    error = error_text(result.get("error", result) if isinstance(result, dict) else result)
    step = f" at the step {notes['failed']['name']}" if "failed" in notes else ""
    composed = notes.get("conductor") and notes.get("kind") != "sequence"
    more = f"execution get {id}" if composed else f"activation get {id}"
    return f"{name} failed{step}: {error}; to see more: xingqiao {more}"


def _wait_for_end(
    client: Client, name: str, params: dict[str, Any], start: dict[str, str | None]
) -> dict[str, Any]:
    """Invokes an action and waits for its end without a limit. Returns the activation record."""
    began = time.monotonic()
    with output.waiting(f"{name} ...") as tell:
        status, answer = client.invoke(name, params, blocking=True, result=False, **start)
        while status == ACCEPTED:
            id = answer["activationId"]
            again = f"it goes on; to see it again: xingqiao activation get {id}"
            tell(f"{name} {id} ... {time.monotonic() - began:.0f} s")
            with output.going_on(again):
                record = client.activation(id, wait_ms=WAIT_MS)
            if record is not None:
                return record
        return dict(answer)


@click.group()
def action() -> None:
    """Manage actions: create, update, invoke, get, list, delete."""


action.add_command(invoke)


@action.command("list")
@click.argument("package", required=False)
@pages
@as_json
@connected
def list_(client: Client, package: str | None, *, as_json: bool, **page: int) -> None:
    """List the actions of the namespace or of PACKAGE.

    Write /NAMESPACE/PACKAGE for the package of another namespace.
    """
    if package is None:
        found = client.ask("GET", "actions", **page)
    else:
        found = client.ask_action("GET", f"{package.rstrip('/')}/", **page)
    if as_json:
        output.write_json(found)
        return
    rows = [
        (_shown(doc), _kind(doc), doc["version"], output.instant(doc["updated"])) for doc in found
    ]
    output.table(
        ("name", "kind", "version", "updated"),
        rows,
        "no actions yet: deploy one with xingqiao deploy FILE",
    )


def _shown(doc: dict[str, Any]) -> str:
    """Name of an action, with its package."""
    package = doc["namespace"].partition("/")[2]
    return f"{package}/{doc['name']}" if package else str(doc["name"])


def _kind(doc: dict[str, Any]) -> str:
    return str(next((n["value"] for n in doc["annotations"] if n["key"] == "exec"), ""))


@action.command(
    epilog="\b\nExamples:\n  xingqiao action get pipeline limits\n"
    "  xingqiao action get resize --save resize.py"
)
@click.argument("name", shell_complete=action_names)
@click.argument("field", required=False)
@click.option("--save", type=FILE, help="File to write the action's code or composition to.")
@click.option("--url", "show_url", is_flag=True, help="Show the action's URL.")
@as_json
@connected_by_host
def get(  # noqa: PLR0913  its options
    client: Client,
    name: str,
    field: str | None,
    *,
    save: Path | None,
    show_url: bool,
    as_json: bool,
) -> None:
    """Show the action NAME, or only its FIELD."""
    found = client.ask_action("GET", name)
    if save is not None:
        save.write_bytes(files.content(found["exec"]))
        output.done(f"{name} is saved in {save}")
        return
    if show_url:
        click.echo(_web_url(client, found))
        return
    if field is not None:
        if field not in found:
            raise click.UsageError(
                f"{name} has no field {field!r}; its fields are {', '.join(found)}"
            )
        found = found[field]
    output.write_json(found) if as_json else output.document(found)


def _web_url(client: Client, doc: dict[str, Any]) -> str:
    namespace, _, package = doc["namespace"].partition("/")
    if not annotations_of(doc).get("web-export"):
        return f"{client.url}/api/v1/namespaces/{namespace}/actions/{_shown(doc)}"
    return f"{client.url}/api/v1/web/{namespace}/{package or 'default'}/{doc['name']}"


def _definition(command: Any) -> Any:
    """Gives a command the arguments and options that create and update share."""
    definition = (
        click.argument("name", shell_complete=action_names),
        click.argument("file", required=False),
        click.option("--kind", help="Kind of the code, such as python:3 [default: by file name]."),
        click.option("--main", help="Function to call [default: main]."),
        click.option("--sequence", is_flag=True, help="Read FILE as a list of actions: a,b,c."),
        click.option("--copy", is_flag=True, help="Read FILE as the name of an action to copy."),
        click.option("--web", type=WEB, help="Web access to the action [default: false]."),
        click.option(
            "--web-secure",
            help="Secret that callers must send in X-Require-Whisk-Auth; `true` requires credentials.",
        ),
        click.option(
            "--timeout",
            "-t",
            type=Duration("ms"),
            metavar="DURATION",
            help=f"Time limit in milliseconds, {UNITS} [default: 60000].",
        ),
        click.option(
            "--requirement",
            "requirements",
            multiple=True,
            help="Package that the code imports, such as requests>=2.31 or, for Node.js, ms@^2. Repeatable.",
        ),
        click.option("--memory", "-m", type=int, help="Memory limit in megabytes [default: 256]."),
        click.option("--logsize", "-l", "logs", type=int, help="Log limit in MB [default: 10]."),
        click.option(
            "--concurrency",
            "-c",
            type=int,
            help="Calls at the same time in one worker, for Node.js and `async def main` [default: 1].",
        ),
        click.option("--del-annotation", multiple=True, help="Annotation to remove. Repeatable."),
        click.option("--docker", hidden=True),
        click.option("--native", is_flag=True, hidden=True),
        annotated,
        as_json,
        parameters,
    )
    for option in reversed(definition):
        command = option(command)
    return command


@action.command(
    epilog="\b\nExamples:\n  xingqiao action create resize resize.py -t 10000 -p width 200\n"
    "  xingqiao action create both resize,thumbnail --sequence"
)
@_definition
@connected
def create(client: Client, name: str, file: str | None, **given: Any) -> None:
    """Create the action NAME from FILE.

    FILE is code (.py, .js or .zip) or a composition (.json). Parameters become defaults of the action.
    """
    _refuse_containers(given)
    if file is None:
        raise click.UsageError(
            "FILE is missing: give code (.py, .js, .zip) or a composition (.json)"
        )
    _put(client, name, file, overwrite=False, **given)


@action.command(
    epilog="\b\nExamples:\n  xingqiao action update resize resize.py\n"
    "  xingqiao action update resize --web true -t 30000"
)
@_definition
@connected
def update(client: Client, name: str, file: str | None, **given: Any) -> None:
    """Update the action NAME, or create it.

    FILE replaces the code. An option that is not given keeps its value.
    """
    _refuse_containers(given)
    _put(client, name, file, overwrite=True, **given)


def _refuse_containers(given: dict[str, Any]) -> None:
    if given["docker"] or given["native"]:
        raise click.UsageError(
            "--docker and --native: Xingqiao runs no containers; give code (.py, .js, .zip) instead"
        )


def _put(
    client: Client, name: str, file: str | None, *, overwrite: bool, as_json: bool, **given: Any
) -> None:
    document = _document(client, file, given)
    made = client.put_action(name, document, overwrite=overwrite)
    if as_json:
        output.write_json(made)
    else:
        output.done(f"{_shown(made)} {made['version']} ({made['exec']['kind']})")


def _document(client: Client, file: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """The document of an action, from the options and the file."""
    document: dict[str, Any] = {}
    if given["copy"] and file is not None:
        copied = client.ask_action("GET", file)
        document = {key: copied[key] for key in ("exec", "parameters", "annotations", "limits")}
    elif file is not None:
        document = {"exec": {**_exec_of(file, given), **_requirements(file, given)}}
    elif given["requirements"]:
        raise click.UsageError("--requirement belongs to code: give FILE, too")
    if given["params"]:
        document["parameters"] = key_values(given["params"])
    notes = {**_web(given), **given["notes"]}
    if notes:
        document["annotations"] = [*document.get("annotations", []), *key_values(notes)]
    if given["del_annotation"]:
        document["delAnnotations"] = list(given["del_annotation"])
    limits = {name: given[name] for name in LIMITS if given[name] is not None}
    return {**document, "limits": {**document.get("limits", {}), **limits}} if limits else document


LIMITS = ("timeout", "memory", "logs", "concurrency")


def _web(given: dict[str, Any]) -> dict[str, Any]:
    """Annotations for `--web` and `--web-secure`."""
    web, secret = given["web"], given["web_secure"]
    notes: dict[str, Any] = {}
    if web is not None:
        exported, raw = web in ("true", "yes", "raw"), web == "raw"
        notes = {"web-export": exported, "raw-http": raw, "final": exported}
    if secret is not None:
        notes["require-whisk-auth"] = {"true": True, "false": False}.get(secret.lower(), secret)
    return notes


def _requirements(file: str, given: dict[str, Any]) -> dict[str, Any]:
    """The packages in the form of the code's language: a list for Python, names and ranges for Node.js."""
    texts: tuple[str, ...] = given["requirements"]
    if not texts:
        return {}
    if not _exec_of(file, given)["kind"].startswith("nodejs"):
        return {"requirements": list(texts)}
    found = {}
    for text in texts:
        name, _, versions = text.rpartition("@")
        found[name or text] = versions if name else "*"
    return {"requirements": found}


def _exec_of(file: str, given: dict[str, Any]) -> dict[str, Any]:
    if given["sequence"]:
        names = [name.strip() for name in file.split(",") if name.strip()]
        components = [name if name.startswith("/") else f"/_/{name}" for name in names]
        return {"kind": "sequence", "components": components}
    return files.exec_of(Path(file), given["kind"], given["main"])


@action.command()
@click.argument("name", shell_complete=action_names)
@as_json
@connected
def delete(client: Client, name: str, *, as_json: bool) -> None:
    """Delete the action NAME.

    Running executions of the action continue.
    """
    gone = client.ask_action("DELETE", name)
    output.write_json(gone) if as_json else output.done(f"{name} is deleted")
