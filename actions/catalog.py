"""The index of all definitions by name, in memory, for all namespaces.

A method here computes a change; the caller stores the change and then applies it. So the index follows
the store, never the other way. Texts are OpenWhisk's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..composer import Name
from .composed import MAX_SEQUENCE
from .definitions import define_action, define_package, define_rule, define_trigger
from .errors import ConflictError, ForbiddenError, InvalidError, NotFoundError
from .executables import KINDS, row_of
from .model import ACTIVE, INACTIVE, Action, Package, Rule, Trigger
from .parameters import merged
from .trigger_index import UNTYPED_FILTERS, TriggerIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from ..composer import JSON
    from .model import Definition

    E = TypeVar("E", Action, Package, Trigger, Rule)


SYSTEM = "whisk.system"  # the namespace of the operator and of the packages that every server has


@dataclass(frozen=True, slots=True)
class Change:
    """A change that is stored as a whole: the `definition` that was asked for (as it was, if removed), and others.

    Args:
        definition: that was asked for.
        put: definitions to store.
        gone: definitions to delete.
        anew: rules among those to store that begin anew, and forget what they remember.
    """

    definition: Any
    put: tuple[Definition, ...] = ()
    gone: tuple[Definition, ...] = ()
    anew: tuple[Name, ...] = ()


class Catalog:
    """Definitions by namespace and name. A name is unique in its namespace across all kinds of definitions.

    Args:
        definitions: the initial contents.
        kinds: of actions that can run from here, besides compositions and sequences.
        integrations: True for a service integration that state machines may use.
        alias: version that an alias of a Lambda function calls, by function, alias and id of the call.
    """

    def __init__(
        self,
        definitions: Iterable[Definition] = (),
        kinds: Collection[str] = KINDS,
        integrations: Callable[[str], bool] = lambda _: True,
        alias: Callable[[Name, str, str], str | None] = lambda *_: None,
    ) -> None:
        self.kinds = kinds
        self._integrations, self.alias = integrations, alias
        self._namespaces: dict[str, dict[str, Definition]] = {}
        # Lookups since the last change.
        self._resolved: dict[tuple[str, str], Action] = {}
        self._linked: dict[str, list[Rule]] = {}
        self.hearing = TriggerIndex(lambda namespace: self.all(Trigger, namespace))
        for definition in definitions:
            self.apply(Change(definition, (definition,)))

    @classmethod
    def staged(cls, catalog: Catalog, namespace: str) -> Catalog:
        """A copy to which changes of one namespace can be applied without changing the catalog."""
        copy = cls(kinds=catalog.kinds, integrations=catalog._integrations, alias=catalog.alias)
        own = catalog._namespaces.get(namespace, {})
        copy._namespaces = {**catalog._namespaces, namespace: {**own}}
        return copy

    # --- reading -----------------------------------------------------------------------------

    def find(self, kind: type[E], name: Name) -> E | None:
        """The definition of this kind and name, if there is one."""
        found = self._namespaces.get(name.namespace, {}).get(name.path)
        return found if isinstance(found, kind) else None

    def get(self, kind: type[E], name: Name) -> E:
        """The definition of this kind and name.

        Raises:
            NotFoundError: there is none.
            ConflictError: the name belongs to a definition of another kind.
        """
        found = self._namespaces.get(name.namespace, {}).get(name.path)
        if found is None:
            raise NotFoundError
        if not isinstance(found, kind):
            raise ConflictError("Resource by this name exists but is not in this collection.")
        return found

    def all(self, kind: type[E], namespace: str, package: str | None = None) -> list[E]:
        """The definitions of a namespace (or of one package), the last changed first."""
        found = [
            definition
            for definition in self._namespaces.get(namespace, {}).values()
            if isinstance(definition, kind) and package in (None, definition.name.package)
        ]
        return sorted(found, key=lambda definition: (-definition.updated_ms, definition.name.path))

    def public_packages(self) -> list[Package]:
        """The packages that every namespace may use."""
        return [p for ns in self._namespaces for p in self.all(Package, ns) if p.public]

    def resolve(self, name: Name, caller: str) -> Action:
        """The action of this name as `caller` may run it, also through a binding.

        Its parameters are those of the package, the binding and the action; later ones win.

        Raises:
            NotFoundError: there is none.
            ForbiddenError: the action belongs to another namespace, and is not in a public package or is an
                entity: a caller that may lock an entity can keep everybody else out.
        """
        key = (name.text, caller)
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
            NotFoundError: there is none in the caller's own namespace.
            ForbiddenError: it is in another namespace, and private or missing. In SYSTEM, whose packages
                are there for everybody, it is a NotFoundError.
        """
        found = self.find(Package, name)
        if name.namespace == caller:
            if found is None and asked is not None:
                raise NotFoundError
            return self.get(Package, name)
        if found is None or not found.public:
            if name.namespace == SYSTEM:
                raise NotFoundError
            raise ForbiddenError(_shown(asked or name))
        return found

    def contents(self, package: Package) -> list[Action]:
        """The actions of a package, or of the package that it binds.

        Raises:
            NotFoundError: the bound package does not exist any more.
            ForbiddenError: the bound package belongs to another namespace and is not public any more.
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
        """Computes the change by a PUT of `doc`, and changes nothing here.

        Raises:
            ConflictError: the name exists and must not be overwritten, or belongs to another kind.
            NotFoundError: its package does not exist.
            InvalidError: a field is malformed. The message names the field.
            TooLargeError: code or parameters are over their limit.
        """
        if name.package is not None and kind is not Action:
            raise NotFoundError  # only actions stand in packages
        before = None
        if self._namespaces.get(name.namespace, {}).get(name.path) is not None:
            before = self.get(kind, name)
            if not overwrite:
                raise ConflictError("resource already exists")
        definition: Definition
        anew = False
        if kind is Action:
            definition = self._action(name, doc, before, now_ms)
        elif kind is Package:
            definition = self._package(name, doc, before, now_ms)
        elif kind is Trigger:
            definition = self._trigger(name, doc, before, now_ms)
        else:
            definition = rule = self._rule(name, doc, before, now_ms)
            anew = "context" in cast("dict[str, JSON]", doc) or (
                before is not None and before.transient != rule.transient
            )
        return Change(definition, (definition,), anew=(name,) if anew else ())

    def removed(self, kind: type[Any], name: Name, *, force: bool = False) -> Change:
        """Computes the change by a DELETE of the definition of this kind and name, and changes nothing here.

        Raises:
            NotFoundError: there is none of this name.
            ConflictError: the name belongs to another kind, or to a package that is not empty, without `force`.
        """
        self._check_package(name)
        definition = self.get(kind, name)
        if isinstance(definition, Trigger):
            rules = tuple(replace(rule, status=INACTIVE) for rule in self.rules_of(name))
            return Change(definition, rules, (definition,))
        if not isinstance(definition, Package) or definition.binding is not None:
            return Change(definition, gone=(definition,))
        inside = self.contents(definition)
        if inside and not force:
            raise ConflictError(
                f"Package not empty (contains {len(inside)} "
                f"{'entity' if len(inside) == 1 else 'entities'}). "
                "Set force param or delete package contents."
            )
        return Change(definition, gone=(*inside, definition))

    def status_set(self, name: Name, status: JSON, now_ms: int) -> Change:
        """Computes the change by setting a rule's status.

        Raises:
            InvalidError: the status is neither `active` nor `inactive`.
            NotFoundError: the rule or its trigger does not exist.
        """
        if not isinstance(status, str) or status not in (ACTIVE, INACTIVE):
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
        anew = rule.transient and rule.active  # it has fired before, perhaps
        return Change(rule, (rule,), anew=(name,) if anew else ())

    def apply(self, change: Change) -> None:
        """Applies a change that has been stored."""
        self._resolved.clear()
        self._linked.clear()
        for definition in (*change.gone, *change.put):
            self.hearing.changed(definition.name.namespace)
        for definition in change.gone:  # first: another may take its name
            self._namespaces.get(definition.name.namespace, {}).pop(definition.name.path, None)
        for definition in change.put:
            self._namespaces.setdefault(definition.name.namespace, {})[definition.name.path] = (
                definition
            )

    # --- checks against other definitions ----------------------------------------------------

    def _action(self, name: Name, doc: JSON, before: Action | None, now_ms: int) -> Action:
        self._check_package(name)
        action = define_action(name, doc, before, now_ms, self.kinds)
        if action.components:
            self._check_sequence(action)
        row_of(action.kind).check(action.exec, self._integrations)
        return action

    def _check_package(self, name: Name) -> None:
        """Checks that an action's package exists and is not a binding."""
        if name.package is None:
            return
        package = self.find(Package, Name(name.namespace, None, name.package))
        if package is None:
            raise NotFoundError
        if package.binding is not None:
            raise InvalidError("Operation not permitted on package binding.")

    def _check_sequence(self, sequence: Action) -> None:
        """Checks that a sequence's components exist, are few, and do not lead back to the sequence."""
        atoms = self._atoms(sequence, sequence.name, frozenset())
        if sum(1 for _ in islice(atoms, MAX_SEQUENCE + 1)) > MAX_SEQUENCE:
            raise InvalidError("Too many actions in the sequence.")

    def _atoms(self, sequence: Action, top: Name, above: frozenset[Name]) -> Iterator[Name]:
        """The actions that a sequence consists of, with those of the sequences in it."""
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
        if package.binding is None or not isinstance(doc, dict) or not doc.get("binding"):
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

    def _trigger(self, name: Name, doc: JSON, before: Trigger | None, now_ms: int) -> Trigger:
        trigger = define_trigger(name, doc, before, now_ms)
        if not _is_untyped(trigger) or (before is not None and _is_untyped(before)):
            return trigger
        if sum(map(_is_untyped, self.all(Trigger, name.namespace))) >= UNTYPED_FILTERS:
            raise InvalidError(
                f"The namespace {name.namespace} has {UNTYPED_FILTERS} triggers with filters that fit any type of "
                "CloudEvent, and may not have more: put this filter and "
                '{"exact": {"type": "..."}} into \'all\'.'
            )
        return trigger

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


def _is_untyped(trigger: Trigger) -> bool:
    return trigger.filter is not None and trigger.filter.types is None


def _shown(name: Name) -> str:
    return f"{name.namespace}/{name.path}"
