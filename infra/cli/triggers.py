"""`xingqiao trigger ...`. A trigger with a feed is created, updated and deleted with its feed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import output
from .client import ApiError, annotations_of
from .options import (
    JsonOrFile,
    annotated,
    as_json,
    connected,
    is_given,
    key_values,
    pages,
    parameters,
)

if TYPE_CHECKING:
    from .client import Client

TRIGGERS = "triggers"


@click.group()
def trigger() -> None:
    """Manage triggers: create, update, fire, get, list, delete.

    A trigger fires events; rules connect it to actions.
    """


@trigger.command(
    epilog="\b\nExample:\n  xingqiao trigger create midnight --feed /whisk.system/alarms/alarm "
    "-p cron '0 0 * * *'"
)
@click.argument("name")
@click.option(
    "--feed",
    metavar="ACTION",
    help="Feed action, such as /whisk.system/alarms/alarm [default: none].",
)
@click.option(
    "--filter",
    type=JsonOrFile(),
    help="Filter: CloudEvents that fit it fire the trigger; null removes it.",
)
@annotated
@parameters
@as_json
@connected
def create(
    client: Client,
    name: str,
    feed: str | None,
    *,
    filter: Any,
    as_json: bool,
    **given: dict[str, Any],
) -> None:
    """Create the trigger NAME.

    With --feed the parameters go to the feed; otherwise they become defaults of the trigger.
    """
    notes = given["notes"] if feed is None else {**given["notes"], "feed": feed}
    document: dict[str, Any] = {"annotations": key_values(notes)}
    if is_given("filter"):
        document["filter"] = filter
    if feed is None:
        document["parameters"] = key_values(given["params"])
    made = client.ask_named("PUT", TRIGGERS, name, body=document)
    if feed is not None:
        try:
            answer = _ask_feed(client, feed, "CREATE", name, given["params"])
        except ApiError:
            client.ask_named("DELETE", TRIGGERS, name)
            raise
        if "path" in answer:
            made["url"] = f"{client.url}{answer['path']}"
            if not as_json:
                output.done(f"a POST to this URL fires the trigger: {made['url']}")
    output.write_json(made) if as_json else output.done(f"{made['name']} {made['version']}")


@trigger.command(epilog="\b\nExample:\n  xingqiao trigger update midnight -p cron '30 0 * * *'")
@click.argument("name")
@click.option(
    "--filter",
    type=JsonOrFile(),
    help="Filter: CloudEvents that fit it fire the trigger; null removes it.",
)
@annotated
@parameters
@as_json
@connected
def update(
    client: Client,
    name: str,
    *,
    filter: Any,
    as_json: bool,
    **given: dict[str, Any],
) -> None:
    """Update the trigger NAME, or create it.

    If the trigger has a feed, the parameters go to the feed.
    """
    document: dict[str, Any] = {"filter": filter} if is_given("filter") else {}
    if given["notes"]:
        document["annotations"] = key_values(given["notes"])
    feed = _feed(client, name)
    if feed is None and given["params"]:
        document["parameters"] = key_values(given["params"])
    made = client.ask_named("PUT", TRIGGERS, name, body=document, overwrite=True)
    if feed is not None and given["params"]:
        _ask_feed(client, feed, "UPDATE", name, given["params"])
    output.write_json(made) if as_json else output.done(f"{made['name']} {made['version']}")


@trigger.command(epilog="\b\nExample:\n  xingqiao trigger fire uploaded -p file a.png")
@click.argument("name")
@parameters
@as_json
@connected
def fire(client: Client, name: str, params: dict[str, Any], *, as_json: bool) -> None:
    """Fire the trigger NAME."""
    answer = client.ask_named("POST", TRIGGERS, name, body=params)
    if as_json:
        output.write_json(answer)
    elif answer is None:
        output.done(
            f"{name} is fired: no action was invoked, because no rule is active or no condition holds"
        )
    else:
        output.done(f"{name} is fired: activation {answer['activationId']}")


@trigger.command()
@click.argument("name")
@as_json
@connected
def get(client: Client, name: str, *, as_json: bool) -> None:
    """Show the trigger NAME and its feed."""
    found = client.ask_named("GET", TRIGGERS, name)
    feed = annotations_of(found).get("feed")
    if feed is not None:
        found["feed"] = _ask_feed(client, feed, "READ", name, {})
    output.write_json(found) if as_json else output.document(found)


@trigger.command("list")
@pages
@as_json
@connected
def list_(client: Client, *, as_json: bool, **page: int) -> None:
    """List the triggers of the namespace."""
    found = client.collection(TRIGGERS, None, **page)
    if as_json:
        output.write_json(found)
        return
    rows = [
        (
            doc["name"],
            annotations_of(doc).get("feed", ""),
            doc["version"],
            output.instant(doc["updated"]),
        )
        for doc in found
    ]
    output.table(("trigger", "feed", "version", "updated"), rows, "no triggers")


@trigger.command()
@click.argument("name")
@as_json
@connected
def delete(client: Client, name: str, *, as_json: bool) -> None:
    """Delete the trigger NAME; its rules become inactive."""
    feed = _feed(client, name)
    if feed is not None:
        _ask_feed(client, feed, "DELETE", name, {})
    gone = client.ask_named("DELETE", TRIGGERS, name)
    output.write_json(gone) if as_json else output.done(f"{name} is deleted")


def _feed(client: Client, name: str) -> str | None:
    try:
        feed: str | None = annotations_of(client.ask_named("GET", TRIGGERS, name)).get("feed")
    except ApiError as error:
        if not error.is_missing:
            raise
        return None
    return feed


def _ask_feed(
    client: Client, feed: str, event: str, name: str, params: dict[str, Any]
) -> dict[str, Any]:
    """Invokes a feed for one event of a trigger's life. Returns the feed's result.

    Raises:
        ApiError: the feed fails.
    """
    full = name if name.startswith("/") else f"/_/{name}"
    body = {**params, "lifecycleEvent": event, "triggerName": full, "authKey": client.auth}
    _, answer = client.invoke(feed, body, blocking=True, result=True)
    if not isinstance(answer, dict) or "error" in answer:
        text = answer.get("error") if isinstance(answer, dict) else answer
        raise ApiError(f"the feed {feed} refuses the trigger {name}: {text}")
    return answer
