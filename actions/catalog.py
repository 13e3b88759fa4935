"""The names of a service and what they stand for: an index in memory, one for all namespaces.

A change is worked out here and stored by whoever asked for it, who then has it applied: the index
follows the store, never the other way. Texts are OpenWhisk's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from ..composer import Name
from .composed import MAX_SEQUENCE
from .definitions import define_action, define_package, define_rule, define_trigger
from .errors import ConflictError, ForbiddenError, InvalidError, NotFoundError
from .executables import KINDS, row_of
from .model import INACTIVE, Action, Package, Rule, Trigger
from .parameters import merged

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from ..composer import JSON
    from .model import Entity

    E = TypeVar("E", Action, Package, Trigger, Rule)


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be stored together: `entity` as it is now (or was, when it is gone), and others."""

    entity: Any
    put: tuple[Entity, ...] = ()
    gone: tuple[Entity, ...] = ()


class Catalog:
    """Entities by namespace and name. A name is unique in its namespace, whatever it stands for.

    Args:
        entities: that are there already.
        kinds: of actions that can be run from here, besides compositions and sequences.
    """

    def __init__(self, entities: Iterable[Entity] = (), kinds: Collection[str] = KINDS) -> None:
        self.kinds = kinds
        self.integrations: Callable[[str], bool] = lambda _: True  # that state machines may ask for
        self._namespaces: dict[str, dict[str, Entity]] = {}
        # What was looked up since the last change.
        self._resolved: dict[tuple[str, str], Action] = {}
        self._linked: dict[str, list[Rule]] = {}
        for entity in entities:
            self.apply(Change(entity, (entity,)))

    # --- reading -----------------------------------------------------------------------------

    def find(self, kind: type[E], name: Name) -> E | None:
        """The entity of this kind and name, if there is one."""
        found = self._namespaces.get(name.namespace, {}).get(name.path)
        return found if isinstance(found, kind) else None

    def get(self, kind: type[E], name: Name) -> E:
        """The entity of this kind and name.

        Raises:
            NotFoundError: when there is none.
            ConflictError: when the name stands for something of another kind.
        """
        found = self._namespaces.get(name.namespace, {}).get(name.path)
        if found is None:
            raise NotFoundError
        if not isinstance(found, kind):
            raise ConflictError("Resource by this name exists but is not in this collection.")
        return found

    def all(self, kind: type[E], namespace: str, package: str | None = None) -> list[E]:
        """Those of a namespace (or of one package), the last changed first."""
        found = [
            entity
            for entity in self._namespaces.get(namespace, {}).values()
            if isinstance(entity, kind) and package in (None, entity.name.package)
        ]
        return sorted(found, key=lambda entity: (-entity.updated_ms, entity.name.path))

    def public_packages(self) -> list[Package]:
        """The packages that every namespace may use."""
        return [p for ns in self._namespaces for p in self.all(Package, ns) if p.public]

    def resolve(self, name: Name, caller: str) -> Action:
        """The action of this name as `caller` may run it: through a binding, if the name is one's.

        Its parameters are those of the package, the binding and itself, the later over the earlier.

        Raises:
            NotFoundError: when there is none.
            ForbiddenError: when it is another namespace's and not in a public package, or an entity:
                whoever may lock one can keep everybody else out.
        """
        key = (str(name), caller)
        found = self._resolved.get(key)
        if found is None:
            found = self._resolve(name, caller)
            if found.entity is not None and found.name.namespace != caller:
                raise ForbiddenError(_shown(name))
            self._resolved[key] = found
        return found

    def _resolve(self, name: Name, caller: str) -> Action:
        if name.package is None:
            if name.namespace != caller:
                raise ForbiddenError(_shown(name))
            return self.get(Action, name)
        package = self.package(Name(name.namespace, None, name.package), caller, name)
        if package.binding is None:
            action = self.get(Action, name)
            return replace(action, parameters=merged(package.parameters, action.parameters))
        provider = self.package(package.binding, package.name.namespace, name)
        action = self.get(Action, Name(provider.name.namespace, provider.name.name, name.name))
        parameters = merged(provider.parameters, package.parameters, action.parameters)
        return replace(action, parameters=parameters, called=name)

    def package(self, name: Name, caller: str, asked: Name | None = None) -> Package:
        """A package as `caller` may see it.

        Raises:
            NotFoundError: when there is none in the caller's own namespace.
            ForbiddenError: when it is another's and not public, or not there.
        """
        found = self.find(Package, name)
        if name.namespace == caller:
            if found is None and asked is not None:
                raise NotFoundError
            return self.get(Package, name)
        if found is None or not found.public:
            raise ForbiddenError(_shown(asked or name))
        return found

    def contents(self, package: Package) -> list[Action]:
        """The actions that a package, or what it binds, has.

        Raises:
            NotFoundError: when it binds what is not there any more.
            ForbiddenError: when it binds what is another's, and not public any more.
        """
        if package.binding is not None:
            package = self.package(package.binding, package.name.namespace)
        return self.all(Action, package.name.namespace, package.name.name)

    def rules_of(self, trigger: Name) -> list[Rule]:
        """The rules that link a trigger, in order of name."""
        found = self._linked.get(str(trigger))
        if found is None:
            rules = (rule for rule in self.all(Rule, trigger.namespace) if rule.trigger == trigger)
            found = self._linked[str(trigger)] = sorted(rules, key=lambda rule: rule.name.name)
        return found

    # --- changing ----------------------------------------------------------------------------

    def defined(
        self, kind: type[Any], name: Name, doc: JSON, *, overwrite: bool, now_ms: int
    ) -> Change:
        """What a PUT of `doc` makes of the entity of this kind and name. Changes nothing here.

        Raises:
            ConflictError: when it exists and is not to be overwritten, or is of another kind.
            NotFoundError: when it stands in a package that does not exist.
            InvalidError: naming the field that is malformed.
            TooLargeError: for code or parameters over their limit.
        """
        if name.package is not None and kind is not Action:
            raise NotFoundError  # only actions stand in packages
        before = None
        if self._namespaces.get(name.namespace, {}).get(name.path) is not None:
            before = self.get(kind, name)
            if not overwrite:
                raise ConflictError("resource already exists")
        entity: Entity
        if kind is Action:
            entity = self._action(name, doc, before, now_ms)
        elif kind is Package:
            entity = self._package(name, doc, before, now_ms)
        elif kind is Trigger:
            entity = define_trigger(name, doc, before, now_ms)
        else:
            entity = self._rule(name, doc, before, now_ms)
        return Change(entity, (entity,))

    def removed(self, kind: type[Any], name: Name, *, force: bool = False) -> Change:
        """What a DELETE of the entity of this kind and name takes away. Changes nothing here.

        Raises:
            NotFoundError: when there is none of this name.
            ConflictError: when it is of another kind, or a package that is not empty, without `force`.
        """
        self._check_package(name)
        entity = self.get(kind, name)
        if isinstance(entity, Trigger):
            rules = tuple(replace(rule, status=INACTIVE) for rule in self.rules_of(name))
            return Change(entity, rules, (entity,))
        if not isinstance(entity, Package) or entity.binding is not None:
            return Change(entity, gone=(entity,))
        inside = self.contents(entity)
        if inside and not force:
            raise ConflictError(
                f"Package not empty (contains {len(inside)} "
                f"{'entity' if len(inside) == 1 else 'entities'}). "
                "Set force param or delete package contents."
            )
        return Change(entity, gone=(*inside, entity))

    def status_set(self, name: Name, status: JSON, now_ms: int) -> Change:
        """What setting a rule's status changes.

        Raises:
            InvalidError: when it is neither `active` nor `inactive`.
            NotFoundError: when there is no such rule, or its trigger is gone.
        """
        if status not in ("active", "inactive"):
            raise InvalidError(
                "The request content was malformed:\n"
                f"'status' must be 'active' or 'inactive', not {status!r:.100}"
            )
        rule = self.get(Rule, name)
        if status == rule.status:
            return Change(rule)
        if self.find(Trigger, rule.trigger) is None:
            raise NotFoundError("Only rules with existing triggers can be activated")
        rule = replace(rule, status=status, updated_ms=now_ms)
        return Change(rule, (rule,))

    def apply(self, change: Change) -> None:
        """Takes in what has been stored."""
        self._resolved.clear()
        self._linked.clear()
        for entity in change.put:
            self._namespaces.setdefault(entity.name.namespace, {})[entity.name.path] = entity
        for entity in change.gone:
            self._namespaces.get(entity.name.namespace, {}).pop(entity.name.path, None)

    # --- what a definition must agree with ---------------------------------------------------

    def _action(self, name: Name, doc: JSON, before: Action | None, now_ms: int) -> Action:
        self._check_package(name)
        action = define_action(name, doc, before, now_ms, self.kinds)
        if action.components:
            self._check_sequence(action)
        row_of(action.kind).check(action.exec, self.integrations)
        return action

    def _check_package(self, name: Name) -> None:
        """An action's package must be there, and be one of its own."""
        if name.package is None:
            return
        package = self.find(Package, Name(name.namespace, None, name.package))
        if package is None:
            raise NotFoundError
        if package.binding is not None:
            raise InvalidError("Operation not permitted on package binding.")

    def _check_sequence(self, sequence: Action) -> None:
        """A sequence's components must be there, be few, and not lead back to it."""
        atoms = self._atoms(sequence, sequence.name, frozenset())
        if sum(1 for _ in islice(atoms, MAX_SEQUENCE + 1)) > MAX_SEQUENCE:
            raise InvalidError("Too many actions in the sequence.")

    def _atoms(self, sequence: Action, top: Name, above: frozenset[Name]) -> Iterator[Name]:
        """The components that are no sequences, through all that are."""
        for text in sequence.components:
            name = Name.parse(text)
            if name == top or name in above:
                raise InvalidError("Sequence may not refer to itself.")
            try:
                component = self.resolve(name, top.namespace)
            except (NotFoundError, ConflictError):
                raise InvalidError(f"Sequence component does not exist: {text}.") from None
            if component.name == top:
                raise InvalidError("Sequence may not refer to itself.")
            if component.components:
                yield from self._atoms(component, top, above | {name})
            else:
                yield name

    def _package(self, name: Name, doc: JSON, before: Package | None, now_ms: int) -> Package:
        package = define_package(name, doc, before, now_ms)
        if package.binding is None or not doc.get("binding"):
            return package
        if before is not None and before.binding is None:
            raise ConflictError("Resource is a package and cannot be converted into a binding.")
        try:
            provider = self.package(package.binding, name.namespace)
        except NotFoundError:
            raise InvalidError("Binding references a package that does not exist.") from None
        except ConflictError:
            raise ConflictError("Cannot bind to a resource that is not a package.") from None
        if provider.binding is not None:
            raise InvalidError("Cannot bind to another package binding.")
        return package

    def _rule(self, name: Name, doc: JSON, before: Rule | None, now_ms: int) -> Rule:
        rule = define_rule(name, doc, before, now_ms)
        if rule.trigger.namespace != name.namespace:
            raise ForbiddenError(_shown(rule.trigger))
        if self.find(Trigger, rule.trigger) is None:
            raise InvalidError(f"trigger {rule.trigger} does not exist")
        try:
            self.resolve(rule.action, name.namespace)
        except (NotFoundError, ConflictError):
            raise InvalidError(f"action {rule.action} does not exist") from None
        return rule


def _shown(name: Name) -> str:
    return f"{name.namespace}/{name.path}"
