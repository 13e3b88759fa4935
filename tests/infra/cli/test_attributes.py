"""`xingqiao attribute ...`, against a real server."""

from __future__ import annotations


def test_attributes_are_declared_listed_and_deleted(xingqiao):
    declared = xingqiao("attribute", "declare", "at_size", "number")
    assert "at_size is declared as number" in declared.out
    listed = xingqiao("attribute", "list", "--json").json
    assert {"name": "at_size", "type": "number"} in listed
    assert "at_size" in xingqiao("attribute", "list").out
    again = xingqiao("attribute", "declare", "at_size", "text")
    assert "is declared as number" in again.err

    assert "at_size is deleted" in xingqiao("attribute", "delete", "at_size").out
    assert xingqiao("attribute", "delete", "at_size").code == 5
