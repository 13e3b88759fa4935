"""Definitions: actions, packages, triggers and rules. All are frozen; JSON shapes are OpenWhisk's."""

from __future__ import annotations

import json
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from ..composer import (
    CONDUCTING,
    CompositionError,
    Name,
    Program,
    compile,
    forks,
    read_composer,
    read_event_filter,
    truthy,
)
from .clouds import YEAR_MS
from .coded import Code, Inline, code_of
from .composed import Composed, forwarding
from .conditions import Assignment, Condition, read_assignment, read_condition
from .entities import ENTITY, entity_settings
from .executables import exec_to_json, parsed_exec, row_of
from .kinds import INLINE
from .limits import DEFAULT as DEFAULT_LIMITS
from .limits import Limits
from .parameters import listed, parsed
from .queued import Queued
from .remotes import Remote

if TYPE_CHECKING:
    from ..composer import JSON, EventFilter
    from .documents import Stored
    from .entities import EntitySettings
    from .executables import Exec

INITIAL = "0.0.1"
ACTIVE, INACTIVE = "active", "inactive"
COMPONENTS = "_actions"  # the parameter in which OpenWhisk shows a sequence's components


@dataclass(frozen=True)
class Named:
    """The fields that all definitions have."""

    name: Name
    _: KW_ONLY
    parameters: dict[str, JSON] = field(default_factory=dict)
    annotations: dict[str, JSON] = field(default_factory=dict)
    version: str = INITIAL
    publish: bool = False
    updated_ms: int = 0

    def marked(self, annotation: str) -> bool:
        """True if the annotation exists and is true."""
        return truthy(self.annotations.get(annotation))

    def summary(self) -> dict[str, JSON]:
        """The definition as OpenWhisk lists it."""
        package = f"/{self.name.package}" if self.name.package else ""
        return {
            "namespace": self.name.namespace + package,
            "name": self.name.name,
            "version": self.version,
            "publish": self.publish,
            "annotations": listed(self.annotations),
            "updated": self.updated_ms,
        }

    def to_json(self) -> dict[str, JSON]:
        """The definition as OpenWhisk shows it, and as it is stored."""
        return {**self.summary(), "parameters": listed(self.parameters)}


