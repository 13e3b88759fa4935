"""Commands of `wsk` that Xingqiao lacks; their errors name the alternative."""

from __future__ import annotations

import click


@click.command(
    hidden=True, context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
)
def api() -> None:
    """Explain the alternative to an API gateway."""
    raise click.UsageError(
        "the command `api` needs an API gateway, which Xingqiao does not have: make the action a web "
        "action with `xingqiao action update NAME --web true`; `xingqiao action get NAME --url` shows "
        "its URL"
    )
