"""What `wsk` has and this has not, and what to do instead."""

from __future__ import annotations

import click


@click.command(
    hidden=True, context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
)
def api() -> None:
    """There is no API gateway here."""
    raise click.UsageError(
        "there is no API gateway: make the action a web action (action update NAME --web true); "
        "action get NAME --url shows its URL"
    )
