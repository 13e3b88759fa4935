"""The target of a step: a name, an action and its program."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from ...actions import (
    NOT_FOUND,
    PERMISSION,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    Opened,
    RefusedError,
    found_function,
    merged,
)
from ...composer import (
    CONDUCTING,
    LIMIT_EXCEEDED,
    Context,
    Failure,
    Invoking,
    Name,
    activation_id,
    boxed,
    changed,
    compile,
    reissue,
    task,
)
from ...transactions import whole
from .joint import Joint, Member

if TYPE_CHECKING:
    from ...actions import Action
    from ...composer import JSON, Invoke, Program
    from .live import LiveExecution
    from .shared import Parts
    from .tickets import Ticket


MAX_COMPONENTS = 50  # of a conductor action's composition, with those of nested ones
MAX_CONSULTATIONS = 2 * MAX_COMPONENTS + 1

DECISIONS = ("commit", "abort")


def target(parts: Parts, run: LiveExecution, command: Invoke) -> Action | Failure:
    """The action that a step runs, or the failure if there is none. Texts are OpenWhisk's."""
    if run.origin.solo or command.action is None:
        return run.origin.action
    name = resolvable(command.action, run.origin.namespace)
    try:
        action = found_function(parts.catalog, name, run.origin.namespace, command.activation)
    except ForbiddenError:
        text = f"Failed entitlement check for action with name '{_shown(name)}'"
        return Failure(PERMISSION, f"{text} during composition.")
    except (NotFoundError, ConflictError):
        if run.origin.action.components:
            return Failure(NOT_FOUND, f"Sequence component does not exist: {name}.")
        text = f"Failed to resolve action with name '{_shown(name)}' during composition."
        return Failure(NOT_FOUND, text)
    limit = parts.settings.nesting
    if action.program is not None and run.origin.depth >= limit:
        text = f"compositions nest more than {limit} deep, at {_shown(name)}"
        return Failure(LIMIT_EXCEEDED, {"code": LIMIT_EXCEEDED, "message": text})
    return action


def counted(run: LiveExecution, action: Action | Failure, command: Invoke) -> Action | Failure:
    """Counts a step of a conductor action's composition; a failure when it is one too many."""
    account = run.origin.account
    if account is None or isinstance(action, Failure):
        return action
    consults, counts = command.action is None, action.program is not CONDUCTING
    spent = (consults and account.consultations >= MAX_CONSULTATIONS) or (
        not consults and counts and account.components >= MAX_COMPONENTS
    )
    if spent:
        return Failure(LIMIT_EXCEEDED, "Too many actions in the composition.")
    account.consultations += consults
    account.components += counts and not consults
    return action


def opened(run: LiveExecution, action: Action, command: Invoke, now_ms: int) -> Opened:
    """The activation of a step that is asked for; that of a solo execution has its id."""
    solo = run.origin.solo
    return Opened(
        id=run.id if solo else command.activation,
        action=action,
        namespace=run.origin.namespace,
        asked_ms=now_ms,
        cause=None if solo else run.id,
        name=f"{action.listed_as.path}.{command.function[:8]}" if command.function else None,
        kind=action.invoker_kind(command.function) if command.function else None,
        silent=command.whole
        or (action.entity is not None and not solo and _decides(command.params)),
        tail=command.tail,
    )


def joint(parts: Parts, run: LiveExecution, command: Invoke, first: Opened) -> Joint | None:
    """The whole transaction that a step asks for; None if it must be left to the protocol.

    That is so if a participant is not an entity that runs here, or if names that differ mean the same type.

    Args:
        parts: of the engine.
        run: the execution that asks.
        command: of the step.
        first: the step's activation, which is the first participant's.

    Raises:
        MessageError: if a field of the message is wrong; the text names it.
    """
    asked = whole(boxed(command.params))
    if asked is None or not _joins(first.action):
        return None
    transaction, shares = asked
    members = [Member(first, str(first.action.name), shares[0])]
    for share in shares[1:]:
        opened, type = first, members[0].type
        if share.action != shares[0].action:
            action = target(parts, run, replace(command, action=share.action))
            if isinstance(action, Failure) or not _joins(action):
                return None
            opened, type = replace(first, action=action), str(action.name)
        id = activation_id(run.id, f"{first.id}.{len(members)}", 0)
        opened = Opened(id, opened.action, first.namespace, first.asked_ms, first.cause)
        members.append(Member(opened, type, share))
    places = [(member.type, member.share.key) for member in members]
    ordered = sorted(set(places))
    if len(ordered) < len(places) or (shares[0].calls is not None and places != ordered):
        return None
    return Joint(transaction, members)


def _joins(action: Action) -> bool:
    """True if entities of this type can take part in a transaction that is performed whole."""
    return action.entity is not None and not (action.is_unregistered or action.lost_on_crash)


def reopened(parts: Parts, run: LiveExecution, ticket: Ticket) -> Opened:
    """The activation of a step that was accepted."""
    namespace = run.origin.namespace
    try:
        action = parts.catalog.resolve(resolvable(ticket.action, namespace), namespace)
    except RefusedError:  # it has been deleted meanwhile
        action = run.origin.action
    return Opened(
        id=ticket.activation,
        action=action,
        namespace=namespace,
        asked_ms=ticket.asked_ms,
        cause=None if run.origin.solo else run.id,
    )


def _decides(message: JSON) -> bool:
    """True if the message tells an entity a decision: then none of its code runs."""
    about = message.get("transaction") if isinstance(message, dict) else None
    return isinstance(about, dict) and about.get("kind") in DECISIONS


def given(action: Action, params: JSON) -> JSON:
    """A step's parameters over those of its action; a value that is not an object is passed as it is."""
    return merged(action.parameters, params) if isinstance(params, dict) else params


def asked(run: LiveExecution, fiber: str, now_ms: int) -> Invoke:
    """The invocation that a fiber waits for, also if it was accepted."""
    execution = run.execution
    context = Context(run.id, now_ms, execution.limits, execution.generation, execution.events)
    stands = execution.fibers[fiber]
    details = stands.wait.details if isinstance(stands.wait, Invoking) else None
    sent = changed(stands, wait=Invoking(details=details))
    command = reissue(execution.program, sent, context)
    assert command is not None  # noqa: S101  it was asked for once
    return command


def program_of(action: Action, params: JSON) -> Program:
    """The program that the conductor runs for a call of an action with these parameters."""
    given = params if isinstance(params, dict) else {}
    return action.program_for(given) or solo(str(action.listed_as))


@lru_cache(maxsize=4096)
def solo(name: str) -> Program:
    """The program of an action that is invoked by itself."""
    return compile(task(name))


@lru_cache(maxsize=65536)
def resolvable(text: str, namespace: str) -> Name:
    return Name.parse(text).within(namespace)


def _shown(name: Name) -> str:
    return f"{name.namespace}/{name.path}"
