"""What the catalog makes of packages, bindings, triggers and rules; who may use what."""

from __future__ import annotations

import pytest

from tests.kit.actions.things import named, python
from xingqiao.actions import (
    Action,
    Catalog,
    Change,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    Package,
    Rule,
    Trigger,
)

CODE = {"exec": {"kind": "python:3", "code": "x"}}


class World:
    """A catalog that takes in what is put."""

    def __init__(self):
        self.catalog, self.now = Catalog(), 0

    def put(self, kind, name, doc=None, *, overwrite=False, **fields):
        self.now += 1
        document = {**(doc or {}), **fields}
        if "parameters" in document:
            pairs = document["parameters"].items()
            document["parameters"] = [{"key": k, "value": v} for k, v in pairs]
        change = self.catalog.defined(
            kind, named(name), document, overwrite=overwrite, now_ms=self.now
        )
        self.catalog.apply(change)
        return change.definition

    def action(self, name, **fields):
        return self.put(Action, name, CODE, **fields)

    def sequence(self, name, *components, **options):
        return self.put(
            Action, name, {"exec": {"kind": "sequence", "components": [*components]}}, **options
        )

    def remove(self, kind, name, **options):
        change = self.catalog.removed(kind, named(name), **options)
        self.catalog.apply(change)
        return change.definition


@pytest.fixture
def world():
    made = World()
    made.put(Package, "/other/open", publish=True, parameters={"a": "open", "b": "open"})
    made.put(Package, "/other/shut")
    for name in ("/other/open/act", "/other/shut/act", "/other/act"):
        made.action(name, parameters={"b": "action"})
    return made


# --- who may use what --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "caller", "error"),
    [
        ("/other/open/act", "guest", None),
        ("/other/open/act", "other", None),
        ("/other/shut/act", "other", None),
        ("/other/act", "other", None),
        ("/other/shut/act", "guest", ForbiddenError),
        ("/other/act", "guest", ForbiddenError),
        ("/other/none/act", "guest", ForbiddenError),
        ("/other/none", "guest", ForbiddenError),
        ("/other/open/none", "guest", NotFoundError),
        ("/other/none/act", "other", NotFoundError),
        ("/other/act/act", "other", NotFoundError),
        ("/guest/none", "guest", NotFoundError),
    ],
)
def test_an_action_is_its_owners_or_in_a_public_package(world, name, caller, error):
    if error is None:
        assert world.catalog.resolve(named(name), caller).name == named(name)
    else:
        with pytest.raises(error):
            world.catalog.resolve(named(name), caller)


def test_public_packages_are_listed_for_all(world):
    assert [package.name.name for package in world.catalog.public_packages()] == ["open"]


def test_parameters_go_over_those_of_the_package_and_the_binding(world):
    bound = {"binding": {"namespace": "other", "name": "open"}}
    world.put(Package, "bound", bound, parameters={"a": "bound", "c": "bound"})

    direct = world.catalog.resolve(named("/other/open/act"), "guest")
    action = world.catalog.resolve(named("bound/act"), "guest")

    assert direct.parameters == {"a": "open", "b": "action"}
    assert action.parameters == {"a": "bound", "b": "action", "c": "bound"}
    assert (action.name, action.listed_as) == (named("/other/open/act"), named("bound/act"))
    assert b"guest/bound" in action.about
    assert world.catalog.contents(world.catalog.get(Package, named("bound"))) == (
        world.catalog.all(Action, "other", "open")
    )


def test_a_binding_to_what_has_become_private_is_shut(world):
    world.put(Package, "bound", binding={"namespace": "other", "name": "open"})
    world.put(Package, "/other/open", publish=False, overwrite=True)

    with pytest.raises(ForbiddenError):
        world.catalog.resolve(named("bound/act"), "guest")
    with pytest.raises(ForbiddenError):
        world.catalog.contents(world.catalog.get(Package, named("bound")))


