"""The schedules of a deployment, compared with those that are there.

    {"actions": [...], "schedules": [{"name": "nightly", "origin": "shop/reports.py", "document": {"spec": ..., "do": ...}}], ...}

A schedule that is deployed has the field `deployed_from` in its document: its origin. Whose origin the deployment is
the whole of, and which is not in it, is an orphan, as with actions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..composer import InvalidNameError, Name
from .deployments import (
    CHANGED,
    NEW,
    ORPHANED,
    REMOVED,
    UNCHANGED,
    Plan,
    ScheduleStep,
    are_of_one_project,
    is_of,
)
from .errors import ConflictError, InvalidError, RefusedError
from .schedule_definitions import schedule_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .catalog import Catalog
    from .deployment_requests import DeployedSchedule, Deployment
    from .schedule_definitions import ScheduleDefinition

DEPLOYED_FROM = "deployed_from"


def schedule_key(namespace: str, name: str) -> str:
    """The full name of a schedule.

    Raises:
        InvalidError: the name is malformed.
    """
    try:
        parsed = Name.parse(f"/{namespace}/{name}")
    except InvalidNameError as error:
        raise InvalidError(f"the schedule's name: {error}") from error
    return str(parsed)


def planned_schedules(
    known: Mapping[str, ScheduleDefinition], namespace: str, deployment: Deployment
) -> list[ScheduleStep]:
    """Computes the effect of a deployment on schedules. Changes nothing.

    Args:
        known: the schedules of the namespace, by their full names.
        namespace: that they are in.
        deployment: the deployment.

    Raises:
        ConflictError: a name belongs to another schedule, and the deployment must not replace that.
        InvalidError: a document is malformed. The text names the schedule and the field.
    """
    steps, taken = list[ScheduleStep](), list[str]()
    for each in deployment.schedules:
        definition = _definition(namespace, each)
        before = known.get(definition.key)
        if before is not None and not (deployment.replace or _may_change(before, each)):
            taken.append(f"the name '{each.name}' belongs to {_shown(before)}")
        steps.append(_step(before, definition))
    if taken:
        raise ConflictError(
            f"nothing is deployed: {'; '.join(taken)}: choose another name, or deploy with 'replace' "
            "(--replace)"
        )
    return [*steps, *_orphans(known, deployment, {step.definition.key for step in steps})]


def with_schedules(
    plan: Plan, steps: list[ScheduleStep], known: Mapping[str, ScheduleDefinition], catalog: Catalog
) -> Plan:
    """The plan with its schedules: they may name actions that are removed, or that are not there.

    Args:
        plan: the effect on actions.
        steps: the effect on schedules.
        known: the schedules of the namespace as they were, by their full names.
        catalog: as it will be.
    """
    after = dict(known)
    for step in steps:
        if step.change == REMOVED:
            after.pop(step.definition.key, None)
        else:
            after[step.definition.key] = step.definition
    used: dict[Name, list[str]] = {}
    for key, definition in sorted(after.items()):
        used.setdefault(definition.action, []).append(f"schedule {Name.parse(key).name}")
    actions = [
        replace(step, used_by=(*step.used_by, *used.get(step.action.name, ())))
        if step.change in (REMOVED, ORPHANED)
        else step
        for step in plan.steps
    ]
    warnings = [*plan.warnings, *_unresolved(steps, catalog)]
    return replace(plan, steps=actions, schedules=steps, warnings=warnings)


def _definition(namespace: str, each: DeployedSchedule) -> ScheduleDefinition:
    try:
        key = schedule_key(namespace, each.name)
        return schedule_of(key, {**each.document, DEPLOYED_FROM: each.origin})
    except InvalidError as error:
        raise InvalidError(f"schedule {each.name}: {error}") from error


def _may_change(before: ScheduleDefinition, each: DeployedSchedule) -> bool:
    return bool(before.deployed_from) and are_of_one_project(before.deployed_from, each.origin)


def _shown(before: ScheduleDefinition) -> str:
    if before.deployed_from:
        return f"a schedule that was deployed from {before.deployed_from!r}"
    return "a schedule that was not deployed from a project"


def _step(before: ScheduleDefinition | None, definition: ScheduleDefinition) -> ScheduleStep:
    if before is None:
        return ScheduleStep(definition=definition, change=NEW)
    old, new = before.document, definition.document
    fields = tuple(key for key in dict.fromkeys((*new, *old)) if old.get(key) != new.get(key))
    if not fields:
        return ScheduleStep(definition=before, change=UNCHANGED)
    return ScheduleStep(definition=definition, change=CHANGED, fields=fields)


def _orphans(
    known: Mapping[str, ScheduleDefinition], deployment: Deployment, kept: set[str]
) -> Iterator[ScheduleStep]:
    for key, definition in sorted(known.items()):
        if key not in kept and is_of(definition.deployed_from or None, deployment.origins):
            change = REMOVED if deployment.prune else ORPHANED
            yield ScheduleStep(definition=definition, change=change)


def _unresolved(steps: list[ScheduleStep], catalog: Catalog) -> Iterator[str]:
    for step in steps:
        if step.change in (REMOVED, ORPHANED):
            continue
        action = step.definition.action
        try:
            catalog.resolve(action, step.definition.namespace)
        except RefusedError:
            yield (
                f"schedule {step.name}: the action {str(action)!r} does not exist: deploy it, or no run "
                "can start"
            )