@dataclass(frozen=True)
class Action(Named):
    """Anything that can be invoked.

    `called` is the name by which it was found, if that is a name within a binding.
    """

    exec: Exec
    limits: Limits = DEFAULT_LIMITS
    called: Name | None = None

    @cached_property
    def kind(self) -> str:
        return self.exec.kind

    def code_of(self, function: str | None) -> Code | None:
        """The code that its workers load: its own, or that of one of its inline functions, by hash."""
        if function is None:
            return self.exec if isinstance(self.exec, Code) else None
        if function not in self._codes:
            program = self.program if isinstance(self.exec, Composed) else self.joined
            assert program is not None  # noqa: S101  or there would be no such function
            self._codes[function] = code_of(program, function)
        return self._codes[function]

    @cached_property
    def _codes(self) -> dict[str, Code]:
        return {}

    def invoker_kind(self, function: str | None) -> str:
        """The kind that decides which invoker runs it: a composition's inline functions are code."""
        code = self.code_of(function)
        return self.kind if code is None else code.kind

    @cached_property
    def program(self) -> Program | None:
        """The program that the conductor runs; None if the action is code only."""
        if isinstance(self.exec, Composed):
            forwards = self.components and self.marked("forward")
            return forwarding(self.components) if forwards else self.exec.program
        return CONDUCTING if self.marked("conductor") and isinstance(self.exec, Code) else None

    @cached_property
    def joined(self) -> Program | None:
        """The composition of a conductor action that Composer made, if it has parallel branches.

        Composer's own code joins branches through a Redis server that the caller must name. Without one the
        conductor joins them.
        """
        tree = self.annotations.get("conductor")
        if self.program is not CONDUCTING or not isinstance(tree, dict) or not forks(tree):
            return None
        try:
            return compile(read_composer(tree), namespace=self.name.namespace)
        except CompositionError:
            return None  # its code has parts that its tree lacks: the code itself reports errors

    def program_for(self, params: dict[str, JSON]) -> Program | None:
        """The program that the conductor runs for a call with these parameters; None if it is code only."""
        if self.joined is None:
            return self.program
        given = params.get("$composer")
        return CONDUCTING if isinstance(given, dict) and given.get("redis") else self.joined

    @property
    def programs(self) -> list[Program]:
        """The programs to which its executions may be pinned, without that of conductor actions."""
        found = (self.program, self.joined)
        return [program for program in found if program is not None and program is not CONDUCTING]

    @cached_property
    def listed_as(self) -> Name:
        """The name under which its activations are listed."""
        return self.called or self.name

    @cached_property
    def about(self) -> bytes:
        """The JSON that is equal in the records of all its activations; `record` reads it.

        It is a list: version, path, kind and limits. A binding follows, and true if it is a sequence: OpenWhisk tells
        sequences from conductor actions.
        """
        path = f"{self.name.namespace}/{self.name.path}"
        about: list[JSON] = [self.version, path, self.kind, self.limits.to_list()]
        if self.called is not None or self.components:
            at = self.called
            about += (None if at is None else f"{at.namespace}/{at.package}", bool(self.components))
        return json.dumps(about, ensure_ascii=False, separators=(",", ":")).encode()

    @cached_property
    def is_unregistered(self) -> bool:
        """True for a function that the embedding program has not registered since it started."""
        return type(self.exec) is Inline and self.exec.kind == INLINE and self.exec.function is None

    @cached_property
    def answers_later(self) -> bool:
        """True if its result comes by its completion trigger, and not as the value that it returns."""
        if isinstance(self.exec, Remote) and self.exec.calls_back:
            return True
        return self.annotations.get("completion") == "callback"

    @cached_property
    def queued(self) -> Queued | None:
        """Its `exec` if workers outside poll for its tasks."""
        return self.exec if isinstance(self.exec, Queued) else None

    @cached_property
    def entity(self) -> EntitySettings | None:
        """Its settings as an entity type; None if it is not an entity type."""
        if not isinstance(self.exec, (Code, Inline)):
            return None
        return entity_settings(self.annotations.get(ENTITY))

    @cached_property
    def idempotent(self) -> bool:
        """True if an additional run has no additional effect."""
        return self.marked("idempotent")

    @cached_property
    def at_most_once(self) -> bool:
        """True if a run that a crash has interrupted must not run again."""
        return self.marked("at-most-once")

    @cached_property
    def repeatable(self) -> bool:
        """True if a function elsewhere may be invoked again although it may have run."""
        return self.idempotent or (isinstance(self.exec, Remote) and self.exec.repeatable)

    @cached_property
    def lost_on_crash(self) -> bool:
        """True if a step that was under way at a crash is lost, and not sent again.

        True for functions elsewhere unless they are `repeatable`. Code that runs here is sent again with the same
        idempotency key unless it is annotated `at-most-once`. A task of a queue is never lost so: that a worker
        has it is durable before the worker gets it.
        """
        if self.queued is not None:
            return False
        return self.at_most_once or (isinstance(self.exec, Remote) and not self.repeatable)

    @property
    def express(self) -> bool:
        """True if its executions are in memory only, with one record at the end."""
        says = row_of(self.kind).express
        if says is not None:
            return says(self.exec)
        return self.annotations.get("durability") == "express"

    @property
    def components(self) -> list[str]:
        """The full names of a sequence's components; empty for any other action."""
        of = row_of(self.kind).components
        return [] if of is None else of(self.exec)

    @property
    def final(self) -> frozenset[str]:
        """Parameters that a call must not set: those with a value, if the action is annotated `final`."""
        if not self.marked("final"):
            return frozenset()
        return frozenset(name for name, value in self.parameters.items() if value is not None)

    def to_json(self, *, code: bool = True) -> dict[str, JSON]:
        """The action as OpenWhisk shows it, and as it is stored; without the code when `code` is False."""
        parameters = listed(self.parameters)
        if self.components:
            parameters.append({"key": COMPONENTS, "value": [*self.components]})
        return {
            **super().to_json(),
            "parameters": parameters,
            "exec": exec_to_json(self.exec, code=code),
            "limits": self.limits.to_json(),
        }

    def summary(self) -> dict[str, JSON]:
        binary = isinstance(self.exec, Code) and self.exec.binary
        return {**super().summary(), "exec": {"binary": binary}, "limits": self.limits.to_json()}

    @classmethod
    def from_json(cls, doc: Stored) -> Action:
        """Reads what `to_json` wrote."""
        fields = _fields(doc)
        fields["parameters"].pop(COMPONENTS, None)
        namespace = fields["name"].namespace
        limits = Limits.from_json(doc["limits"], YEAR_MS)  # they were checked when it was put
        return cls(**fields, exec=parsed_exec(doc["exec"], namespace), limits=limits)


