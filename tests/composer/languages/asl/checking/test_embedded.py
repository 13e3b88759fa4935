"""Paths, payload templates, JSONata and variables in a definition."""

from __future__ import annotations

import pytest

from tests.kit.asl.checking import INNER, PASS, codes, said, warned

PATH = "Value must be a valid JSONPath."
REFERENCE = "Value is not a Reference Path"
FORM = "JSONata string must start with {% and end with %}"
TASK = {"Type": "Task", "Resource": "known", "End": True}


def wait(**fields):
    return {"Type": "Wait", "End": True, **fields}


def mapped(**fields):
    return {"Type": "Map", "ItemProcessor": INNER, "End": True, **fields}


# --- paths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["InputPath", "OutputPath"])
def test_input_and_output_are_any_path_or_null(field):
    for path in ["$", "$.a", "$$.Execution.Id", "$$", "$name.a", "$.a[*]", "$..a", None]:
        assert said({**PASS, field: path}) == []
    for path in ["Test", "", "$.a!", "States.UUID()"]:
        assert said({**PASS, field: path}) == [(PATH, f"/{field}")]
    assert said({**PASS, field: 1}) == [("Expected value of type [STRING]", f"/{field}")]


@pytest.mark.parametrize(
    "path",
    ["$", "$.a", "$.a.b[0]", "$['a b'].c", '$["a\\"b"]', "$.delivery-partner", "$.[0]", "$.a[-1]",
     "$.Straße", "$['a\\'b']"],
)  # fmt: skip
def test_a_reference_path_names_one_place(path):
    assert said({**PASS, "ResultPath": path}) == []
    assert said(wait(SecondsPath=path)) == []


@pytest.mark.parametrize(
    "path",
    ["$.a[*]", "$..a", "$.a[0:2]", "$.a[?(@.b)]", "$.*", "$['a','b']", "$.a[0,1]", "$.", "$[", "$$.",
     "$.a!", "$.length()"],
)  # fmt: skip
def test_a_path_of_many_places_is_no_reference_path(path):
    assert said({**PASS, "ResultPath": path}) == [(REFERENCE, "/ResultPath")]
    assert said(wait(SecondsPath=path)) == [(REFERENCE, "/SecondsPath")]


def test_where_a_reference_path_may_start():
    assert said(wait(SecondsPath="a")) == [(PATH, "/SecondsPath")]
    assert said(wait(SecondsPath=1)) == [("Expected value of type [STRING]", "/SecondsPath")]
    assert said(wait(SecondsPath="$seconds.a")) == []
    assert said(wait(TimestampPath="$$.Execution.StartTime")) == []
    assert said(mapped(ItemsPath="$$.Execution.Input")) == []
    # Of a Map's fields only ItemsPath takes the context object: floci-io/floci#3733, measured.
    assert said(mapped(MaxConcurrencyPath="$$.Execution.Input.n")) == [
        (REFERENCE, "/MaxConcurrencyPath")
    ]


@pytest.mark.parametrize("path", ["$$.Execution", "$$", "$name", "$name.a"])
def test_a_result_is_put_into_the_states_input(path):
    assert said({**PASS, "ResultPath": path}) == [(REFERENCE, "/ResultPath")]
    assert said({**PASS, "ResultPath": None}) == []


def test_why_a_state_fails_may_be_computed():
    assert said({"Type": "Fail", "ErrorPath": "$.e", "CausePath": "States.Format('{}', $.c)"}) == []
    assert said({"Type": "Fail", "CausePath": "States.Format("}) == [
        ("Value must be a valid JSONPath or a valid intrinsic function call", "/CausePath")
    ]
    assert said(wait(SecondsPath="States.MathAdd(1, 2)")) == [(PATH, "/SecondsPath")]


