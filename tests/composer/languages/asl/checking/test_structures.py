"""The parts of states: processors, handlers, labels, and what a distributed Map reads and writes."""

from __future__ import annotations

import pytest

from tests.kit.asl.checking import DISTRIBUTED, INNER, PASS, codes, machine, said

TASK = {"Type": "Task", "Resource": "known", "End": True}
READER = {"Resource": "arn:aws:states:::s3:getObject", "Parameters": {"Bucket": "b"}}
WRITER = {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "b"}}


def distributed(**fields):
    return {"Type": "Map", "ItemProcessor": DISTRIBUTED, "End": True, **fields}


def unsupported(field):
    return f"Field '{field}' is not supported"


def required(*fields):
    return f"These fields are required: [{', '.join(fields)}]"


# --- names ---------------------------------------------------------------------------------------


def test_a_name_has_eighty_characters_at_most():
    from tests.kit.asl.hooks import HOOKS
    from xingqiao.composer.languages.asl import diagnose

    def found(name):
        definition = {"StartAt": name, "States": {name: PASS}}
        return diagnose(definition, type="STANDARD", hooks=HOOKS)

    assert found("é" * 80) == []
    [finding] = found("x" * 81)
    assert (finding.code, finding.location) == ("INVALID_STATE_NAME", f"/States/{'x' * 81}")
    assert "exceeds the 80-character limit allowed by the service" in finding.message


@pytest.mark.parametrize("label", ["label", "a-b_c.d", "étiquette", "x" * 40, "a@b!'()+="])
def test_a_label_is_a_word(label):
    assert said(distributed(Label=label)) == []


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("", "Label cannot be empty"),
        ("x" * 41, f"Label '{'x' * 41}' exceeds the 40-character limit allowed by the service"),
        ("a b", "Label contains invalid character: ' '"),
        ("\u2003", "Label contains invalid character: '\\u2003'"),
        ("a:b/c", "Label contains invalid character: ':'"),
    ],
)
def test_another_label_is_refused(label, message):
    assert said(distributed(Label=label)) == [(message, "/Label")]
    assert codes(distributed(Label=label)) == ["INVALID_LABEL_NAME"]


def test_a_label_is_a_text():
    assert said(distributed(Label=1)) == [("Expected value of type [STRING]", "/Label")]


# --- processors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ({}, []),
        ({"Mode": "INLINE"}, []),
        ({"Mode": "DISTRIBUTED", "ExecutionType": "EXPRESS"}, []),
        ({"Mode": "DISTRIBUTED"}, [(required("ExecutionType"), "")]),
        ({"Mode": "INLINE", "ExecutionType": "EXPRESS"}, [(unsupported("ExecutionType"), "")]),
        ({"Mode": "DISTRIBUTED", "ExecutionType": "FAST"},
         [("Value should be one of the following: [STANDARD, EXPRESS]", "/ExecutionType")]),
        ({"Mode": "inline"},
         [("Value should be one of the following: [INLINE, DISTRIBUTED]", "/Mode")]),
        ([], [("Expected value of type Object", "")]),
    ],
)  # fmt: skip
def test_how_a_processor_runs(config, found):
    state = {"Type": "Map", "ItemProcessor": {**INNER, "ProcessorConfig": config}, "End": True}
    at = "/ItemProcessor/ProcessorConfig"

    assert said(state) == [(message, f"{at}{place}") for message, place in found]


@pytest.mark.parametrize("processor", [{}, {"StartAt": "I"}])
def test_a_processor_is_a_machine(processor):
    missing = required("States") if processor else required("States", "StartAt")

    assert said({"Type": "Map", "ItemProcessor": processor, "End": True}) == [
        (missing, "/ItemProcessor")
    ]
    assert said({"Type": "Parallel", "Branches": [processor], "End": True}) == [
        (missing, "/Branches[0]")
    ]
    assert said({"Type": "Map", "Iterator": 1, "End": True}) == [
        ("Expected value of type Object", "/Iterator")
    ]