def test_a_binding_to_what_is_gone_has_no_contents(world):
    world.put(Package, "mine")
    world.put(Package, "bound", binding={"name": "mine"})
    world.remove(Package, "mine")

    with pytest.raises(NotFoundError):
        world.catalog.contents(world.catalog.get(Package, named("bound")))


def test_a_binding_is_its_owners_only(world):
    bound = {"binding": {"namespace": "other", "name": "open"}}
    world.put(Package, "bound", bound, publish=True)

    assert [package.name.name for package in world.catalog.public_packages()] == ["open"]
    with pytest.raises(ForbiddenError):
        world.catalog.resolve(named("/guest/bound/act"), "third")


# --- packages ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("binding", "error", "why"),
    [
        ({"name": "none"}, InvalidError, "Binding references a package that does not exist"),
        ({"namespace": "other", "name": "shut"}, ForbiddenError, "not authorized"),
        ({"name": "bound"}, InvalidError, "Cannot bind to another package binding"),
        ({"name": "plain"}, ConflictError, "Cannot bind to a resource that is not a package"),
    ],
)
def test_a_binding_must_bind_a_package(world, binding, error, why):
    world.put(Package, "bound", binding={"namespace": "other", "name": "open"})
    world.action("plain")

    with pytest.raises(error, match=why):
        world.put(Package, "new", binding=binding)


def test_a_package_does_not_become_a_binding_nor_a_binding_hold_actions(world):
    world.put(Package, "p")
    world.put(Package, "bound", binding={"namespace": "other", "name": "open"})
    world.put(Package, "bound", overwrite=True, parameters={"x": 1})

    with pytest.raises(ConflictError, match="cannot be converted into a binding"):
        world.put(Package, "p", binding={"namespace": "other", "name": "open"}, overwrite=True)
    for change in (lambda: world.action("bound/act"), lambda: world.remove(Action, "bound/act")):
        with pytest.raises(InvalidError, match="Operation not permitted on package binding"):
            change()
    assert world.remove(Package, "bound").parameters == {"x": 1}


def test_a_package_that_is_not_empty_is_deleted_by_force_only(world):
    world.put(Package, "p")
    world.action("p/a")
    with pytest.raises(ConflictError, match=r"contains 1 entity\)"):
        world.remove(Package, "p")
    world.action("p/b")
    with pytest.raises(ConflictError, match=r"contains 2 entities\)"):
        world.remove(Package, "p")

    world.remove(Package, "p", force=True)

    assert world.catalog.all(Action, "guest") == []
    assert world.catalog.find(Package, named("p")) is None


@pytest.mark.parametrize("kind", [Package, Trigger, Rule])
def test_only_actions_stand_in_packages(world, kind):
    world.put(Package, "p")

    with pytest.raises(NotFoundError):
        world.put(kind, "p/it")


def test_a_name_stands_for_one_thing(world):
    world.action("it")

    for kind in (Package, Trigger, Rule):
        with pytest.raises(ConflictError, match="exists but is not in this collection"):
            world.put(kind, "it")
        with pytest.raises(ConflictError, match="exists but is not in this collection"):
            world.catalog.get(kind, named("it"))


# --- sequences ---------------------------------------------------------------------------------


def test_a_sequence_has_components_that_are_there(world):
    world.action("a")

    assert world.sequence("s", "/_/a", "/other/open/act").components == [
        "/guest/a", "/other/open/act",
    ]  # fmt: skip
    with pytest.raises(InvalidError, match=r"Sequence component does not exist: /guest/none\."):
        world.sequence("t", "/_/a", "/_/none")
    with pytest.raises(ForbiddenError):
        world.sequence("t", "/other/act")


def test_a_sequence_does_not_lead_back_to_itself(world):
    world.action("a")
    world.put(Package, "p")
    world.put(Package, "b", binding={"name": "p"})
    world.sequence("p/one", "/_/a")
    world.sequence("two", "/_/p/one")

    for component in ("/_/p/one", "/_/two", "/_/b/one"):
        with pytest.raises(InvalidError, match="Sequence may not refer to itself"):
            world.sequence("p/one", component, overwrite=True)


