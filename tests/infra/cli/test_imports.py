"""The imports in Python code."""

from __future__ import annotations

import ast

from xingqiao.infra.cli.imports import imports_of


def found(text):
    return [
        (each.module, each.names and sorted(each.names), each.level, each.line, each.optional)
        for each in imports_of(ast.parse(text).body)
    ]


def test_imports_are_found_with_their_names_and_lines():
    text = (
        "import a.b, c as d\nfrom .e import f, g\nfrom h import *\ndef i():\n    from . import j\n"
    )

    assert found(text) == [
        ("a.b", None, 0, 1, False),
        ("c", None, 0, 1, False),
        ("e", ["f", "g"], 1, 2, False),
        ("h", None, 0, 3, False),
        ("", ["j"], 1, 5, False),
    ]


def test_an_import_that_may_fail_is_optional():
    text = (
        "try:\n    import a\nexcept (ValueError, ImportError):\n    import b\n"
        "try:\n    import c\nexcept ValueError:\n    pass\n"
        "try:\n    import d\nexcept:\n    pass\nelse:\n    import e\n"
    )

    assert [(name, optional) for name, _, _, _, optional in found(text)] == [
        ("a", True), ("b", False), ("c", False), ("d", True), ("e", False),
    ]  # fmt: skip


def test_an_import_for_type_checkers_is_none():
    text = (
        "if TYPE_CHECKING:\n    import a\nelse:\n    import b\nif typing.TYPE_CHECKING: import c\n"
    )

    assert [name for name, *_ in found(text)] == ["b"]


def test_a_call_that_imports_a_named_module_is_an_import():
    text = (
        "import_module('a.b')\nx = importlib.import_module('c')\n__import__('d')\n"
        "import_module(name)\nimport_module('.e', 'f')\nimport_module()\nother('g')\nimport_module(1)\n"
    )

    assert [name for name, *_ in found(text)] == ["a.b", "c", "d"]