def test_an_express_machine_has_no_distributed_map_and_express_children_are_express():
    message = "Express state machine does not support DISTRIBUTED mode"
    assert said(distributed(), type="EXPRESS") == [(message, "")]

    waiting = {**TASK, "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken"}
    for children, count in (("STANDARD", 0), ("EXPRESS", 1)):
        config = {"Mode": "DISTRIBUTED", "ExecutionType": children}
        processor = {**machine(waiting), "ProcessorConfig": config}
        processor = {**processor, "StartAt": "I", "States": {"I": waiting}}
        assert len(said(distributed(ItemProcessor=processor))) == count


@pytest.mark.parametrize(
    ("field", "value"),
    [("ItemReader", READER), ("ItemBatcher", {"MaxItemsPerBatch": 1}), ("ResultWriter", WRITER)],
)
def test_only_a_distributed_map_reads_batches_and_writes(field, value):
    assert said(distributed(**{field: value})) == []
    assert said({**distributed(**{field: value}), "ItemProcessor": INNER}) == [
        (unsupported(field), "")
    ]
    assert said(distributed(**{field: 1})) == [("Expected value of type Object", f"/{field}")]


# --- retry and catch -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("retrier", "found"),
    [
        ({"ErrorEquals": ["States.ALL"]}, []),
        ({"ErrorEquals": ["a", "b"], "IntervalSeconds": 0, "MaxAttempts": 0, "BackoffRate": 1,
          "MaxDelaySeconds": 1, "JitterStrategy": "FULL", "Comment": "c"}, []),
        ({}, [(required("ErrorEquals"), "")]),
        ({"ErrorEquals": []}, [("Value cannot be empty", "/ErrorEquals")]),
        ({"ErrorEquals": "e"}, [("Expected value of type Array", "/ErrorEquals")]),
        ({"ErrorEquals": ["e", 1]}, [("Expected value of type [STRING]", "/ErrorEquals[1]")]),
        ({"ErrorEquals": ["States.ALL", "e"]},
         [("States.ALL must appear alone and at end of list", "/ErrorEquals")]),
        ({"ErrorEquals": ["e"], "IntervalSeconds": -1}, [("Minimum value is 0", "/IntervalSeconds")]),
        ({"ErrorEquals": ["e"], "MaxAttempts": -1}, [("Minimum value is 0", "/MaxAttempts")]),
        ({"ErrorEquals": ["e"], "MaxAttempts": 10**8}, [("Maximum value is 99999999", "/MaxAttempts")]),
        ({"ErrorEquals": ["e"], "BackoffRate": 0.9}, [("Minimum value is 1.0", "/BackoffRate")]),
        ({"ErrorEquals": ["e"], "MaxDelaySeconds": 0}, [("Minimum value is 1", "/MaxDelaySeconds")]),
        ({"ErrorEquals": ["e"], "MaxDelaySeconds": 31_622_401},
         [("Maximum value is 31622400", "/MaxDelaySeconds")]),
        ({"ErrorEquals": ["e"], "JitterStrategy": "SOME"},
         [("Value should be one of the following: [NONE, FULL]", "/JitterStrategy")]),
        ({"ErrorEquals": ["e"], "Next": "A"}, [(unsupported("Next"), "")]),
        (1, [("Expected value of type Object", "")]),
    ],
)  # fmt: skip
def test_a_retrier(retrier, found):
    assert said({**TASK, "Retry": [retrier]}) == [(m, f"/Retry[0]{at}") for m, at in found]


@pytest.mark.parametrize(
    ("catcher", "language", "found"),
    [
        ({"ErrorEquals": ["e"], "Next": "A", "ResultPath": "$.e", "Comment": "c"}, None, []),
        ({"ErrorEquals": ["e"], "Next": "A", "ResultPath": None, "Assign": {"x.$": "$"}}, None, []),
        ({"ErrorEquals": ["e"], "Next": "A", "Output": 1, "Assign": {"x": "{% 1 %}"}}, "JSONata", []),
        ({"ErrorEquals": ["e"]}, None, [(required("Next"), "")]),
        ({}, None, [(required("Next", "ErrorEquals"), "")]),
        ({"ErrorEquals": ["e"], "Next": "A", "_comment": 1}, None, [(unsupported("_comment"), "")]),
        ({"ErrorEquals": ["e"], "Next": "A", "Output": 1}, None,
         [(("The QueryLanguage is set to 'JSONPath', but field 'Output' is only supported for the "
           "'JSONata' QueryLanguage"), "")]),
        ({"ErrorEquals": ["e"], "Next": "A", "ResultPath": "x"}, None,
         [("Value must be a valid JSONPath.", "/ResultPath")]),
    ],
)  # fmt: skip
def test_a_catcher(catcher, language, found):
    assert said({**TASK, "Catch": [catcher]}, language) == [
        (m, f"/Catch[0]{at}") for m, at in found
    ]