def test_the_components_of_a_sequence_are_counted_through_those_it_holds(world):
    world.action("a")
    world.sequence("ten", *["/_/a"] * 10)
    world.sequence("forty", *["/_/ten"] * 4)
    world.sequence("fifty", "/_/forty", "/_/ten")

    with pytest.raises(InvalidError, match="Too many actions in the sequence"):
        world.sequence("more", "/_/fifty", "/_/a")
    with pytest.raises(InvalidError, match="Too many actions in the sequence"):
        world.sequence("more", *["/_/fifty"] * 50)


# --- triggers and rules ------------------------------------------------------------------------


def test_a_rule_links_what_is_there(world):
    world.action("a")
    world.put(Trigger, "t")

    rule = world.put(Rule, "r", trigger="t", action="a")

    assert rule.active
    assert world.catalog.rules_of(named("t")) == [rule]
    assert world.catalog.rules_of(named("t")) == [rule]  # which is looked up once
    for links, error, why in (
        ({"trigger": "none", "action": "a"}, InvalidError, "trigger /guest/none does not exist"),
        ({"trigger": "t", "action": "none"}, InvalidError, "action /guest/none does not exist"),
        ({"trigger": "/other/t", "action": "a"}, ForbiddenError, "not authorized"),
        ({"trigger": "t", "action": "/other/act"}, ForbiddenError, "not authorized"),
    ):
        with pytest.raises(error, match=why):
            world.put(Rule, "s", links)


def test_a_rules_status_is_set_and_ends_with_its_trigger(world):
    world.action("a")
    world.put(Trigger, "t")
    world.put(Rule, "r", trigger="t", action="a")

    def switch(status):
        change = world.catalog.status_set(named("r"), status, 9)
        world.catalog.apply(change)
        return change

    assert switch("active") == Change(world.catalog.get(Rule, named("r")))
    assert not switch("inactive").definition.active
    assert switch("active").definition.active
    world.remove(Trigger, "t")
    assert not world.catalog.get(Rule, named("r")).active
    with pytest.raises(NotFoundError, match="Only rules with existing triggers can be activated"):
        switch("active")
    with pytest.raises(InvalidError, match="'status' must be 'active' or 'inactive'"):
        switch(None)
    world.put(Trigger, "t")
    assert not world.catalog.get(Rule, named("r")).active
    assert switch("active").definition.active


def test_what_is_changed_is_resolved_anew(world):
    world.action("a")
    before = world.catalog.resolve(named("a"), "guest")
    assert world.catalog.resolve(named("a"), "guest") is before

    world.action("a", overwrite=True)

    assert world.catalog.resolve(named("a"), "guest").version == "0.0.2"
    world.catalog.apply(Change(None, gone=(python(name="/nobody/x"),)))  # it was not there


def test_final_parameters_and_marks_are_read_from_annotations():
    notes = [{"key": "final", "value": True}, {"key": "at-most-once", "value": 1}]
    final = python(parameters=[{"key": "a", "value": 1}], annotations=notes)

    assert (final.final, final.at_most_once) == ({"a"}, True)
    assert python(parameters=[{"key": "a", "value": 1}]).final == frozenset()
    package = Package(named("p"))
    assert package.contains(named("p/a"))
    assert not package.contains(named("a"))


def test_an_entity_type_is_its_owners_only_wherever_it_stands(world):
    noted = [{"key": "entity", "value": True}]
    world.put(Action, "/other/open/account", {**CODE, "annotations": noted})

    assert world.catalog.resolve(named("/other/open/account"), "other").entity is not None
    with pytest.raises(ForbiddenError):
        world.catalog.resolve(named("/other/open/account"), "guest")
