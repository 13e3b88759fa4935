"""The triggers that CloudEvents of a type can fire, as the catalog finds them."""

from __future__ import annotations

from xingqiao.actions import Catalog, Trigger
from xingqiao.composer import Name

FILTERS = {
    "one": {"exact": {"type": "a"}},
    "two": {"any": [{"exact": {"type": "a"}}, {"exact": {"type": "b"}}]},
    "any": {"prefix": {"type": "a"}},
    "none": None,
}


def heard(catalog, type, namespace="guest"):
    return [trigger.name.name for trigger in catalog.hearing.of(namespace, type)]


def put(catalog, name, filter, namespace="guest"):
    change = catalog.defined(
        Trigger, Name(namespace, None, name), {"filter": filter}, overwrite=True, now_ms=1
    )
    catalog.apply(change)


def test_triggers_are_found_by_the_types_that_their_filters_can_fit():
    catalog = Catalog()
    for name, filter in FILTERS.items():
        put(catalog, name, filter)
    put(catalog, "one", FILTERS["one"], "other")

    assert heard(catalog, "a") == ["any", "one", "two"]
    assert heard(catalog, "b") == ["any", "two"]
    assert heard(catalog, "c") == ["any"]
    assert heard(catalog, "a", "other") == ["one"]
    assert heard(catalog, "a", "nobody") == []


def test_a_trigger_is_found_as_it_was_changed_last():
    catalog = Catalog()
    put(catalog, "one", FILTERS["one"])
    put(catalog, "one", FILTERS["one"], "other")
    assert heard(catalog, "a") == ["one"]

    put(catalog, "one", {"exact": {"type": "b"}})
    assert (heard(catalog, "a"), heard(catalog, "b")) == ([], ["one"])
    catalog.apply(catalog.removed(Trigger, Name("guest", None, "one")))
    assert (heard(catalog, "b"), heard(catalog, "a", "other")) == ([], ["one"])