def test_what_matches_all_errors_comes_last():
    message = "States.ALL must appear alone and at end of list"
    every, some = {"ErrorEquals": ["States.ALL"]}, {"ErrorEquals": ["e"]}

    assert said({**TASK, "Retry": [some, every]}) == []
    assert said({**TASK, "Retry": [every, some]}) == [(message, "/Retry[0]/ErrorEquals")]
    assert said({**TASK, "Retry": []}) == []


def test_a_heartbeat_is_shorter_than_the_timeout():
    message = "HeartbeatSeconds must be less than TimeoutSeconds"

    assert said({**TASK, "TimeoutSeconds": 5, "HeartbeatSeconds": 4}) == []
    assert said({**TASK, "TimeoutSeconds": 5, "HeartbeatSeconds": 5}) == [
        (message, "/HeartbeatSeconds")
    ]


# --- credentials ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("credentials", "language", "found"),
    [
        ({"RoleArn": "arn"}, None, []),
        ({"RoleArn.$": "$.arn"}, None, []),
        ({"RoleArn": "{% $arn %}"}, "JSONata", []),
        ("{% {'RoleArn': 'arn'} %}", "JSONata", []),
        ({"InvalidField": 1}, None, ["The field 'RoleArn' is required but was missing"]),
        ({"RoleArn.$": "$.arn"}, "JSONata", ["The field 'RoleArn' is required but was missing"]),
        ({"RoleArn.$": "arn"}, None, [("The value for the field 'RoleArn.$' must be a valid JSONPath or "
                                      "a valid intrinsic function call")]),
        ("{% 1 %}", None, ["Expected value of type Object"]),
        (1, "JSONata", ["Expected value of type Object"]),
        ("arn", "JSONata", ["Expected value of type Object"]),
        ({"RoleArn": "{% !! left alone %}"}, "JSONata", []),
    ],
)  # fmt: skip
def test_credentials_name_a_role(credentials, language, found):
    state = {**TASK, "Credentials": credentials}
    assert said(state, language) == [(message, "/Credentials") for message in found]


# --- readers, batchers, writers ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reader", "found"),
    [
        ({}, [(required("Resource"), "")]),
        ({"Resource": 1}, [("Expected value of type [STRING]", "/Resource")]),
        ({"Resource": "arn:aws:states:::s3:putObject"},
         [(("The field 'Resource' does not match any of the allowed values. Examples: "
           "[arn:<partition>:states:::s3:getObject, arn:<partition>:states:::s3:listObjectsV2]"),
           "/Resource")]),
        ({"Resource": "arn:aws:states:::s3:listObjectsV2", "Parameters": {"Bucket.$": "$.b"}}, []),
        ({**READER, "ReaderConfig": {"InputType": "JSON", "ItemsPointer": "/a"}}, []),
        ({**READER, "ReaderConfig": 1}, [("Expected value of type Object", "/ReaderConfig")]),
        ({**READER, "ReaderConfig": {"InputType": "XML"}},
         [("Value should be one of the following: [CSV, JSON, JSONL, MANIFEST, PARQUET]",
           "/ReaderConfig/InputType")]),
        ({**READER, "ReaderConfig": {"InputType": "CSV", "CSVHeaderLocation": "FIRST_ROW"}}, []),
        ({**READER, "ReaderConfig": {"InputType": "CSV"}},
         [("The field 'CSVHeaderLocation' is required but was missing", "/ReaderConfig")]),
        ({**READER, "ReaderConfig": {"InputType": "JSON", "CSVHeaderLocation": "FIRST_ROW"}},
         [(unsupported("CSVHeaderLocation"), "/ReaderConfig")]),
        ({**READER, "ReaderConfig": {"InputType": "CSV", "CSVHeaderLocation": "GIVEN"}},
         [(required("CSVHeaders"), "/ReaderConfig")]),
        ({**READER, "ReaderConfig": {"InputType": "CSV", "CSVHeaderLocation": "GIVEN",
                                     "CSVHeaders": ["a", 1], "CSVDelimiter": "TAB"}},
         [("Expected value of type [STRING]", "/ReaderConfig/CSVHeaders[1]")]),
        ({**READER, "ReaderConfig": {"MaxItems": 10**8 + 1}},
         [("Maximum value is 100000000", "/ReaderConfig/MaxItems")]),
        ({**READER, "ReaderConfig": {"MaxItems": 1, "MaxItemsPath": "$.n"}},
         [("There should only be one of the following fields: [MaxItems, MaxItemsPath]",
           "/ReaderConfig")]),
    ],
)  # fmt: skip
def test_where_items_are_read(reader, found):
    assert said(distributed(ItemReader=reader)) == [(m, f"/ItemReader{at}") for m, at in found]


