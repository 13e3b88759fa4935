"""What tests of `actions` are about: an action, an invocation, a clock that stands still."""

from __future__ import annotations

from itertools import count

from actions import Action, Call, Code, Composed, Inline, Invocation, Limits
from actions.model import updated
from composer import Name

_numbers = count(1)


class StandingClock:
    """A `Clock` that is moved by hand."""

    def __init__(self, ms=1_700_000_000_000):
        self.ms = ms

    def now_ms(self):
        return self.ms

    def elapsed_us(self):
        return self.ms * 1000.0


def named(text="hello", namespace="guest"):
    return Name.parse(text).within(namespace)


def python(code="def main(params):\n    return params\n", *, name="hello", **fields):
    """An action of Python code, as a PUT makes it."""
    return updated(named(name), {"exec": {"kind": "python:3", "code": code}, **fields}, None, 1)


def composed(*functions, limits=None, name="composition"):
    """A composition of inline functions, as a PUT makes it."""
    import composer

    document = composer.sequence(*functions).to_json()
    doc = {"exec": {"kind": "composition", "composition": document}, "limits": limits}
    return updated(named(name), doc, None, 1)


def inline(function, *, timeout_ms=60_000):
    return Action(named("inline"), Inline(function), limits=Limits(timeout_ms=timeout_ms))


def invocation(action, params=None, **fields):
    """An invocation of its own activation."""
    asked = {"activation": f"{next(_numbers):032x}", "namespace": "guest", "token": "", **fields}
    return Invocation(action=action, params=params if params is not None else {}, **asked)


__all__ = [
    "Call",
    "Code",
    "Composed",
    "StandingClock",
    "composed",
    "inline",
    "invocation",
    "named",
    "python",
]
