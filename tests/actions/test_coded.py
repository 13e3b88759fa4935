"""The code of actions: its kinds, its size, and what is shown of it."""

from __future__ import annotations

import base64

import pytest

from tests.kit.actions.puts import CODE, archive, put, refusal
from tests.kit.actions.things import named
from xingqiao.actions import Action, Inline, TooLargeError
from xingqiao.actions.coded import MAX_CODE_BYTES


@pytest.mark.parametrize("kind", ["python", "python:default", "python:3"])
def test_python_has_aliases(kind):
    assert put({"exec": {"kind": kind, "code": "x"}}).kind == "python:3"


def test_an_inline_action_can_be_updated_but_for_its_function():
    def function(params):
        return params

    before = Action(named(), Inline(function))

    after = put({"parameters": [{"key": "a", "value": 1}]}, before)

    assert after.exec is before.exec
    assert after.annotations["exec"] == "inline"


def test_a_kind_is_not_repeated_at_length():
    assert len(refusal({"exec": {"kind": "x" * 100_000}})) < 500


def test_code_is_measured_in_bytes():
    fits = "é" * (MAX_CODE_BYTES // 2)
    assert put({"exec": {**CODE, "code": fits}}).exec.text is fits

    text = refusal({"exec": {**CODE, "code": fits + "x"}}, TooLargeError)

    assert text == f"Code larger than allowed: {MAX_CODE_BYTES + 1} > {MAX_CODE_BYTES} bytes."


@pytest.mark.parametrize(
    ("text", "binary"),
    [
        (archive(), True),
        ("def main(params): return params", False),
        ("UEsDAAAA", False),  # base64, of something else
        ("UEsD", False),
        ("UEsDB", False),  # no base64
        ("UEsDBB == 1", False),
        ("UEsDé", False),
        (base64.b64encode(b"PK\x03\x04" + bytes(1 << 20)).decode(), True),  # in several pieces
        ("UEsDBA==" + "A" * (1 << 20), False),
        ("UEsDBAAA" + "A" * (1 << 20) + "A", False),
        ("UEsDBAAA" + "A" * (1 << 20) + "#AAA", False),
    ],
)
def test_code_that_is_an_archive_is_known_by_its_first_bytes(text, binary):
    action = put({"exec": {**CODE, "code": text}})

    assert action.exec.binary is binary
    assert action.summary()["exec"] == {"binary": binary}


def test_a_function_of_the_program_is_shown_as_nothing_but_its_kind():
    action = Action(named(), Inline(print))

    assert action.kind == action.invoker_kind(None) == "inline"
    assert action.code_of(None) is None
    assert action.to_json()["exec"] == {"kind": "inline", "binary": False}
    assert action.summary()["exec"] == {"binary": False}
