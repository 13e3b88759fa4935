"""Intrinsic functions, evaluated on an input."""

from __future__ import annotations

import pytest

from xingqiao.composer.languages.asl.jsonpath.functions import Chance
from xingqiao.composer.languages.asl.jsonpath.intrinsics import Intrinsic
from xingqiao.composer.languages.asl.jsonpath.paths import Scope
from xingqiao.composer.languages.asl.state_errors import StatesError

UUID = "5e8c9f0e-1c0b-4b8e-9f5d-000000000001"
INPUT = {
    "name": "Ann",
    "list": [1, 2, 3],
    "object": {"a": 1, "b": [True, None]},
    "other": 1,
    "nil": None,
    "tpl": "n={}",
    "half": 1.5,
    "long": "x" * 10_001,
    "big": ["x" * 10_000] * 60,
    "a)b,c": [4],
}


def evaluate(text, document=INPUT, number=0.5, **scope):
    chance = Chance(number=lambda: number, uuid=lambda: UUID)
    return Intrinsic.compile(text).evaluate(Scope(document, **scope), chance)


def fails(text, document=INPUT):
    with pytest.raises(StatesError) as caught:
        evaluate(text, document)
    return caught.value
