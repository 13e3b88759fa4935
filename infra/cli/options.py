"""Options that several commands share, and the reading of parameters."""

from __future__ import annotations

import json
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from ...composer import flaw
from . import output
from .client import connect
from .explaining import explained
from .times import EXAMPLES, Instant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...composer import JSON


class JsonOrFile(click.ParamType):  # type: ignore[type-arg]
    """JSON as it is, or the path of a file with JSON."""

    name = "FILE|JSON"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> JSON:
        """Reads the value; fails with the option's name if it is not JSON."""
        text, place = value, "the value"
        try:
            if value.lstrip()[:1] not in ("{", "[", '"') and value not in ("true", "null"):
                text, place = Path(value).read_text("utf-8"), value
            found = json_of(text)
        except OSError as error:
            self.fail(f"{value} cannot be read: {error.strerror}", param, ctx)
        except ValueError as error:
            self.fail(f"{place} is not valid JSON: {error}", param, ctx)
        return found


def is_given(option: str) -> bool:
    """True if the command line has this option: the JSON null is None, too."""
    source = click.get_current_context().get_parameter_source(option)
    return source is click.core.ParameterSource.COMMANDLINE


Command = TypeVar("Command", bound="Callable[..., Any]")
FILE = click.Path(path_type=Path)

UNITS = f"or with a unit, such as {EXAMPLES}"  # for the help of an option that is a duration
_TIME = (
    "a time ago such as 2h or 30m, local time such as 2026-11-22T21:00, or milliseconds since the "
    "epoch."
)
OF_A_SERVER = ("server", "auth", "auth_file", "ca")  # options that name a server and sign in to it

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def pages(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `--limit` and `--skip`."""
    limit = click.option("--limit", type=click.IntRange(0, 200), default=200, show_default=True,
                         help="Maximum number of entries to list.")  # fmt: skip
    skip = click.option("--skip", type=click.IntRange(0), default=0, show_default=True,
                        help="Number of entries to leave out at the start.")  # fmt: skip
    return limit(skip(command))


def period(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `--since` and `--upto`, in milliseconds since the epoch."""
    since = click.option("--since", type=Instant(), metavar="TIME", help=f"Earliest start: {_TIME}")
    upto = click.option("--upto", type=Instant(), metavar="TIME", help=f"Latest start: {_TIME}")
    return since(upto(command))


def connected(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `--url` and `--auth`; the client made from them is its first argument."""
    return _connected(command, "--url", "--apihost")


def connected_by_host(command: Callable[..., Any]) -> Callable[..., Any]:
    """Like `connected`, for a command that has another `--url`."""
    return _connected(command, "--apihost")


def connected_or_offline(command: Callable[..., Any]) -> Callable[..., Any]:
    """Like `connected`, with `--data` too: with it the client is None and needs no credentials."""
    online = connected(command)

    @click.option(
        "--data",
        type=click.Path(path_type=Path),
        help="Data directory of a stopped server: use its store, for all namespaces.",
    )
    @wraps(online)
    def with_data(*args: Any, data: Path | None, **options: Any) -> Any:
        if data is None:
            return online(*args, data=None, **options)
        given = {name: value for name, value in options.items() if name not in OF_A_SERVER}
        return command(None, *args, data=data, **given)

    return with_data


def _connected(command: Callable[..., Any], *names: str) -> Callable[..., Any]:
    @click.option(
        *names,
        "server",
        help="URL of the server [default: XINGQIAO_URL, then .wskprops, then http://127.0.0.1:3233].",
    )
    @authenticated
    @wraps(command)
    def with_client(
        *args: Any,
        server: str | None,
        auth: str | None,
        auth_file: str | None,
        ca: str | None,
        **options: Any,
    ) -> Any:
        with connect(server, auth, auth_file, ca) as client, explained(client):
            return command(client, *args, **options)

    return with_client


def authenticated(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `--auth`, `--auth-file` and `--ca`: credentials and trusted certificates."""
    for option in (
        ca_option,
        click.option(
            "--auth-file",
            metavar="FILE",
            help="File that holds the credentials [default: XINGQIAO_AUTH_FILE].",
        ),
        click.option(
            "--auth",
            "-u",
            metavar="UUID:KEY",
            help="Credentials [default: XINGQIAO_AUTH, then .wskprops]. Other users of this machine can "
            "read them in the list of processes: prefer --auth-file or XINGQIAO_AUTH.",
        ),
    ):
        command = option(command)
    return command


ca_option = click.option(
    "--ca",
    metavar="FILE",
    help="PEM file of the certificates to trust for https [default: XINGQIAO_CA, then the system's].",
)


def confirmed(question: str, help: str) -> Callable[[Command], Command]:
    """Gives a command `--yes`; without it the command asks on standard error before it begins."""

    def ask(ctx: click.Context, _: click.Parameter, sure: bool) -> None:
        if not (sure or ctx.resilient_parsing):
            click.confirm(question, abort=True, err=True)

    return click.option("--yes", is_flag=True, expose_value=False, callback=ask, help=help)


def parameters(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `--param` and `--param-file`, and the parameters from both as `params`."""

    @click.option(
        "--param",
        "-p",
        "pairs",
        nargs=2,
        multiple=True,
        metavar="NAME VALUE",
        help="Parameter. VALUE is read as JSON, and as plain text if it is not JSON. Repeatable.",
    )
    @click.option("--param-file", "-P", type=FILE, help="File with a JSON object of parameters.")
    @wraps(command)
    def with_params(
        *args: Any, pairs: Iterable[tuple[str, str]], param_file: Path | None, **options: Any
    ) -> Any:
        params = {} if param_file is None else _object(param_file, "--param-file")
        return command(*args, params={**params, **values(pairs)}, **options)

    return with_params  # fmt: skip


def annotated(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `--annotation` and `--annotation-file`, and their annotations as `notes`."""

    @click.option(
        "--annotation",
        "-a",
        "note_pairs",
        nargs=2,
        multiple=True,
        metavar="NAME VALUE",
        help="Annotation. VALUE is read as JSON, and as plain text if it is not JSON. Repeatable.",
    )
    @click.option(
        "--annotation-file", "-A", type=FILE, help="File with a JSON object of annotations."
    )
    @wraps(command)
    def with_notes(
        *args: Any,
        note_pairs: Iterable[tuple[str, str]],
        annotation_file: Path | None,
        **options: Any,
    ) -> Any:
        notes = {} if annotation_file is None else _object(annotation_file, "--annotation-file")
        return command(*args, notes={**notes, **values(note_pairs)}, **options)

    return with_notes


def key_values(values: dict[str, JSON]) -> list[dict[str, JSON]]:
    """Parameters or annotations in the form of the API: a list of `key` and `value`."""
    return [{"key": key, "value": value} for key, value in values.items()]


def values(pairs: Iterable[tuple[str, str]]) -> dict[str, JSON]:
    """The values of `NAME VALUE` options: JSON, or plain text if a value is not JSON."""
    return {name: _sound(name, _value(name, text)) for name, text in pairs}


def _value(name: str, text: str) -> JSON:
    try:
        return _parse(text)
    except ValueError as error:
        if text.lstrip()[:1] in ("{", "[", '"'):
            output.warning(
                f"the value of '{name}' looks like JSON and is not valid JSON ({error}): it is sent as text"
            )
        return text


def _object(file: Path, option: str) -> dict[str, JSON]:
    try:
        document = _parse(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{option}: {_why(file, error)}") from error
    if not isinstance(document, dict):
        raise click.UsageError(f'{option}: {file} must contain a JSON object, such as {{"a": 1}}')
    return {name: _sound(name, value) for name, value in document.items()}


def json_of(text: str) -> JSON:
    """The value of JSON that may be sent.

    Raises:
        ValueError: it is not JSON, or a string of it is not Unicode text.
        UsageError: it is nested too deeply.
    """
    value = _parse(text)
    if why := flaw(value):
        raise ValueError(why)
    return value


def _parse(text: str) -> JSON:
    try:
        value: JSON = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise click.UsageError(
            "JSON is nested too deeply: give a value with fewer levels"
        ) from None
    return value


def payload_of(payload: str | None, params: dict[str, Any]) -> Any:
    """The body of a command that takes `--payload` or parameters.

    Raises:
        UsageError: both are given, or the payload is not JSON.
    """
    if payload is None:
        return params
    if params:
        raise click.UsageError("--payload: give either --payload or parameters")
    try:
        return json.loads(payload)
    except ValueError as error:
        raise click.UsageError(f"--payload: this is not JSON: {error}") from error


def _why(file: Path, error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{file} cannot be read: {error.strerror}"
    return f"{file} is not valid JSON: {error}"


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _sound(name: str, value: JSON) -> JSON:
    if why := flaw({name: value}):
        raise click.UsageError(f"the parameter '{name}' cannot be sent as JSON: {why}")
    return value
