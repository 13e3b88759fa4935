"""Deployments: all actions of a project in one change, compared with what is there.

    {"actions": [{"name": ..., "origin": "shop/pipeline.py", "definition": {"exec": ..., ...}}, ...],
     "origins": ["shop/pipeline.py", "shop/"], "prune": false, "replace": false}

`schedules` may stand beside `actions`: see `deployed_schedules`.

An action that is deployed has the annotation `deployed-from`. It names the origin of the action, and the
limits and annotations that the origin has set: one that the origin does not set any more is set back. An
origin is the name of a project and the name of a file in it, `shop/pipeline.py`, or for a project without a
name of its own `./FOLDER/pipeline.py`. `origins` are those that the deployment is the whole of, `shop/` being
all files of a project: another action from there is an orphan, and `prune` removes it.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..composer import InvalidNameError, Name
from .catalog import Catalog, Change
from .composed import Composed
from .deployment_requests import malformed
from .errors import (
    ConflictError,
    InvalidError,
    NotFoundError,
    RefusedError,
    TooLargeError,
)
from .kinds import SEQUENCE
from .limits import Limits
from .model import Action, Package, Rule, Trigger
from .parameters import listed, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..composer import JSON
    from .deployment_requests import Deployed, Deployment
    from .model import Definition
    from .schedule_definitions import ScheduleDefinition

DEPLOYED_FROM = "deployed-from"
NAMELESS = "./"  # begins the origins of a project that has only the name of its folder
NEW, CHANGED, UNCHANGED, REMOVED, ORPHANED = "new", "changed", "unchanged", "removed", "orphaned"
_OTHERS = (Package, Trigger, Rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The effect of a deployment on one action.

    Args:
        action: as it will be; as it was, if it is removed.
        change: `new`, `changed`, `unchanged`, `removed` or `orphaned`.
        fields: the parts of a changed action that differ.
        used_by: the rules and other actions that name an action that is removed or orphaned.
    """

    action: Action
    change: str
    fields: tuple[str, ...] = ()
    used_by: tuple[str, ...] = ()

    def to_json(self) -> dict[str, JSON]:
        return {
            "name": self.action.name.path,
            "change": self.change,
            "kind": self.action.kind,
            "version": self.action.version,
            "origin": origin_of(self.action),
            "fields": list(self.fields),
            "usedBy": list(self.used_by),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleStep:
    """The effect of a deployment on one schedule.

    Args:
        definition: as it will be; as it was, if it is removed.
        change: `new`, `changed`, `unchanged`, `removed` or `orphaned`.
        fields: the fields of a changed document that differ.
    """

    definition: ScheduleDefinition
    change: str
    fields: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name, without the namespace."""
        return Name.parse(self.definition.key).name

    @property
    def is_written(self) -> bool:
        """True if the deployment stores or deletes something."""
        return self.change in (NEW, CHANGED, REMOVED)

    @property
    def is_removed(self) -> bool:
        """True if the deployment deletes it."""
        return self.change == REMOVED

    def to_json(self) -> dict[str, JSON]:
        """The step as the answer of a deployment shows it: as that of an action, without a version."""
        return {
            "name": self.name,
            "change": self.change,
            "kind": "schedule",
            "origin": self.definition.deployed_from or None,
            "fields": list(self.fields),
            "usedBy": [],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The effect of a deployment. `change` is stored as a whole, with the schedules that change."""

    deployment: Deployment
    steps: Sequence[Step]
    change: Change
    schedules: Sequence[ScheduleStep] = ()
    warnings: Sequence[str] = field(default=())

    def to_json(self) -> dict[str, JSON]:
        return {
            "actions": [step.to_json() for step in self.steps],
            "schedules": [step.to_json() for step in self.schedules],
            "warnings": list(self.warnings),
        }


def origin_of(action: Action) -> str | None:
    """The origin that an action was deployed from; None if it was made in another way."""
    mark = action.annotations.get(DEPLOYED_FROM)
    origin = mark.get("origin") if isinstance(mark, dict) else None
    return origin if isinstance(origin, str) else None


# --- planning ------------------------------------------------------------------------------------


def planned(catalog: Catalog, namespace: str, deployment: Deployment, now_ms: int) -> Plan:
    """Computes the effect of a deployment. The catalog is a staged one, and is changed.

    Raises:
        ConflictError: a name belongs to something else, and the deployment must not replace that.
        InvalidError, TooLargeError: a definition is malformed or too large. The message names the action.
    """
    found = {each.name: _found(catalog, each.name) for each in deployment.actions}
    if not deployment.replace:
        _refuse_taken(deployment.actions, found)
    others = _removed(catalog, [each for each in found.values() if isinstance(each, _OTHERS)])
    catalog.apply(others)
    made: dict[Name, Step] = {}
    for each in _ordered(deployment.actions, namespace):
        step = _step(catalog, each, found[each.name], now_ms)
        catalog.apply(Change(step.action, (step.action,)))
        made[each.name] = step
    orphans = _orphans(catalog, namespace, deployment)
    if deployment.prune:
        catalog.apply(Change(None, gone=tuple(orphans)))
    last = [
        Step(
            action=action,
            change=REMOVED if deployment.prune else ORPHANED,
            used_by=tuple(_users(catalog, action.name)),
        )
        for action in orphans
    ]
    steps = [*(made[each.name] for each in deployment.actions), *last]
    put = [step.action for step in steps if step.change in (NEW, CHANGED)]
    gone = [step.action for step in last if step.change == REMOVED]
    change = Change(None, (*put, *others.put), (*gone, *others.gone))
    return Plan(
        deployment=deployment,
        steps=steps,
        change=change,
        warnings=list(_unresolved(catalog, steps)),
    )


def _found(catalog: Catalog, name: Name) -> Definition | None:
    kinds: tuple[type[Any], ...] = (Action, *_OTHERS)
    return next((found for kind in kinds if (found := catalog.find(kind, name))), None)


def _refuse_taken(actions: Iterable[Deployed], found: Mapping[Name, Definition | None]) -> None:
    texts = []
    for each in actions:
        before = found[each.name]
        if isinstance(before, Action):
            taken = _taken_action(each, before)
        else:
            taken = None if before is None else f"a {type(before).__name__.lower()}"
        if taken is not None:
            texts.append(f"the name '{each.name.path}' belongs to {taken}")
    if texts:
        raise ConflictError(
            f"nothing is deployed: {'; '.join(texts)}: choose another name, or deploy with 'replace' (--replace)"
        )


def _taken_action(each: Deployed, before: Action) -> str | None:
    """Describes an action that the deployment must not replace; None if the deployment may replace it."""
    origin, runtime = origin_of(before), each.document.get("exec")
    if origin is not None:
        same = are_of_one_project(origin, each.origin)
        return None if same else f"an action that was deployed from {origin!r}"
    kind = runtime.get("kind") if isinstance(runtime, dict) else None
    if not isinstance(kind, str) or kind.partition(":")[0] == before.kind.partition(":")[0]:
        return None
    return f"an action of the kind {before.kind!r}, which was not deployed from a project"


def are_of_one_project(one: str, other: str) -> bool:
    """True if two origins are of the same project, as far as is known.

    The folder of a project without a name may have another name on another machine: the file's name tells.
    """
    (project, _, file), (project2, _, file2) = one.rpartition("/"), other.rpartition("/")
    if project == project2:
        return True
    return file == file2 and NAMELESS in (one[: len(NAMELESS)], other[: len(NAMELESS)])


def _removed(catalog: Catalog, others: Iterable[Definition]) -> Change:
    """The change that removes packages, triggers and rules whose names actions take."""
    put: list[Definition] = []
    gone: list[Definition] = []
    for each in others:
        with _naming(each.name):
            change = catalog.removed(type(each), each.name)
        put += change.put
        gone += change.gone
    kept = tuple(each for each in put if each.name not in {other.name for other in gone})
    return Change(None, kept, tuple(gone))


def _ordered(actions: Iterable[Deployed], namespace: str) -> Iterator[Deployed]:
    """The actions, each sequence after those of its components that are sequences too."""
    waiting: dict[Name, tuple[Deployed, frozenset[Name]]] = {}
    for each in actions:
        runtime = each.document.get("exec")
        if isinstance(runtime, dict) and runtime.get("kind") == SEQUENCE:
            waiting[each.name] = each, frozenset(_components(runtime, namespace))
        else:
            yield each
    while waiting:
        ready = [name for name, (_, parts) in waiting.items() if parts.isdisjoint(waiting)]
        for name in ready or list(waiting):  # a circle is refused as one
            yield waiting.pop(name)[0]


def _components(runtime: dict[str, Any], namespace: str) -> Iterator[Name]:
    names = runtime.get("components")
    for text in names if isinstance(names, list) else ():
        try:
            yield Name.parse(text).within(namespace)
        except InvalidNameError:  # it is refused with the action
            continue


@contextmanager
def _naming(name: Name) -> Iterator[None]:
    """Puts the name of an action before the text of a refusal."""
    try:
        yield
    except NotFoundError as error:
        text = f"the package '{name.package}' does not exist: create it first"
        raise InvalidError(f"{name.path}: {text}") from error
    except (ConflictError, TooLargeError) as error:
        raise type(error)(f"{name.path}: {error}") from error
    except RefusedError as error:
        raise InvalidError(f"{name.path}: {error}") from error


def _step(catalog: Catalog, each: Deployed, found: Definition | None, now_ms: int) -> Step:
    before = found if isinstance(found, Action) else None
    with _naming(each.name):
        document = _marked(each, before)
        change = catalog.defined(Action, each.name, document, overwrite=True, now_ms=now_ms)
    action: Action = change.definition
    if before is None:
        return Step(action=action, change=NEW)
    fields = tuple(_differences(before, action))
    if not fields:
        return Step(action=before, change=UNCHANGED)
    return Step(action=action, change=CHANGED, fields=fields)


def _marked(each: Deployed, before: Action | None) -> dict[str, Any]:
    """The document with its mark; limits and annotations that the origin had set are set back.

    Raises:
        InvalidError: the annotations or the limits are malformed.
    """
    notes, limits = (
        parsed("annotations", each.document.get("annotations")),
        each.document.get("limits"),
    )
    if limits is not None and not isinstance(limits, dict):
        raise malformed("'limits' must be an object")
    set_limits: dict[str, JSON] = limits or {}
    mark: dict[str, JSON] = {
        "origin": each.origin,
        "limits": [*sorted(set_limits)],
        "annotations": [*sorted(notes)],
    }
    earlier: Any = {} if before is None else before.annotations.get(DEPLOYED_FROM)
    was: dict[str, Any] = earlier if isinstance(earlier, dict) else {}
    defaults = Limits().to_json()
    back = {name: defaults[name] for name in was.get("limits", ()) if name in defaults}
    return {
        **each.document,
        "annotations": listed({**notes, DEPLOYED_FROM: mark}),
        "delAnnotations": [key for key in was.get("annotations", ()) if key not in notes],
        "limits": {**back, **set_limits},
    }


def _differences(before: Action, after: Action) -> Iterator[str]:
    if before.kind != after.kind:
        yield "kind"
    elif before.exec != after.exec:
        yield "composition" if isinstance(after.exec, Composed) else "code"
    if before.limits != after.limits:
        yield "limits"
    if _notes(before) != _notes(after):
        yield "annotations"
    if origin_of(before) != origin_of(after):
        yield "origin"
    if before.parameters != after.parameters or before.publish != after.publish:
        yield "parameters"


def _notes(action: Action) -> dict[str, JSON]:
    return {
        key: value
        for key, value in action.annotations.items()
        if key not in (DEPLOYED_FROM, "exec")
    }


def _orphans(catalog: Catalog, namespace: str, deployment: Deployment) -> list[Action]:
    """Actions from the origins that the deployment does not have."""
    kept = {each.name for each in deployment.actions}
    found = sorted(catalog.all(Action, namespace), key=lambda action: action.name.path)
    return [
        action
        for action in found
        if action.name not in kept and is_of(origin_of(action), deployment.origins)
    ]


def is_of(origin: str | None, origins: Iterable[str]) -> bool:
    """True if an origin is one of these, or a file of one."""
    return origin is not None and any(
        origin == each or (each.endswith("/") and origin.startswith(each)) for each in origins
    )


def _users(catalog: Catalog, name: Name) -> Iterator[str]:
    """The rules and actions of the namespace that name an action."""
    for rule in catalog.all(Rule, name.namespace):
        if rule.action == name:
            yield f"rule {rule.name.path}"
    for action in catalog.all(Action, name.namespace):
        if action.name != name and str(name) in _named(action):
            yield f"action {action.name.path}"


def _named(action: Action) -> set[str]:
    """The full names of the actions that an action's program invokes."""
    return {name for program in action.programs for name in program.actions}


def _unresolved(catalog: Catalog, steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        if step.change in (REMOVED, ORPHANED):
            continue
        for text in sorted(_named(step.action)):
            try:
                catalog.resolve(Name.parse(text), step.action.name.namespace)
            except RefusedError:
                yield (
                    f"{step.action.name.path}: the action {text!r} does not exist: deploy it, or "
                    "the step that invokes it fails"
                )
