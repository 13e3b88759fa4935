"""Values as texts."""

from __future__ import annotations

import pytest

from xingqiao.composer.languages.asl.jsonpath.texts import MAX_TEXT, java_text, json_text
from xingqiao.composer.languages.asl.state_errors import StatesError
from xingqiao.composer.values import MADE_DEPTH


@pytest.mark.parametrize(
    ("value", "as_json", "as_java"),
    [
        ({"Arg1": 1, "Arg2": []}, '{"Arg1":1,"Arg2":[]}', "{Arg1=1, Arg2=[]}"),
        (["é", None, True, 1.0], '["é",null,true,1.0]', "[é, null, true, 1.0]"),
        ("a", '"a"', "a"),
        (None, "null", "null"),
    ],
)
def test_values_as_json_and_as_java_writes_them(value, as_json, as_java):
    assert json_text(value) == as_json
    assert java_text(value) == as_java


@pytest.mark.parametrize("text", [json_text, java_text])
def test_what_is_too_large_or_too_deep_is_no_text(text):
    deep: list[object] = []
    for _ in range(300):
        deep = [deep]

    for value in [deep, "x" * MAX_TEXT]:
        with pytest.raises(StatesError) as caught:
            text(value)
        assert caught.value.name == "States.DataLimitExceeded"


def test_what_is_just_not_too_deep_is_a_text():
    deep: object = 1
    for _ in range(MADE_DEPTH - 1):
        deep = {"a": deep}

    assert json_text(deep).count("a") == java_text(deep).count("a") == MADE_DEPTH - 1
