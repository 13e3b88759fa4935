"""Commands that must succeed, and an action for them."""

from __future__ import annotations

HELLO = "def main(params):\n    return {'greeting': 'Hello, ' + params.get('name', 'nobody')}\n"


def ok(ended):
    assert ended.code == 0, ended.err
    return ended


def got(xingqiao, noun, name):
    return ok(xingqiao(noun, "get", name, "--json")).json
