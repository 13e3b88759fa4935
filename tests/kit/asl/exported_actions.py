"""Actions that exported machines ask for."""

from __future__ import annotations

from xingqiao.composer.testing import Fail, Never, Slow

ACTIONS = {
    "a": lambda params: {"n": params.get("n", 0) + 1, "by": "a"},
    "b": {"done": True},
    "no": {"value": False},
    "text": "text",
    "nothing": None,
    "busy": {"error": {"code": "Busy", "message": "try later"}},
    "odd": {"error": {"type": "Odd", "why": [1]}},
    "says": {"error": "a text"},
    "counts": {"error": 5},
    "crashes": Fail("ApplicationError", {"code": "Broken", "message": "down"}),
    "slow": Slow(7.5, {"late": True}),
    "never": Never(),
}