@pytest.mark.parametrize("text", ["2016-12-05T25:29:29Z", "2016-12-05 21:29:29Z", "{% $x %}"])
def test_a_timestamp_is_checked_when_it_is_written_out(text):
    wrong = [("String does not match RFC3339 timestamp", "/Timestamp")]

    assert said(wait(Timestamp=text)) == wrong
    assert said(wait(Timestamp=text), "JSONata") == ([] if text.startswith("{%") else wrong)
    assert said(wait(Timestamp=1)) == [("Expected value of type [STRING]", "/Timestamp")]


# --- payload templates ---------------------------------------------------------------------------


def test_a_field_with_a_dollar_holds_a_path_or_a_call():
    message = (
        "The value for the field 'x.$' must be a valid JSONPath or a valid intrinsic function call"
    )
    right = {"a.$": "$.b", "b.$": "$$", "c.$": "States.UUID()", "d.$": "$v.x", "e": {"f": ["$.no"]}}

    assert said({**PASS, "Parameters": right}) == []
    for value in ["foo", "", "$.a!", "States.Format('\\x')", 1, None, {}]:
        template = {"deep": [{"x.$": value}]}
        # AWS gives the place of the template, not of the field.
        assert said({**PASS, "Parameters": template}) == [(message, "/Parameters")]
    for field in ("Parameters", "ResultSelector"):
        assert said({**TASK, field: {"x.$": "x"}}) == [(message, f"/{field}")]
    assert said(mapped(ItemSelector={"x.$": "x"})) == [(message, "/ItemSelector")]


@pytest.mark.parametrize("value", ["$", [], 1, None])
def test_a_template_is_an_object(value):
    assert said({**PASS, "Parameters": value}) == [("Expected value of type Object", "/Parameters")]


@pytest.mark.parametrize("text", ["$", "$$", "$.a", "$[0]", "$$.a", "States.UUID()"])
def test_a_path_without_the_dollar_in_its_name_is_warned_of(text):
    assert warned({**PASS, "Parameters": {"a": text}}) == [("NO_DOLLAR", "/Parameters")]
    assert warned({**PASS, "Parameters": {"a.$": "$"}}) == []
    assert warned({**PASS, "Result": {"a": [text]}}) == [("PASS_RESULT_IS_STATIC", "/Result")]
    assert warned({**PASS, "Result": {"a.$": 1}}) == [("PASS_RESULT_IS_STATIC", "/Result")]
    assert warned({**PASS, "Result": {"a": ["$5"]}}) == []


# --- JSONata -------------------------------------------------------------------------------------


def test_jsonata_stands_anywhere_in_a_value_and_is_named_where_it_stands():
    # Measured: floci-io/floci#2745.
    output = {"a": "{% 1 %}", "b": [0, {"c": "{% !! Unexpected end of expression %}"}]}

    assert said({**PASS, "Output": output}, "JSONata") == [
        ("Unexpected end of expression", "/Output/b[1]/c")
    ]
    assert codes({**PASS, "Output": output}, "JSONata") == ["INVALID_JSONATA_EXPRESSION"]
    assert said({**PASS, "Output": [" {% !! %} ", "%}", "{", None]}, "JSONata") == []


@pytest.mark.parametrize("text", ["{% 1", "{%", "{%}", "{% 1 %} "])
def test_jsonata_begins_and_ends_with_its_marks(text):
    assert said({**PASS, "Output": text}, "JSONata") == [(FORM, "/Output")]
    assert said({"Type": "Fail", "Error": text}, "JSONata") == [(FORM, "/Error")]


