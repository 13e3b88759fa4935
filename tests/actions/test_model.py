"""Actions as data: what a PUT makes of a document, and what is shown of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.actions.puts import CODE, archive, put, refusal
from tests.kit.actions.things import named, python
from xingqiao import composer
from xingqiao.actions import Action, Code, Composed, Inline, InvalidError, Limits, TooLargeError
from xingqiao.actions.composed import MAX_SEQUENCE
from xingqiao.actions.definitions import MAX_PARAMETER_BYTES
from xingqiao.actions.definitions import define_action as updated
from xingqiao.actions.executables import KINDS

KINDS_TOLD = ", ".join(
    f"'{kind}'" for kind in sorted((*KINDS, "composition", "queue", "sequence", "states"))
)


MALFORMED = "The request content was malformed:\n"


def nested(levels):
    value = 0
    for _ in range(levels):
        value = [value]
    return value


# --- what a PUT makes --------------------------------------------------------------------------


def test_a_new_action_has_defaults():
    action = put({"exec": CODE})

    assert action.to_json() == {
        "namespace": "guest",
        "name": "hello",
        "version": "0.0.1",
        "updated": 7,
        "exec": {**CODE, "binary": False},
        "parameters": [],
        "annotations": [
            {"key": "provide-api-key", "value": False},
            {"key": "exec", "value": "python:3"},
        ],
        "limits": {"concurrency": 1, "logs": 10, "memory": 256, "timeout": 60000},
        "publish": False,
    }


def test_what_is_not_given_stays_as_it_was():
    before = put(
        {
            "exec": CODE,
            "parameters": [{"key": "a", "value": 1}],
            "annotations": [{"key": "note", "value": "n"}],
            "limits": {"timeout": 1000},
            "publish": True,
        }
    )

    after = put({"limits": {"memory": 128}, "annotations": [{"key": "more", "value": 2}]}, before)

    assert after.exec == before.exec
    assert after.parameters == {"a": 1}
    assert after.annotations == {**before.annotations, "more": 2}
    assert after.limits == Limits(timeout_ms=1000, memory_mb=128)
    assert after.publish is True
    assert after.version == "0.0.2"


def test_null_is_as_good_as_not_given():
    before = put({"exec": CODE, "publish": True, "limits": {"timeout": 500}})
    empty = dict.fromkeys(
        ("exec", "parameters", "annotations", "limits", "publish", "version", "delAnnotations")
    )

    after = put({**empty, "limits": {"timeout": None}}, before)

    assert after == put({}, before)


def test_parameters_are_replaced_and_annotations_merged():
    before = put({"exec": CODE, "parameters": [{"key": "a", "value": 1}],
                  "annotations": [{"key": "x", "value": 1}, {"key": "y", "value": 1}]})  # fmt: skip

    after = put(
        {
            "parameters": [{"key": "b", "value": 2}],
            "annotations": [{"key": "y", "value": 2}],
            "delAnnotations": ["x", "not there"],
        },
        before,
    )

    assert after.parameters == {"b": 2}
    assert after.annotations == {"provide-api-key": False, "exec": "python:3", "y": 2}


def test_an_update_changes_nothing_of_what_was_there():
    before = put({"exec": CODE, "annotations": [{"key": "x", "value": 1}]})
    shown = before.to_json()

    put({"annotations": [{"key": "x", "value": 2}], "delAnnotations": ["exec"]}, before)

    assert before.to_json() == shown


def test_the_exec_annotation_says_the_truth_whatever_is_given():
    action = put({"exec": CODE, "annotations": [{"key": "exec", "value": "nodejs:20"}]})

    assert action.annotations["exec"] == "python:3"


def test_fields_that_nobody_knows_are_left_alone():
    known = put({"exec": CODE})

    assert put({"exec": {**CODE, "more": 1}, "more": 1, "limits": {"colour": "red"}}) == known


@pytest.mark.parametrize(
    ("version", "next_version"), [("0.0.1", "0.0.2"), ("1.2.9", "1.2.10"), ("10.0.0", "10.0.1")]
)
def test_the_patch_version_goes_up(version, next_version):
    before = put({"exec": CODE, "version": version})

    assert before.version == version
    assert put({}, before).version == next_version


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize("doc", [None, 1, "text", [], True])
def test_a_body_that_is_no_object_is_refused(doc):
    assert refusal(doc) == MALFORMED + "the body must be an object"


@pytest.mark.parametrize("doc", [{}, {"exec": None}])
def test_a_new_action_needs_an_exec(doc):
    assert refusal(doc) == MALFORMED + "exec undefined"


@pytest.mark.parametrize(
    ("doc", "text"),
    [
        ("python:3", "'exec' must have a 'kind'"),
        ([], "'exec' must have a 'kind'"),
        (0, "'exec' must have a 'kind'"),
        ({}, "'exec' must have a 'kind'"),
        ({"kind": None}, "'exec' must have a 'kind'"),
        ({"kind": 3}, "'exec' must have a 'kind'"),
        ({"kind": ["python:3"]}, "'exec' must have a 'kind'"),
        (
            {"kind": "cobol:85"},
            (
                "The specified runtime 'cobol:85' is not supported by this platform. "
                f"Valid values are: {KINDS_TOLD}"
            ),
        ),
        (
            {"kind": "inline"},
            (
                "The specified runtime 'inline' is not supported by this platform. "
                f"Valid values are: {KINDS_TOLD}"
            ),
        ),
        ({"kind": "python:3"}, "'exec.code' must be a string"),
        ({"kind": "python:3", "code": ""}, "'exec.code' must be a string"),
        ({"kind": "python:3", "code": 1}, "'exec.code' must be a string"),
        ({"kind": "python:3", "code": {"a": 1}}, "'exec.code' must be a string"),
        ({**CODE, "code": "\ud800"}, "'exec.code': the string at $ is not Unicode text"),
        ({**CODE, "main": "\udfff"}, "'exec.main': the string at $ is not Unicode text"),
        ({**CODE, "main": 1}, "'exec.main' must be a string"),
        ({**CODE, "main": 0}, "'exec.main' must be a string"),
        ({**CODE, "main": ["main"]}, "'exec.main' must be a string"),
        ({"kind": "composition"}, "'exec.composition' is missing"),
        ({"kind": "composition", "composition": None}, "'exec.composition' is missing"),
        (
            {"kind": "composition", "composition": 5},
            "a composition is an object with a 'type', not 5",
        ),
        (
            {"kind": "composition", "composition": nested(201)},
            "a composition is JSON, but it nests deeper than 200 levels",
        ),
        (
            {"kind": "sequence", "components": ["a", 5]},
            "an action name must be a string, not 5",
        ),
        (
            {"kind": "sequence", "components": ["a", None]},
            "an action name must be a string, not None",
        ),
    ],
)  # fmt: skip
def test_a_malformed_exec_is_refused_by_name(doc, text):
    assert refusal({"exec": doc}) == MALFORMED + text


@pytest.mark.parametrize("components", [None, [], {}, "a", 0, {"a": 1}])
def test_a_sequence_needs_components(components):
    doc = {"exec": {"kind": "sequence", "components": components}}

    assert refusal(doc) == "No component specified for the sequence."


def test_a_sequence_has_so_many_components_and_no_more():
    doc = {"exec": {"kind": "sequence", "components": ["a"] * MAX_SEQUENCE}}
    assert put(doc).exec.document == ["/guest/a"] * MAX_SEQUENCE

    doc["exec"]["components"].append("a")

    assert refusal(doc) == "Too many actions in the sequence."


@pytest.mark.parametrize(
    ("name", "doc", "text"),
    [
        ("parameters", 1, "'parameters' must be a list of {'key': ..., 'value': ...}"),
        ("parameters", {"a": 1}, "'parameters' must be a list of {'key': ..., 'value': ...}"),
        ("parameters", [1], "'parameters' has 1, which has no 'key'"),
        (
            "parameters",
            [{"key": "a", "value": nested(201)}],
            "'parameters' is not a JSON value: it nests deeper than 200 levels",
        ),
        ("annotations", "x", "'annotations' must be a list of {'key': ..., 'value': ...}"),
        (
            "annotations",
            [{"key": "a", "value": float("nan")}],
            "'annotations' is not a JSON value: nan at $[0].value is not a JSON number",
        ),
        ("delAnnotations", 5, "'delAnnotations' must be a list of strings"),
        ("delAnnotations", "exec", "'delAnnotations' must be a list of strings"),
        ("delAnnotations", [{}], "'delAnnotations' must be a list of strings"),
        ("delAnnotations", ["a", 1], "'delAnnotations' must be a list of strings"),
        ("publish", "false", "'publish' must be true or false"),
        ("publish", 1, "'publish' must be true or false"),
        ("limits", [], "'limits' must be an object"),
        ("limits", 5, "'limits' must be an object"),
        ("limits", {"timeout": "1000"}, "limit 'timeout' must be an int"),
        ("limits", {"timeout": 1000.0}, "limit 'timeout' must be an int"),
        ("limits", {"memory": True}, "limit 'memory' must be an int"),
        ("limits", {"logs": [1]}, "limit 'logs' must be an int"),
        ("version", "1.0", "'version' must be like 0.0.1, not '1.0'"),
        ("version", "1.0.0.0", "'version' must be like 0.0.1, not '1.0.0.0'"),
        ("version", "a.b.c", "'version' must be like 0.0.1, not 'a.b.c'"),
        ("version", "0.0.-1", "'version' must be like 0.0.1, not '0.0.-1'"),
        ("version", "0.0.²", "'version' must be like 0.0.1, not '0.0.²'"),
        ("version", "0.0.1\n", r"'version' must be like 0.0.1, not '0.0.1\n'"),
        ("version", "", "'version' must be like 0.0.1, not ''"),
        ("version", 0, "'version' must be like 0.0.1, not 0"),
        ("version", [0, 0, 1], "'version' must be like 0.0.1, not [0, 0, 1]"),
    ],
)
def test_a_malformed_field_is_refused_by_name(name, doc, text):
    assert refusal({"exec": CODE, name: doc}) == MALFORMED + text


def test_a_version_is_as_long_as_can_be_counted():
    text = refusal({"exec": CODE, "version": "0.0." + "9" * 5000})

    assert text.startswith(MALFORMED + "'version' must be like 0.0.1")
    assert len(text) < 300


@pytest.mark.parametrize(
    ("name", "least", "most", "unit"),
    [
        ("timeout", 100, 300_000, " milliseconds"),
        ("memory", 128, 512, " MB"),
        ("logs", 0, 10, " MB"),
        ("concurrency", 1, 500, ""),
    ],
)
def test_limits_have_two_sides(name, least, most, unit):
    for fits in (least, most):
        assert put({"exec": CODE, "limits": {name: fits}}).limits.to_json()[name] == fits
    assert refusal({"exec": CODE, "limits": {name: most + 1}}) == (
        f"{name} {most + 1}{unit} exceeds allowed threshold of {most}{unit}"
    )
    assert refusal({"exec": CODE, "limits": {name: least - 1}}) == (
        f"{name} {least - 1}{unit} is below allowed threshold of {least}{unit}"
    )


@pytest.mark.parametrize("name", ["parameters", "annotations"])
def test_parameters_and_annotations_are_measured_in_bytes(name):
    frame = len('{"k": ""}')
    fits = (MAX_PARAMETER_BYTES - frame) // 2

    put({"exec": CODE, name: [{"key": "k", "value": "é" * fits}]})

    text = refusal({"exec": CODE, name: [{"key": "k", "value": "é" * (fits + 1)}]}, TooLargeError)
    size = frame + 2 * (fits + 1)
    assert text == f"{name.capitalize()} larger than allowed: {size} > {MAX_PARAMETER_BYTES} bytes."


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("python:3"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "code", "main", "components", "composition", "key", "value",
                             "timeout", "type", "name"]) | st.text(),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)  # fmt: skip


fields = st.sampled_from(
    ["exec", "parameters", "annotations", "delAnnotations", "limits", "version", "publish"]
)


@given(st.dictionaries(fields, anything))
def test_no_document_does_worse_than_be_refused(doc):
    before = put({"exec": CODE})
    try:
        after = put(doc, before)
    except (InvalidError, TooLargeError):
        return
    assert Action.from_json(after.to_json()) == after
    assert put({}, after).version == "0.0.3"


# --- compositions and sequences ----------------------------------------------------------------


def test_a_sequence_names_its_actions_in_full():
    action = put({"exec": {"kind": "sequence", "components": ["a", "/other/b", "/_/c"]}})

    assert action.exec.document == ["/guest/a", "/other/b", "/guest/c"]
    assert action.kind == action.invoker_kind(None) == "sequence"
    assert action.code_of(None) is None


def test_a_composition_keeps_what_was_deployed():
    document = composer.sequence("a", "b").to_json()

    action = put({"exec": {"kind": "composition", "composition": document}})

    assert isinstance(action.exec, Composed)
    assert action.exec.document == document
    assert action.kind == action.invoker_kind(None) == "composition"
    assert action.code_of(None) is None


def test_a_composition_with_inline_functions_needs_a_worker():
    document = composer.sequence(lambda params: {"n": params["n"] + 1}, "b").to_json()

    action = put({"exec": {"kind": "composition", "composition": document}})

    assert action.kind == "composition"
    assert action.invoker_kind(next(iter(action.program.functions))) == "python:3"
    (function,) = action.program.functions
    assert action.code_of(function).functions == action.program.functions


def test_the_document_of_a_composition_is_code_and_that_of_a_sequence_is_not():
    document = composer.sequence("a", "b").to_json()
    composition = put({"exec": {"kind": "composition", "composition": document}})
    sequence = put({"exec": {"kind": "sequence", "components": ["a"]}})

    assert composition.to_json(code=False)["exec"] == {"kind": "composition", "binary": False}
    assert sequence.to_json(code=False)["exec"] == {
        "kind": "sequence",
        "binary": False,
        "components": ["/guest/a"],
    }


# --- what is shown and stored ------------------------------------------------------------------


@pytest.mark.parametrize(
    "doc",
    [
        {"exec": CODE},
        {"exec": {**CODE, "main": "other"}},
        {"exec": {**CODE, "code": archive()}},
        {"exec": {"kind": "sequence", "components": ["a", "b"]}},
        {"exec": {"kind": "composition", "composition": composer.retry(2, "a").to_json()}},
        {
            "exec": CODE,
            "parameters": [{"key": "a", "value": {"b": [1, None]}}],
            "annotations": [{"key": "web-export", "value": True}],
            "limits": {"timeout": 100, "memory": 512, "logs": 0},
            "version": "3.2.1",
            "publish": True,
        },
    ],
)
def test_what_is_stored_comes_back(doc):
    action = put(doc)

    assert Action.from_json(action.to_json()) == action


def test_a_name_in_a_package_comes_back():
    action = updated(named("/guest/pkg/hello"), {"exec": CODE}, None, 7)

    assert action.to_json()["namespace"] == "guest/pkg"
    assert Action.from_json(action.to_json()).name == action.name


def test_an_action_without_its_code_has_everything_else():
    action = put({"exec": {**CODE, "main": "other"}})

    shown = action.to_json(code=False)

    assert shown["exec"] == {"kind": "python:3", "binary": False, "main": "other"}
    assert {**shown, "exec": action.to_json()["exec"]} == action.to_json()


def test_a_summary_has_no_parameters():
    action = python(parameters=[{"key": "password", "value": "s"}])

    summary = action.summary()

    assert "parameters" not in summary
    assert summary["exec"] == {"binary": False}
    assert summary["name"] == "hello"


def test_every_activation_of_an_action_says_what_it_was():
    action = python(limits={"timeout": 1000})

    assert json.loads(action.about) == ["0.0.1", "guest/hello", "python:3", [1, 10, 256, 1000]]


def test_a_function_is_registered_by_the_program_that_embeds_the_server():
    assert Action(named(), Inline(None)).is_unregistered
    assert not Action(named(), Inline(print)).is_unregistered
    assert not python().is_unregistered


@pytest.mark.parametrize(
    ("annotations", "marks"),
    [
        ({}, set()),
        ({"completion": "callback"}, {"answers_later"}),
        ({"completion": "other"}, set()),
        ({"at-most-once": True}, {"at_most_once"}),
        ({"at-most-once": False}, set()),
        ({"durability": "express"}, {"express"}),
        ({"durability": "durable"}, set()),
    ],
)
def test_annotations_mark_an_action(annotations, marks):
    action = Action(named(), Code("python:3", "x"), annotations=annotations)

    found = {m for m in ("answers_later", "at_most_once", "express") if getattr(action, m)}

    assert found == marks


# --- limits and code ---------------------------------------------------------------------------


def test_limits_come_back():
    limits = Limits(timeout_ms=100, memory_mb=128, logs_mb=0, concurrency=7)

    assert Limits.from_json(limits.to_json()) == limits
    assert Limits.from_json(None) == Limits.from_json({}) == Limits()


def test_equal_code_shares_a_hash_and_nothing_else_does():
    function = {"code": "main = 1", "main": "main"}
    codes = [
        Code("python:3", "a"),
        Code("python:3", "b"),
        Code("nodejs", "a"),
        Code("python:3", "a", "other"),
        Code("python:3", "a", "main", binary=True),
        Code("python:3", "b\0False\0a"),
        Code("python:3", "a", "main\0False\0b"),
        Code("python:3", functions={"h1": function}),
        Code("python:3", functions={"h1": function, "h2": function}),
    ]

    assert len({code.hash for code in codes}) == len(codes)
    assert Code("python:3", "a").hash == codes[0].hash


# --- state machines ------------------------------------------------------------------------------

PASS = {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}}
KNOWN = {
    "StartAt": "A",
    "States": {"A": {"Type": "Task", "Resource": "/other/package/fn", "End": True}},
}


@pytest.mark.parametrize(
    ("type", "express"), [(None, False), ("STANDARD", False), ("EXPRESS", True)]
)
def test_a_state_machine_is_read_and_shown(type, express):
    text = json.dumps(PASS)
    doc = {"exec": {"kind": "states", "definition": text, **({"type": type} if type else {})}}

    action = put(doc)

    assert action.express is express
    shown = {"kind": "states", "binary": False, "type": type or "STANDARD"}
    assert action.to_json()["exec"] == {**shown, "definition": text}
    assert action.to_json(code=False)["exec"] == shown
    assert Action.from_json(action.to_json()).program == action.program


def test_a_task_may_name_an_action_that_is_not_there_yet():
    assert put(
        {"exec": {"kind": "states", "definition": json.dumps(KNOWN)}}
    ).program.dialect.introduces


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "'exec.definition' must be the text of a state machine"),
        ({"definition": PASS}, "'exec.definition' must be the text of a state machine"),
        ({"definition": json.dumps(PASS), "type": "FAST"}, "'exec.type' must be STANDARD or EXPRESS"),
        ({"definition": "{"}, "Invalid State Machine Definition"),
        (
            {"definition": json.dumps(KNOWN).replace("/other/package/fn", "a//b")},
            "Value is not a valid resource ARN at /States/A/Resource",
        ),
    ],
)  # fmt: skip
def test_a_state_machine_that_is_none_is_refused(fields, text):
    assert text in refusal({"exec": {"kind": "states", **fields}})
