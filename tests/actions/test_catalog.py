"""The index of names: what it finds, lists, takes in and refuses."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.kit.actions.things import named, python
from xingqiao.actions import (
    UNTYPED_FILTERS,
    Action,
    Catalog,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    Package,
    Rule,
    Trigger,
)

CODE = {"kind": "python:3", "code": "def main(params): return params"}


def test_what_is_taken_in_is_found_by_its_full_name():
    action = python(name="a")
    catalog = Catalog([action])

    assert catalog.find(Action, named("a")) is catalog.get(Action, named("a")) is action


@pytest.mark.parametrize("name", ["b", "/other/a", "a/a", "A"])
def test_what_is_not_there_is_not_found(name):
    catalog = Catalog([python(name="a")])

    assert catalog.find(Action, named(name)) is None
    with pytest.raises(NotFoundError, match="The requested resource does not exist"):
        catalog.get(Action, named(name))
    with pytest.raises(NotFoundError):
        catalog.removed(Action, named(name))


def test_the_last_of_one_name_stands():
    first, second = python("one = 1", name="a"), python("two = 2", name="a")

    catalog = Catalog([first, second])

    assert catalog.all(Action, "guest") == [second]


def test_a_list_has_the_last_changed_first_and_names_in_order():
    ages = {"c": 1, "b": 3, "a": 3, "d": 2}
    catalog = Catalog(replace(python(name=name), updated_ms=ms) for name, ms in ages.items())

    assert [action.name.name for action in catalog.all(Action, "guest")] == ["a", "b", "d", "c"]


def test_a_namespace_sees_only_its_own():
    catalog = Catalog([python(name="a"), python(name="/other/b")])

    assert [action.name.name for action in catalog.all(Action, "other")] == ["b"]
    assert catalog.all(Action, "nobody") == []


def test_a_new_action_is_made_but_not_taken_in():
    catalog = Catalog()

    action = catalog.defined(
        Action, named("a"), {"exec": CODE}, overwrite=False, now_ms=5
    ).definition

    assert (action.version, action.updated_ms) == ("0.0.1", 5)
    assert catalog.find(Action, named("a")) is None


def test_what_is_there_is_overwritten_only_when_asked():
    catalog = Catalog([python(name="a")])

    with pytest.raises(ConflictError, match="resource already exists"):
        catalog.defined(Action, named("a"), {"exec": CODE}, overwrite=False, now_ms=5)
    after = catalog.defined(
        Action, named("a"), {"publish": True}, overwrite=True, now_ms=5
    ).definition

    assert (after.version, after.publish) == ("0.0.2", True)


def test_what_is_to_be_overwritten_need_not_be_there():
    action = (
        Catalog().defined(Action, named("a"), {"exec": CODE}, overwrite=True, now_ms=5).definition
    )

    assert action.version == "0.0.1"


def test_an_action_in_a_package_that_does_not_exist_is_not_found():
    with pytest.raises(NotFoundError):
        Catalog().defined(Action, named("pkg/a"), {"exec": CODE}, overwrite=True, now_ms=5)


def test_a_malformed_document_is_refused():
    with pytest.raises(InvalidError, match="exec undefined"):
        Catalog().defined(Action, named("a"), {}, overwrite=False, now_ms=5)


def test_what_is_removed_is_gone():
    action = python(name="a")
    catalog = Catalog([action, python(name="b")])

    change = catalog.removed(Action, named("a"))
    assert change.definition is catalog.find(Action, named("a")) is action
    catalog.apply(change)
    assert catalog.find(Action, named("a")) is None
    assert [left.name.name for left in catalog.all(Action, "guest")] == ["b"]


class CatalogMachine(RuleBasedStateMachine):
    """A catalog is a dict of names."""

    names = st.sampled_from(["/one/a", "/one/b", "/two/a"]).map(named)

    def __init__(self):
        super().__init__()
        self.catalog, self.expected, self.now = Catalog(), {}, 0

    @rule(name=names, overwrite=st.booleans())
    def put(self, name, overwrite):
        self.now += 1
        doc = {"exec": CODE}
        if name in self.expected and not overwrite:
            with pytest.raises(ConflictError):
                self.catalog.defined(Action, name, doc, overwrite=False, now_ms=self.now)
            return
        change = self.catalog.defined(Action, name, doc, overwrite=overwrite, now_ms=self.now)
        self.catalog.apply(change)
        self.expected[name] = change.definition

    @rule(name=names)
    def remove(self, name):
        if name in self.expected:
            change = self.catalog.removed(Action, name)
            assert change.definition is self.expected.pop(name)
            self.catalog.apply(change)
        else:
            with pytest.raises(NotFoundError):
                self.catalog.removed(Action, name)

    @invariant()
    def it_holds_what_it_was_given(self):
        for namespace in ("one", "two"):
            expected = [a for name, a in self.expected.items() if name.namespace == namespace]
            found = self.catalog.all(Action, namespace)
            assert found == sorted(expected, key=lambda action: -action.updated_ms)


TestCatalogMachine = CatalogMachine.TestCase


def test_a_state_machine_asks_only_for_what_is_known_here():
    task = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "End": True}
    definition = json.dumps({"StartAt": "A", "States": {"A": task}})
    doc = {"exec": {"kind": "states", "definition": definition}}
    Catalog().defined(Action, named("m"), doc, overwrite=True, now_ms=5)

    with pytest.raises(InvalidError, match="is not recognized"):
        Catalog(integrations=lambda _: False).defined(
            Action, named("m"), doc, overwrite=True, now_ms=5
        )


def test_a_missing_package_of_the_system_does_not_exist_and_another_namespaces_is_forbidden():
    catalog = Catalog([Package(named("/whisk.system/private")), Package(named("/other/private"))])

    for package in ("private", "missing"):
        with pytest.raises(NotFoundError):
            catalog.resolve(named(f"/whisk.system/{package}/a"), "guest")
        with pytest.raises(ForbiddenError):
            catalog.resolve(named(f"/other/{package}/a"), "guest")


def test_filters_that_every_cloudevent_is_tried_with_are_few():
    any_type, typed = {"prefix": {"source": "/shop"}}, {"exact": {"type": "a"}}
    catalog = Catalog()

    def put(name, filter):
        change = catalog.defined(Trigger, named(name), {"filter": filter}, overwrite=True, now_ms=1)
        catalog.apply(change)

    for number in range(UNTYPED_FILTERS):
        put(f"t{number}", any_type)
    put("typed", typed)
    put("t0", {"suffix": {"source": "/eu"}})  # one that has such a filter may get another
    put("/other/t", any_type)

    for name in ("more", "typed"):
        with pytest.raises(
            InvalidError, match=f"guest has {UNTYPED_FILTERS} triggers with filters"
        ):
            put(name, any_type)
    put("t1", typed)
    put("more", any_type)


def test_a_rule_begins_anew_when_a_context_is_given_and_when_it_may_fire_again():
    links = {"trigger": "t", "action": "a"}
    catalog = Catalog([python(name="a")])

    def put(kind=Rule, **doc):
        change = catalog.defined(
            kind, named("t" if kind is Trigger else "r"), doc, overwrite=True, now_ms=1
        )
        catalog.apply(change)
        return change.anew

    def switched(status):
        change = catalog.status_set(named("r"), status, 1)
        catalog.apply(change)
        return change.anew

    assert put(Trigger) == put(**links) == put(condition={"count": 2}) == ()
    assert switched("inactive") == switched("active") == ()
    assert put(context={"a": 1}) == put(context=None) == put(transient=True) == (named("r"),)
    assert put(transient=True) == switched("inactive") == ()
    assert switched("active") == put(transient=False) == (named("r"),)