@dataclass(frozen=True)
class Package(Named):
    """A name for actions that belong together; or, with a `binding`, another name for a package."""

    binding: Name | None = None

    @property
    def public(self) -> bool:
        """True if every namespace may use it. A binding is never public, as in OpenWhisk."""
        return self.publish and self.binding is None

    def contains(self, name: Name) -> bool:
        return (name.namespace, name.package) == (self.name.namespace, self.name.name)

    def summary(self) -> dict[str, JSON]:
        return {**super().summary(), "binding": self._bound(unbound=False)}

    def to_json(self) -> dict[str, JSON]:
        return {**super().to_json(), "binding": self._bound(unbound={})}

    def _bound(self, *, unbound: JSON) -> JSON:
        if self.binding is None:
            return unbound
        return {"namespace": self.binding.namespace, "name": self.binding.name}

    @classmethod
    def from_json(cls, doc: Stored) -> Package:
        """Reads what `to_json` wrote."""
        bound = doc["binding"]
        binding = Name(bound["namespace"], None, bound["name"]) if bound else None
        return cls(**_fields(doc), binding=binding)


@dataclass(frozen=True)
class Trigger(Named):
    """A named channel of events. Each CloudEvent that fits its filter fires it."""

    filter: EventFilter | None = None

    def summary(self) -> dict[str, JSON]:
        if self.filter is None:
            return super().summary()
        return {**super().summary(), "filter": self.filter.to_json()}

    def to_json(self) -> dict[str, JSON]:
        return {**super().to_json(), "limits": {}}

    @classmethod
    def from_json(cls, doc: Stored) -> Trigger:
        """Reads what `to_json` wrote."""
        filter = doc.get("filter")
        return cls(**_fields(doc), filter=None if filter is None else read_event_filter(filter))


@dataclass(frozen=True)
class Rule(Named):
    """The link from a trigger to an action.

    `condition` says which fires invoke the action, None for all; `context` is the one that it begins with, and
    `assign` makes the context after each fire. A transient rule becomes inactive when it has invoked its action.
    """

    trigger: Name
    action: Name
    status: str = ACTIVE
    condition: Condition | None = None
    context: dict[str, JSON] = field(default_factory=dict)
    assign: Assignment | None = None
    transient: bool = False

    @property
    def active(self) -> bool:
        return self.status == ACTIVE

    def summary(self) -> dict[str, JSON]:
        doc: dict[str, JSON] = {
            **super().summary(),
            "trigger": _path(self.trigger),
            "action": _path(self.action),
            "status": self.status,
        }
        if self.condition is not None:
            doc["condition"] = self.condition.doc
        if self.context:
            doc["context"] = self.context
        if self.assign is not None:
            doc["assign"] = self.assign.doc
        if self.transient:
            doc["transient"] = True
        return doc

    def to_json(self) -> dict[str, JSON]:
        return self.summary()

    @classmethod
    def from_json(cls, doc: Stored) -> Rule:
        """Reads what `to_json` wrote."""
        return cls(
            **_fields(doc),
            trigger=_name(doc["trigger"]["path"], doc["trigger"]["name"]),
            action=_name(doc["action"]["path"], doc["action"]["name"]),
            status=doc["status"],
            condition=read_condition(doc.get("condition", True)),
            context=doc.get("context", {}),
            assign=read_assignment(doc["assign"]) if "assign" in doc else None,
            transient=doc.get("transient", False),
        )


Definition: TypeAlias = Action | Package | Trigger | Rule


def definition_from_json(doc: Stored) -> Definition:
    """Reads what the `to_json` of any definition wrote."""
    if "exec" in doc:
        return Action.from_json(doc)
    if "binding" in doc:
        return Package.from_json(doc)
    return Rule.from_json(doc) if "trigger" in doc else Trigger.from_json(doc)


def _fields(doc: Stored) -> dict[str, Any]:
    return {
        "name": _name(doc["namespace"], doc["name"]),
        "parameters": parsed("parameters", doc.get("parameters")),
        "annotations": parsed("annotations", doc["annotations"]),
        "version": doc["version"],
        "publish": doc["publish"],
        "updated_ms": doc["updated"],
    }


def _name(path: str, name: str) -> Name:
    namespace, _, package = path.partition("/")
    return Name(namespace, package or None, name)


def _path(name: Name) -> dict[str, JSON]:
    package = f"/{name.package}" if name.package else ""
    return {"path": name.namespace + package, "name": name.name}
