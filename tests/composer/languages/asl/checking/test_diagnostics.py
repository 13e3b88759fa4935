"""Definitions checked: against AWS' recordings, and against machines made at random."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.asl.hooks import HOOKS
from tests.kit.asl.random_machines import machines
from xingqiao.composer.languages.asl import diagnose, diagnose_state, errors, parse, refusal

RECORDED = json.loads(Path(__file__).with_name("recorded_definitions.json").read_text("utf-8"))
MACHINE = {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}}


def found(definition, type="STANDARD"):
    return diagnose(definition, type=type, hooks=HOOKS)


def shown(definition, type="STANDARD"):
    return [(f.code, f.message, f.location) for f in found(definition, type)]


# --- recordings ----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", RECORDED["refused"], ids=lambda case: case["message"][-40:])
def test_what_aws_refuses_is_refused_in_its_words(case):
    text = case["definition"]

    assert refusal(text, found(text, case["type"])) == case["message"]


@pytest.mark.parametrize(("label", "message"), RECORDED["labels"].items(), ids=ascii)
def test_a_label_with_a_character_that_it_must_not_have_is_refused_as_recorded(label, message):
    state = {
        "Type": "Map",
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, **MACHINE,
        },
        "Label": label,
        "End": True,
    }  # fmt: skip
    text = json.dumps({"StartAt": "M", "States": {"M": state}})

    assert refusal(text, found(text)) == f"{message} in definition '{text}'."


@pytest.mark.parametrize("case", RECORDED["validated"], ids=lambda case: case["definition"][:40])
def test_what_aws_says_of_a_definition_is_said(case):
    said = [
        {name: getattr(f, name) for name in ("code", "location", "message", "severity")}
        for f in found(case["definition"], case["type"])
    ]

    assert said == case["diagnostics"]


@pytest.mark.parametrize("number", range(len(RECORDED["accepted"])))
def test_what_aws_takes_is_taken(number):
    case = RECORDED["accepted"][number]
    definition = case["definition"]
    check = diagnose if "States" in definition else diagnose_state

    assert errors(check(definition, type=case["type"], hooks=HOOKS)) == []


# --- the text ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [" ", "\n\t", "[]", "null", '"text"', "1"])
def test_a_definition_is_an_object(text):
    # Validated on AWS: without a location.
    message = "Definition must be a valid JSON object"
    assert shown(text) == [("SCHEMA_VALIDATION_FAILED", message, None)]
    assert refusal(text, found(text)).endswith(f"'SCHEMA_VALIDATION_FAILED: {message} at null'")


def test_a_text_that_is_no_json_is_placed_twice():
    place = '[Source: (String)"not a definition"; line: 1, column: 4]'
    message = (
        "Unrecognized token 'not': was expecting (JSON String, Number, Array, Object or token "
        f"'null', 'true' or 'false')\n at {place}"
    )

    assert shown("not a definition") == [("INVALID_JSON_DESCRIPTION", message, place)]
    told = refusal("not a definition", found("not a definition"))
    assert (
        told
        == f"Invalid State Machine Definition: 'INVALID_JSON_DESCRIPTION: {message} at {place}'"
    )


def test_a_definition_has_a_megabyte_at_most():
    text = json.dumps(MACHINE)

    assert found(text.ljust(1_048_576)) == []
    [(code, message, _)] = shown(text.ljust(1_048_577))
    assert (code, "1048576" in message) == ("SCHEMA_VALIDATION_FAILED", True)


@pytest.mark.parametrize("text", ['{"a":' * 300 + "1" + "}" * 300, '{"a":' * 100_000])
def test_a_definition_that_nests_too_deeply_is_refused_at_once(text):
    [(code, _, _)] = shown(text)

    assert code == "TOO_DEEPLY_NESTED"


def test_a_definition_may_be_given_as_its_value():
    deep = 1
    for _ in range(300):
        deep = {"a": deep}

    assert found(MACHINE) == []
    assert shown([MACHINE])[0][1] == "Definition must be a valid JSON object"
    assert shown(MACHINE | {"States": {"A": deep}})[0][0] == "TOO_DEEPLY_NESTED"
    assert shown(MACHINE | {"Comment": float("nan")})[0][0] == "INVALID_JSON_DESCRIPTION"
    assert diagnose_state("{", type="STANDARD", hooks=HOOKS)[0].code == "INVALID_JSON_DESCRIPTION"


def test_errors_come_before_warnings_and_only_they_refuse():
    states = {
        "A": {"Type": "Pass", "Result": "$.x", "Next": "B"},
        "B": {"Type": "Pass", "Foo": 1, "End": True},
    }
    both = found({"StartAt": "A", "States": states})
    del states["B"]["Foo"]

    assert [f.severity for f in both] == ["ERROR", "WARNING"]
    assert "PASS_RESULT_IS_STATIC" not in refusal("", both)
    assert [f.severity for f in found({"StartAt": "A", "States": states})] == ["WARNING"]


def test_findings_are_counted_up_to_a_hundred_and_one():
    states = {str(i): {"Type": "Pass", "Result": "$.a", "Foo": 1, "End": True} for i in range(300)}
    many = found({"StartAt": "0", "States": states})

    assert len(errors(many)) == 101
    assert len(many) == 202
    assert refusal("", many).count("Foo") == 100


def test_very_long_names_cost_no_more_than_their_length():
    long = "k" * 300_000
    members = {str(i): "{% a" for i in range(20_000)}
    deep = {"A": {"Type": "Pass", "Output": {long: members}, "End": True}}
    text = json.dumps({"QueryLanguage": "JSONata", "StartAt": "A", "States": deep})
    named = json.dumps({"StartAt": "A", "States": {long: {"Type": "Map", "Iterator": members}}})

    assert all(len(f.location) < 200 for f in found(text))
    assert [f.code for f in found(named)] == ["INVALID_STATE_NAME"]


# --- made at random ------------------------------------------------------------------------------


@given(machines(depth=2))
@settings(max_examples=60, deadline=None)
def test_no_valid_machine_is_refused(definition):
    text = json.dumps(definition)

    assert errors(found(text)) == []
    assert parse(text, type="STANDARD", hooks=HOOKS) == definition


JUNK = st.sampled_from([
    None, True, False, 0, -1, 1.5, 10**9, "", "$", "$.a[*]", "{% 1", "{% 1 %}", "States.ALL", [], {},
    [1], ["States.ALL", "x"], {"a.$": "x"}, {"Type": "Pass"}, "nowhere", "2026-01-01",
])  # fmt: skip
FIELDS = st.sampled_from([
    "Type", "Next", "End", "States", "StartAt", "Parameters", "Output", "Choices", "Variable", "And",
    "Not", "Retry", "Catch", "ErrorEquals", "Items", "ItemProcessor", "Branches", "Label", "Assign",
    "ItemReader", "ItemBatcher", "ResultWriter", "ProcessorConfig", "QueryLanguage", "Credentials",
    "Resource", "Timestamp", "SecondsPath", "ResultPath", "NumericEquals", "states", "_",
])  # fmt: skip


@given(machines(), st.data())
@settings(max_examples=120, deadline=None)
def test_a_spoilt_machine_is_refused_with_a_place_or_can_be_parsed(definition, data):
    spoilt = copy.deepcopy(definition)
    for _ in range(data.draw(st.integers(1, 3))):
        _spoil(data, spoilt)
    text = json.dumps(spoilt)
    wrong = errors(found(text))

    assert all(f.location for f in wrong if f.code != "MISSING_END_STATE")
    if not wrong:
        parse(text, type="STANDARD", hooks=HOOKS)


def _spoil(data, definition):
    places = [definition]
    for place in places:
        members = place.values() if isinstance(place, dict) else place
        places += [member for member in members if isinstance(member, (dict, list))]
    place = data.draw(st.sampled_from(places))
    junk = copy.deepcopy(data.draw(JUNK))
    if isinstance(place, list):
        place[:] = data.draw(st.sampled_from([[], [*place, junk], [junk]]))
    elif place and data.draw(st.booleans()):
        field = data.draw(st.sampled_from(sorted(place)))
        data.draw(
            st.sampled_from([lambda: place.pop(field), lambda: place.update({field: junk})])
        )()
    else:
        place[data.draw(FIELDS)] = junk


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner) | st.dictionaries(FIELDS | st.text(), inner),
    )
)
@settings(max_examples=80, deadline=None)  # fmt: skip
def test_no_json_at_all_breaks_the_check(value):
    assert isinstance(shown(value), list)
    assert isinstance(diagnose_state(value, type="EXPRESS", hooks=HOOKS), list)
