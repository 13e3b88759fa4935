"""Options that several commands share, and how parameters are read."""

from __future__ import annotations

import json
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from composer import flaw

from .client import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from composer import JSON

FILE = click.Path(path_type=Path)

as_json = click.option("--json", "as_json", is_flag=True, help="Write JSON, for programs.")


def connected(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `--url` and `--auth`, and, as its first argument, a client made of them."""

    @click.option("--url", help="Of the server [XINGQIAO_URL; else http://127.0.0.1:3233].")
    @click.option("--auth", metavar="UUID:KEY", help="Credentials [XINGQIAO_AUTH; else .wskprops].")
    @wraps(command)
    def with_client(*args: Any, url: str | None, auth: str | None, **options: Any) -> Any:
        with connect(url, auth) as client:
            return command(client, *args, **options)

    return with_client


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
        params = {} if param_file is None else _object(param_file)
        return command(*args, params={**params, **values(pairs)}, **options)

    return with_params  # fmt: skip


def values(pairs: Iterable[tuple[str, str]]) -> dict[str, JSON]:
    """What `NAME VALUE` options say: values are JSON, or else text."""
    return {name: _sound(name, _value(text)) for name, text in pairs}


def _value(text: str) -> JSON:
    try:
        return _loaded(text)
    except ValueError:
        return text


def _object(file: Path) -> dict[str, JSON]:
    try:
        document = _loaded(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--param-file {file}: {error}") from error
    if not isinstance(document, dict):
        raise click.UsageError(f"--param-file {file}: it must hold a JSON object")
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