@pytest.mark.parametrize(
    ("batcher", "language", "found"),
    [
        ({"MaxItemsPerBatch": 5, "MaxInputBytesPerBatchPath": "$.n", "BatchInput": {"a.$": "$.b"}},
         None, []),
        ({"MaxItemsPerBatch": "{% 5 %}", "BatchInput": "{% {} %}"}, "JSONata", []),
        ({"BatchInput": {}}, None, []),
        ({"MaxItemsPerBatch": -1}, None, [("Minimum value is 0", "/MaxItemsPerBatch")]),
        ({"MaxInputBytesPerBatch": 262_145}, None,
         [("Maximum value is 262144", "/MaxInputBytesPerBatch")]),
        ({"MaxItemsPerBatch": 1, "MaxItemsPerBatchPath": "$.n"}, None,
         [(("There should only be one of the following fields: "
           "[MaxItemsPerBatchPath, MaxItemsPerBatch]"), "")]),
        ({"MaxItemsPerBatchPath": "$.n"}, "JSONata",
         [(("The QueryLanguage is set to 'JSONata', but field 'MaxItemsPerBatchPath' is only supported "
           "for the 'JSONPath' QueryLanguage"), "")]),
    ],
)  # fmt: skip
def test_how_items_are_put_together(batcher, language, found):
    assert said(distributed(ItemBatcher=batcher), language) == [
        (m, f"/ItemBatcher{at}") for m, at in found
    ]


@pytest.mark.parametrize(
    ("writer", "language", "found"),
    [
        ({"WriterConfig": {"Transformation": "COMPACT", "OutputType": "JSONL"}}, None, []),
        ({**WRITER, "WriterConfig": {}}, None, []),
        ({"Resource": WRITER["Resource"], "Arguments": {"Bucket": "{% 'b' %}"}}, "JSONata", []),
        ({}, None, [("Value cannot be empty", "")]),
        ({"Resource": WRITER["Resource"]}, None, [(required("Parameters"), "")]),
        ({"Parameters": {}}, None, [(required("Resource"), "")]),
        ({"Resource": WRITER["Resource"]}, "JSONata", [(required("Arguments"), "")]),
        ({**WRITER, "Resource": "s3"}, None,
         [(("The field 'Resource' does not match any of the allowed values. Examples: "
           "[arn:<partition>:states:::s3:putObject]"), "/Resource")]),
        ({"WriterConfig": {"OutputType": "CSV"}}, None,
         [("Value should be one of the following: [JSON, JSONL]", "/WriterConfig/OutputType")]),
    ],
)  # fmt: skip
def test_where_results_are_written(writer, language, found):
    assert said(distributed(ResultWriter=writer), language) == [
        (m, f"/ResultWriter{at}") for m, at in found
    ]
