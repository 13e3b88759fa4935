"""The schedules of a deployment, compared with those that are there."""

from __future__ import annotations

import pytest

from xingqiao.actions import (
    Action,
    Catalog,
    ConflictError,
    InvalidError,
    deployment_of,
    planned,
    planned_schedules,
    schedule_of,
    with_schedules,
)
from xingqiao.composer import Name

DAILY = {"spec": {"cron": "@daily"}, "do": {"action": "report"}}
HOURLY = {**DAILY, "spec": {"cron": "@hourly"}}
CODE = {"exec": {"kind": "python:3", "code": "def main(p): return p"}}


def one(name="nightly", document=DAILY, origin="shop/a.py"):
    return {"name": name, "origin": origin, "document": document}


def known(*items):
    keys = {f"/ns/{item['name']}": item for item in items}
    return {
        key: schedule_of(key, {**item["document"], "deployed_from": item["origin"]})
        for key, item in keys.items()
    }


def steps(before, *items, **fields):
    body = {"schedules": [*items], "origins": ["shop/"], **fields}
    return planned_schedules(before, "ns", deployment_of(body, "ns"))


def shown(before, *items, **fields):
    return [(each.name, each.change, each.fields) for each in steps(before, *items, **fields)]


def test_a_schedule_is_new_changed_or_unchanged():
    before = known(one(), one("other"))

    assert shown(before, one(), one("other", {**HOURLY, "note": "x"}), one("third")) == [
        ("nightly", "unchanged", ()),
        ("other", "changed", ("spec", "note")),
        ("third", "new", ()),
    ]


@pytest.mark.parametrize(
    ("prune", "written", "removed"),
    [(True, ["other", "third", "gone"], ["gone"]), (False, ["other", "third"], [])],
)
def test_only_what_is_new_changed_or_removed_is_written(prune, written, removed):
    before = known(one(), one("other"), one("gone"))

    made = steps(before, one(), one("other", HOURLY), one("third"), prune=prune)

    assert [each.name for each in made if each.is_written] == written
    assert [each.name for each in made if each.is_removed] == removed


def test_a_field_that_a_file_no_longer_sets_is_a_change():
    before = known(one(document={**DAILY, "overlap": "allow_all"}))

    assert shown(before, one()) == [("nightly", "changed", ("overlap",))]


def test_what_is_not_in_the_files_any_more_is_an_orphan_or_removed():
    before = known(one(), one("theirs", origin="other/a.py"), one("mine", origin=""))

    assert shown(before) == [("nightly", "orphaned", ())]
    assert shown(before, prune=True) == [("nightly", "removed", ())]


@pytest.mark.parametrize(
    ("origin", "owner"),
    [("", "a schedule that was not deployed from a project"), ("other/b.py", "from 'other/b.py'")],
)
def test_a_name_of_somebody_else_is_not_taken(origin, owner):
    before = known(one(origin=origin))
    with pytest.raises(ConflictError, match=f"the name 'nightly' belongs to .*{owner}"):
        steps(before, one())

    assert shown(before, one(), replace=True) == [("nightly", "changed", ("deployed_from",))]


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (one(document={**DAILY, "overlap": "maybe"}), "schedule nightly: the field 'overlap' must"),
        (one(document={"do": DAILY["do"]}), "schedule nightly: the field 'spec' must be an object"),
        (one(name="a/b/c"), "schedule a/b/c: the schedule's name"),
    ],
)
def test_a_malformed_schedule_names_itself_and_the_field(item, text):
    with pytest.raises(InvalidError, match=text):
        steps({}, item)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"schedules": {}}, "'schedules' must be a list"),
        ({"schedules": [7]}, r"'schedules\[0\]' must be an object"),
        ({"schedules": [{"name": 7}]}, "'name' must be a string"),
        ({"schedules": [{"name": "s"}]}, "'origin' must be a string"),
        ({"schedules": [{"name": "s", "origin": "a"}]}, "'document' must be an object"),
        ({"schedules": [one(), one()]}, "'schedules' has 'nightly' twice"),
    ],
)
def test_a_malformed_body_names_the_field(body, text):
    with pytest.raises(InvalidError, match=text):
        deployment_of(body, "ns")


def whole(catalog, before, *items, actions=(), **fields):
    body = {"schedules": [*items], "actions": [*actions], "origins": ["shop/"], **fields}
    staged, deployment = Catalog.staged(catalog, "ns"), deployment_of(body, "ns")
    plan = planned(staged, "ns", deployment, 0)
    return with_schedules(plan, planned_schedules(before, "ns", deployment), before, staged)


def report(origin="shop/a.py"):
    return {"name": "report", "origin": origin, "definition": CODE}


def test_a_schedule_may_start_an_action_of_the_same_deployment():
    plan = whole(Catalog(), {}, one(), actions=[report()])

    assert plan.warnings == []
    assert plan.to_json()["schedules"] == [
        {"name": "nightly", "change": "new", "kind": "schedule", "origin": "shop/a.py",
         "fields": [], "usedBy": []}
    ]  # fmt: skip


def test_a_schedule_of_an_action_that_does_not_exist_is_warned_of():
    (text,) = whole(Catalog(), {}, one()).warnings

    assert text.startswith("schedule nightly: the action '/ns/report' does not exist")


def test_an_action_that_goes_names_the_schedules_that_still_start_it():
    catalog = Catalog()
    made = planned(
        Catalog.staged(catalog, "ns"), "ns", deployment_of({"actions": [report()]}, "ns"), 0
    )
    catalog.apply(made.change)
    assert catalog.find(Action, Name.parse("/ns/report"))
    before = known(one(), one("mine", origin=""))

    gone = whole(catalog, before, prune=True)
    left = whole(catalog, before, one())

    assert gone.steps[0].used_by == ("schedule mine",)
    assert left.steps[0].used_by == ("schedule mine", "schedule nightly")
    assert [step.change for step in gone.schedules] == ["removed"]
    assert whole(catalog, before, one(), actions=[report()]).steps[0].used_by == ()
