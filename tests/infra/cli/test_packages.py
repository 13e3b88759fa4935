"""`xingqiao package ...`, against a real server."""

from __future__ import annotations

import json

from tests.kit.infra.commands import ok


def test_a_package_hides_and_shows_again(xingqiao):
    def hides():
        found = json.loads(ok(xingqiao("package", "get", "tools", "--json")).out)
        return {note["key"]: note["value"] for note in found["annotations"]}

    ok(xingqiao("package", "create", "tools", "--shared", "yes", "--hide", "-a", "by", "me"))
    assert hides() == {"hide": True, "by": "me"}
    ok(xingqiao("package", "update", "tools", "--shared", "no"))
    assert hides()["hide"] is True
    ok(xingqiao("package", "update", "tools", "--show"))
    assert hides() == {"hide": False, "by": "me"}
    ok(xingqiao("package", "update", "others", "--hide"))


def test_packages_and_bindings(xingqiao, hello):
    ok(xingqiao("package", "create", "wp", "--param", "name", "Package", "-a", "about", "x"))
    ok(xingqiao("action", "create", "wp/hello", hello))
    ok(xingqiao("package", "update", "wp", "--shared", "yes"))
    ok(xingqiao("package", "bind", "/guest/wp", "wb", "--param", "name", "Binding"))

    listed = ok(xingqiao("package", "list")).out
    assert "/guest/wp" in listed
    assert "shared" in listed
    assert "/guest/wp " in ok(xingqiao("package", "list", "/guest")).out
    assert "hello" in ok(xingqiao("package", "get", "wp", "--summary")).out
    assert "wp/hello" in ok(xingqiao("action", "list", "wp")).out
    called = ok(xingqiao("action", "invoke", "wb/hello", "-r"))
    assert json.loads(called.out) == {"greeting": "Hello, Binding"}
    assert "utils" in ok(xingqiao("package", "list", "/whisk.system")).out
    assert "echo" in ok(xingqiao("package", "get", "/whisk.system/utils", "--summary")).out
    full = xingqiao("package", "delete", "wp")
    assert full.code == 1
    assert "Package not empty (contains 1 entity)" in full.err
    ok(xingqiao("package", "delete", "wb"))
    ok(xingqiao("package", "delete", "wp", "--force"))
