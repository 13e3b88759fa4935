"""Options that several commands share, and how parameters are read."""

from __future__ import annotations

import json
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...composer import flaw
from .client import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...composer import JSON

FILE = click.Path(path_type=Path)

OF_A_SERVER = ("server", "auth", "auth_file", "ca")  # options that say which one, and who asks

as_json = click.option("--json", "as_json", is_flag=True, help="Write JSON, for programs.")


def pages(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `--limit` and `--skip`."""
    limit = click.option("--limit", type=click.IntRange(0, 200), default=200, show_default=True)
    return limit(click.option("--skip", type=click.IntRange(0), default=0)(command))


def connected(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `--url` and `--auth`, and, as its first argument, a client made of them."""
    return _connected(command, "--url", "--apihost")


def connected_by_host(command: Callable[..., Any]) -> Callable[..., Any]:
    """As `connected`, for a command that has another `--url`."""
    return _connected(command, "--apihost")


def connected_or_offline(command: Callable[..., Any]) -> Callable[..., Any]:
    """As `connected`, and `--data`: with that the client is None, and no credentials are needed."""
    online = connected(command)

    @click.option(
        "--data",
        type=click.Path(path_type=Path),
        help="Directory of a stopped server: use its store, for all namespaces.",
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
        help="URL of the server [XINGQIAO_URL; else .wskprops; else http://127.0.0.1:3233].",
    )
    @proving
    @wraps(command)
    def with_client(
        *args: Any,
        server: str | None,
        auth: str | None,
        auth_file: str | None,
        ca: str | None,
        **options: Any,
    ) -> Any:
        with connect(server, auth, auth_file, ca) as client:
            return command(client, *args, **options)

    return with_client


def proving(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `--auth`, `--auth-file` and `--ca`: who asks, and which server is trusted."""
    for option in (
        trusting,
        click.option(
            "--auth-file", metavar="FILE", help="File with the credentials [XINGQIAO_AUTH_FILE]."
        ),
        click.option(
            "--auth",
            "-u",
            metavar="UUID:KEY",
            help="Credentials [XINGQIAO_AUTH; else .wskprops]. Others on this machine can read them in "
            "the list of processes: prefer --auth-file or the environment.",
        ),
    ):
        command = option(command)
    return command


trusting = click.option(
    "--ca",
    metavar="FILE",
    help="Certificates (PEM) that an https server's must be signed by [XINGQIAO_CA].",
)


def parameters(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `--param` and `--param-file`, and what they make as `params`."""

    @click.option(
        "--param",
        "-p",
        "pairs",
        nargs=2,
        multiple=True,
        metavar="NAME VALUE",
        help="A parameter; its value is JSON, or else text.",
    )
    @click.option("--param-file", "-P", type=FILE, help="A JSON object of parameters.")
    @wraps(command)
    def with_params(
        *args: Any, pairs: Iterable[tuple[str, str]], param_file: Path | None, **options: Any
    ) -> Any:
        params = {} if param_file is None else _object(param_file, "--param-file")
        return command(*args, params={**params, **values(pairs)}, **options)

    return with_params  # fmt: skip


def noted(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `--annotation` and `--annotation-file`, and what they make as `notes`."""

    @click.option(
        "--annotation",
        "-a",
        "note_pairs",
        nargs=2,
        multiple=True,
        metavar="NAME VALUE",
        help="An annotation; its value is JSON, or else text.",
    )
    @click.option("--annotation-file", "-A", type=FILE, help="A JSON object of annotations.")
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


def listed(values: dict[str, JSON]) -> list[dict[str, JSON]]:
    """Parameters or annotations as the API takes them."""
    return [{"key": key, "value": value} for key, value in values.items()]


def values(pairs: Iterable[tuple[str, str]]) -> dict[str, JSON]:
    """What `NAME VALUE` options say: values are JSON, or else text."""
    return {name: _sound(name, _value(text)) for name, text in pairs}


def _value(text: str) -> JSON:
    try:
        return _loaded(text)
    except ValueError:
        return text


def _object(file: Path, option: str) -> dict[str, JSON]:
    try:
        document = _loaded(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{option} {file}: {error}") from error
    if not isinstance(document, dict):
        raise click.UsageError(f"{option} {file}: it must hold a JSON object")
    return {name: _sound(name, value) for name, value in document.items()}


def _loaded(text: str) -> JSON:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise click.UsageError("a parameter nests too deep") from None


def _no_constant(name: str) -> JSON:
    raise ValueError(name)


def _sound(name: str, value: JSON) -> JSON:
    if why := flaw({name: value}):
        raise click.UsageError(f"a parameter cannot be sent: {why}")
    return value
