"""Deployments: all actions of a project in one change, compared with what is there."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.actions.catalog import Catalog, Change
from xingqiao.actions.deployment_requests import deployment_of
from xingqiao.actions.deployments import origin_of, planned
from xingqiao.actions.errors import ConflictError, ForbiddenError, InvalidError, TooLargeError
from xingqiao.actions.model import Action, Package, Rule, Trigger
from xingqiao.composer import Name

NOW = 1_000
CODE = {"kind": "python:3", "code": "def main(params): return params"}
OTHER = {"kind": "python:3", "code": "def main(params): return {}"}
FILE = "shop/pipeline.py"


def one(name, exec=CODE, origin=FILE, **fields):
    return {"name": name, "origin": origin, "definition": {"exec": exec, **fields}}


def composed(composition):
    return {"kind": "composition", "composition": composition.to_json()}


def sequence(*names):
    return {"kind": "sequence", "components": list(names)}


def notes(**values):
    return [{"key": key.replace("_", "-"), "value": value} for key, value in values.items()]


class World:
    """A catalog, and deployments to it."""

    def __init__(self):
        self.catalog = Catalog()

    def plan(self, *actions, **fields):
        body = {"actions": list(actions), **fields}
        return planned(Catalog.staged(self.catalog, "ns"), "ns", deployment_of(body, "ns"), NOW)

    def deploy(self, *actions, **fields):
        """Deploys actions. Returns what has changed, by name."""
        plan = self.plan(*actions, **fields)
        self.catalog.apply(plan.change)
        return {step["name"]: step["change"] for step in plan.to_json()["actions"]}

    def put(self, kind, name, doc):
        name = Name.parse(name).within("ns")
        change = self.catalog.defined(kind, name, doc, overwrite=True, now_ms=NOW)
        self.catalog.apply(change)

    def get(self, name):
        return self.catalog.get(Action, Name.parse(name).within("ns"))

    def refused(self, *actions, kind=InvalidError, **fields):
        with pytest.raises(kind) as refusal:
            self.plan(*actions, **fields)
        return str(refusal.value)


@pytest.fixture
def world():
    return World()


# --- what changes ----------------------------------------------------------------------------------


def test_only_what_differs_gets_a_version(world):
    first = world.deploy(one("a"), one("b", composed(composer.sequence("a"))))
    again = world.deploy(one("a"), one("b", composed(composer.sequence("a"))))
    plan = world.plan(one("a", OTHER), one("b", composed(composer.sequence("a", "a"))))

    assert first == {"a": "new", "b": "new"}
    assert again == {"a": "unchanged", "b": "unchanged"}
    assert [(step.change, step.fields) for step in plan.steps] == [
        ("changed", ("code",)),
        ("changed", ("composition",)),
    ]
    assert [step.action.version for step in plan.steps] == ["0.0.2", "0.0.2"]
    assert world.get("a").version == "0.0.1", "a plan changes nothing"


@pytest.mark.parametrize(
    ("definition", "fields"),
    [
        ({"limits": {"timeout": 5000}}, ["limits"]),
        ({"annotations": notes(web_export=True)}, ["annotations"]),
        ({"parameters": notes(rate=1)}, ["parameters"]),
        ({"publish": True}, ["parameters"]),
        ({"exec": OTHER, "limits": {"memory": 128}}, ["code", "limits"]),
        ({"exec": sequence("/_/b")}, ["kind"]),
    ],
)
def test_a_change_names_the_parts_that_differ(world, definition, fields):
    world.deploy(one("a"), one("b"))
    changed = {"name": "a", "origin": FILE, "definition": {"exec": CODE, **definition}}

    step = world.plan(changed).to_json()["actions"][0]

    assert step == {
        "name": "a", "change": "changed", "kind": definition.get("exec", CODE)["kind"],
        "version": "0.0.2", "origin": FILE, "fields": fields, "usedBy": [],
    }  # fmt: skip


def test_a_limit_or_annotation_that_the_origin_no_longer_sets_is_set_back(world):
    world.deploy(
        one("a", limits={"timeout": 5000, "memory": 128}, annotations=notes(web_export=True))
    )
    world.put(Action, "a", {"annotations": notes(owner="me"), "limits": {"logs": 1}})

    assert world.deploy(one("a", limits={"memory": 128})) == {"a": "changed"}

    action = world.get("a")
    assert (action.limits.timeout_ms, action.limits.memory_mb, action.limits.logs_mb) == (
        60_000,
        128,
        1,
    )
    assert "web-export" not in action.annotations
    assert action.annotations["owner"] == "me", "an annotation that somebody else has set stays"


def test_an_action_moves_to_another_file_of_its_project(world):
    world.deploy(one("a"))

    plan = world.plan(one("a", origin="shop/other.py"))

    assert plan.steps[0].fields == ("origin",)


def test_a_mark_that_is_none_is_ignored(world):
    world.put(Action, "a", {"exec": CODE, "annotations": notes(deployed_from="x")})
    world.put(Action, "b", {"exec": CODE, "annotations": notes(deployed_from={"origin": 1})})

    assert origin_of(world.get("a")) is origin_of(world.get("b")) is None
    assert world.deploy(one("a"), one("b")) == {"a": "changed", "b": "changed"}


def test_sequences_may_name_actions_and_sequences_of_the_same_deployment(world):
    changes = world.deploy(
        one("outer", sequence("/_/inner", "/_/a")), one("inner", sequence("/_/a")), one("a")
    )

    assert changes == {"outer": "new", "inner": "new", "a": "new"}


def test_an_action_in_a_package_is_deployed_into_the_package(world):
    world.put(Package, "tools", {})

    assert world.deploy(one("tools/a")) == {"tools/a": "new"}


# --- orphans -----------------------------------------------------------------------------------------


def test_an_action_that_its_file_no_longer_has_is_an_orphan_and_removed_when_pruned(world):
    world.deploy(one("a"), one("b"), one("c", origin="shop/other.py"))
    world.put(Action, "by_hand", {"exec": CODE})

    assert world.deploy(one("a"), origins=[FILE]) == {"a": "unchanged", "b": "orphaned"}
    assert world.get("b")
    assert world.deploy(one("a"), origins=["shop/"]) == {
        "a": "unchanged", "b": "orphaned", "c": "orphaned",
    }  # fmt: skip
    assert world.deploy(one("a"), origins=[FILE], prune=True) == {"a": "unchanged", "b": "removed"}
    assert {action.name.name for action in world.catalog.all(Action, "ns")} == {"a", "c", "by_hand"}


def test_a_removed_action_says_what_still_uses_it(world):
    world.deploy(one("a"), one("b", composed(composer.sequence("a")), origin="shop/other.py"))
    world.put(Action, "both", {"exec": sequence("/_/a", "/_/a")})
    world.put(Trigger, "t", {})
    world.put(Rule, "r", {"trigger": "/_/t", "action": "/_/a"})
    world.put(Rule, "s", {"trigger": "/_/t", "action": "/_/b"})

    (step,) = world.plan(origins=[FILE], prune=True).steps

    assert sorted(step.used_by) == ["action b", "action both", "rule r"]


# --- names that are taken ------------------------------------------------------------------------------


def test_a_name_of_another_project_is_replaced_only_on_demand(world):
    world.deploy(one("a", origin="bank/accounts.py"))

    text = world.refused(one("a"), kind=ConflictError)

    assert text.startswith(
        "nothing is deployed: the name 'a' belongs to an action that was deployed from 'bank/"
    )
    assert world.deploy(one("a"), replace=True) == {"a": "changed"}


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("shop/a.py", "shop/b.py", True),
        ("shop/a.py", "bank/a.py", False),
        ("./shop/a.py", "./shop/b.py", True),
        ("./shop/a.py", "./app/a.py", True),
        ("./shop/a.py", "shop/a.py", True),
        ("shop/a.py", "./shop/a.py", True),
        ("./shop/a.py", "./app/b.py", False),
    ],
)
def test_a_project_is_known_by_its_name_or_else_by_its_files(world, before, after, same):
    world.deploy(one("a", origin=before))

    if same:
        assert world.deploy(one("a", origin=after)) == {"a": "changed"}
    else:
        world.refused(one("a", origin=after), kind=ConflictError)


@pytest.mark.parametrize(
    ("kind", "doc", "what"),
    [
        (Package, {}, "a package"),
        (Trigger, {}, "a trigger"),
        (Rule, {"trigger": "/_/t", "action": "/_/x"}, "a rule"),
    ],
)
def test_a_name_of_another_kind_is_replaced_only_on_demand(world, kind, doc, what):
    world.put(Trigger, "t", {})
    world.put(Action, "x", {"exec": CODE})
    world.put(kind, "taken", doc)

    assert f"'taken' belongs to {what}:" in world.refused(one("taken"), kind=ConflictError)
    assert world.deploy(one("taken"), replace=True) == {"taken": "new"}
    assert world.get("taken").kind == "python:3"


def test_a_trigger_that_is_replaced_leaves_its_rules_inactive(world):
    world.put(Trigger, "t", {})
    world.put(Action, "x", {"exec": CODE})
    world.put(Rule, "r", {"trigger": "/_/t", "action": "/_/x"})

    world.deploy(one("t"), replace=True)

    assert world.catalog.all(Rule, "ns")[0].status == "inactive"
    world.put(Trigger, "u", {})
    world.put(Rule, "q", {"trigger": "/_/u", "action": "/_/x"})
    assert world.deploy(one("u"), one("q"), replace=True) == {"u": "new", "q": "new"}


def test_a_package_that_is_not_empty_is_never_replaced(world):
    world.put(Package, "full", {})
    world.put(Action, "full/a", {"exec": CODE})

    text = world.refused(one("full"), kind=ConflictError, replace=True)

    assert text.startswith("full: Package not empty")


def test_an_action_made_in_another_way_is_adopted_if_it_is_of_the_same_kind(world):
    world.put(Action, "a", {"exec": CODE})
    world.put(Action, "s", {"exec": sequence("/_/a")})

    assert world.deploy(one("a")) == {"a": "changed"}
    text = world.refused(one("s"), one("a"), kind=ConflictError)
    assert "'s' belongs to an action of the kind 'sequence', which was not deployed from a" in text
    assert world.deploy(one("s"), replace=True) == {"s": "changed"}


# --- refusals --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (one("a", {"kind": "perl:5"}), "a: The request content was malformed"),
        (one("a", None), "a: The request content was malformed:\nexec undefined"),
        (one("a", limits=[1]), "a: The request content was malformed:\n'limits' must be an object"),
        (one("a", limits={"timeout": 1}), "a: timeout 1 milliseconds"),
        (
            one("a", annotations={"x": 1}),
            "a: The request content was malformed:\n'annotations' must",
        ),
        (one("p/a"), "p/a: the package 'p' does not exist: create it first"),
        (one("a", sequence("/_/b")), "a: Sequence component does not exist: /ns/b."),
        (one("a", sequence("/_/a")), "a: Sequence may not refer to itself."),
        (
            one("a", {"kind": "sequence", "components": ["$"]}),
            "a: The request content was malformed",
        ),
        (one("a", {"kind": "sequence"}), "a: No component specified for the sequence."),
    ],
)
def test_one_wrong_definition_names_itself_and_nothing_is_deployed(world, action, text):
    assert world.refused(one("fine"), action).startswith(text)


def test_a_definition_that_is_too_large_is_refused_as_such(world):
    large = one("a", parameters=notes(x="x" * (1 << 20)))

    assert world.refused(large, kind=TooLargeError).startswith("a: Parameters larger than allowed")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ([], "the body must be an object"),
        (
            {"action": []},
            "the field 'action' does not exist: actions, schedules, origins, prune, replace do",
        ),
        ({"actions": {}}, "'actions' must be a list"),
        ({"origins": "x"}, "'origins' must be a list of strings"),
        ({"origins": [1]}, "'origins' must be a list of strings"),
        ({"prune": 1}, "'prune' must be true or false"),
        ({"replace": None}, "'replace' must be true or false"),
        ({"actions": [1]}, "'actions[0]' must be an object"),
        ({"actions": [one("a"), one("$")]}, "'actions[1]': 'name': "),
        ({"actions": [one(1)]}, "'actions[0]': 'name' must be a string"),
        ({"actions": [one("a", origin="")]}, "'actions[0]': 'origin' must be a string"),
        ({"actions": [one("a", origin=1)]}, "'actions[0]': 'origin' must be a string"),
        ({"actions": [{"name": "a", "origin": "x"}]}, "'actions[0]': 'definition' must be an"),
        ({"actions": [one("a"), one("/_/a")]}, "'actions' has '/ns/a' twice"),
    ],
)
def test_a_malformed_deployment_names_the_field(body, text):
    with pytest.raises(InvalidError) as refusal:
        deployment_of(body, "ns")

    assert text in str(refusal.value)


def test_a_deployment_stays_in_its_namespace():
    with pytest.raises(ForbiddenError):
        deployment_of({"actions": [one("/other/a")]}, "ns")


# --- warnings ----------------------------------------------------------------------------------------------


def test_a_part_that_exists_nowhere_is_warned_about(world):
    parts = composer.sequence("a", "b", "/whisk.system/utils/echo")

    plan = world.plan(one("a"), one("c", composed(parts)), one("d", composed(parts)))

    assert plan.warnings[0] == (
        "c: the action '/ns/b' does not exist: deploy it, or the step that invokes it fails"
    )
    assert [text.split(":")[0] for text in plan.warnings] == ["c", "c", "d", "d"]
    world.deploy(one("b"), one("e", composed(parts), origin="shop/old.py"))
    assert world.plan(origins=["shop/old.py"], prune=True).warnings == []


def test_a_plan_is_not_seen_by_the_catalog(world):
    other = Catalog()
    staged = Catalog.staged(other, "ns")
    staged.apply(Change(None, (world.plan(one("a")).steps[0].action,)))

    assert other.all(Action, "ns") == []
    assert len(staged.all(Action, "ns")) == 1