def test_fields_of_a_type_hold_it_or_jsonata():
    dynamic = {"TimeoutSeconds": "{% 5 %}", "HeartbeatSeconds": "{% 1 %}"}

    assert said({**TASK, **dynamic}, "JSONata") == []
    assert said({**TASK, "TimeoutSeconds": "5"}, "JSONata") == [(FORM, "/TimeoutSeconds")]
    assert said({**TASK, "TimeoutSeconds": []}, "JSONata") == [
        ("Expected value of type Integer", "/TimeoutSeconds")
    ]
    assert said(wait(Seconds="{% !! bad %}"), "JSONata") == [("bad", "/Seconds")]
    assert said({"Type": "Fail", "Error": "plain", "Cause": "{% 'c' %}"}, "JSONata") == []
    assert said(mapped(ItemSelector="{% $states.input %}"), "JSONata") == []
    assert said(mapped(ItemSelector=["{% 1", 2]), "JSONata") == [(FORM, "/ItemSelector[0]")]
    assert said(mapped(ItemSelector="plain"), "JSONata") == []


@pytest.mark.parametrize(
    ("items", "wrong"),
    [
        ("{% [1] %}", []),
        ([1, "{% 2 %}"], []),
        ({"a": 1}, []),
        ("[1]", [(FORM, "/Items")]),
        (1, [("Expected value of type Array", "/Items")]),
        ([["{% !! no %}"]], [("no", "/Items[0][0]")]),
    ],
)
def test_items_are_a_list_or_jsonata(items, wrong):
    assert said(mapped(Items=items), "JSONata") == wrong


def test_what_states_holds_depends_on_the_place():
    error = {"a": "{% $states.errorOutput %}"}
    result = "{% $states.result %}"
    caught = [{"ErrorEquals": ["x"], "Next": "A", "Output": error, "Assign": error}]
    no_error = "Field '$states.errorOutput' does not exist."
    no_result = "Field '$states.result' does not exist."

    assert (
        said({**TASK, "Catch": caught, "Output": result, "Assign": {"r": result}}, "JSONata") == []
    )
    assert said({**TASK, "Output": error}, "JSONata") == [(no_error, "/Output/a")]
    assert said({**TASK, "Assign": error}, "JSONata") == [(no_error, "/Assign/a")]
    assert said({**TASK, "Arguments": {"a": result}}, "JSONata") == [(no_result, "/Arguments/a")]
    assert said({**PASS, "Output": result}, "JSONata") == [(no_result, "/Output")]
    caught[0]["Output"] = result
    assert said({**TASK, "Catch": caught}, "JSONata") == [(no_result, "/Catch[0]/Output")]


# --- variables -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x", "answer42", "snake_case", "Straße", "x" * 80])
def test_variables_have_names(name):
    assert said({**PASS, "Assign": {name: 1}}) == []
    assert said({**PASS, "Assign": {f"{name}.$": "$.x"}}) == []


@pytest.mark.parametrize("name", ["", "1x", "a-b", "_x", "a.b", "x y", "$x", "x.$"])
def test_a_variable_with_another_name_is_refused(name):
    message = f"Invalid variable name '{name}': the variable name contains invalid characters."

    assert said({**PASS, "Assign": {name: 1}}, "JSONata") == [(message, f"/Assign/{name}")]
    assert codes({**PASS, "Assign": {name: 1}}, "JSONata") == ["INVALID_VARIABLE_NAME"]


def test_a_variable_has_eighty_characters_at_most_and_is_not_called_states():
    assert codes({**PASS, "Assign": {"x" * 81: 1}}) == ["INVALID_VARIABLE_NAME"]
    assert said({**PASS, "Assign": {"states.$": "$"}}) == [
        ("Cannot assign to reserved variable '$states'.", "/Assign/states.$")
    ]
    assert codes({**PASS, "Assign": {"states": 1}}) == ["RESERVED_VARIABLE_NAME"]
    assert said({**PASS, "Assign": []}) == [("Expected value of type Object", "/Assign")]


def test_what_is_assigned_is_checked_in_its_language():
    message = (
        "The value for the field 'x.$' must be a valid JSONPath or a valid intrinsic function call"
    )

    assert said({**PASS, "Assign": {"x.$": "x"}}) == [(message, "/Assign")]
    assert said({**PASS, "Assign": {"x": {"y": "{% !! no %}"}}}, "JSONata") == [
        ("no", "/Assign/x/y")
    ]
