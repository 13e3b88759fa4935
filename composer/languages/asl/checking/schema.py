"""The fields of everything a definition holds, by state type and query language, with their bounds.

From the States Language specification and AWS' developer guide (its pages on states, on distributed
maps and on error handling), and for all else from answers that were seen from
ValidateStateMachineDefinition: the fields of each type, and the least and the largest numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, final

from ....freezing import frozen

if TYPE_CHECKING:
    from .diagnostic import Language

Kind: TypeAlias = Literal[
    "any", "array", "assign", "batcher", "boolean", "catchers", "choices", "condition", "config",
    "credentials", "errors", "float", "integer", "items", "label", "machine", "machines", "object",
    "path", "reader", "reader config", "reference", "resource", "retriers", "rule", "rules", "states",
    "string", "strings", "target", "text", "template", "timestamp", "value", "variable", "words", "writer", "writer config",
]  # fmt: skip
MANY = 99_999_999


@final
@frozen
class Field:
    """A field: the kind of its value, and the bounds on it.

    `least`, `most`: bounds of a number; `choices`: the only texts; `language`: the query language that
    has the field. True or False: `null`, it may be null; `dynamic`, it may be a JSONata string in
    that language; `context`, a reference path may start at `$$`; `intrinsic`, a path may be a call
    of an intrinsic function.
    """

    kind: Kind
    language: Language | None = None
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    null: bool = False
    dynamic: bool = False
    context: bool = False
    intrinsic: bool = False


@final
@frozen
class Shape:
    """The shape of an object: its fields, the required ones, and those that exclude others.

    `one_of`: exactly one of each group; `at_most_one`: one of each group, or none.
    """

    fields: dict[str, Field]
    required: tuple[str, ...] = ()
    one_of: tuple[tuple[str, ...], ...] = ()
    at_most_one: tuple[tuple[str, ...], ...] = ()


def _reference(*, context: bool = False) -> Field:
    return Field("reference", "JSONPath", context=context)


def _words(*choices: str) -> Field:
    return Field("words", choices=choices)


def _whole(least: float, most: float | None = None) -> Field:
    return Field("integer", least=least, most=most, dynamic=True)


STRING = Field("string")
TEMPLATE = Field("template", "JSONPath")
VALUE = Field("value", "JSONata")
ASSIGN = Field("assign")
RESULT_PATH = Field("target", "JSONPath", null=True)
VARIABLE = Field("variable", "JSONPath", context=True)
LANGUAGES = _words("JSONPath", "JSONata")

_COMMON = {"Type": STRING, "Comment": STRING, "QueryLanguage": LANGUAGES}
_PATHS = {
    "InputPath": Field("path", "JSONPath", null=True, context=True),
    "OutputPath": Field("path", "JSONPath", null=True, context=True),
    "Output": VALUE,
}
_NEXT = {"Next": STRING, "End": Field("boolean")}
_FLOW = _COMMON | _PATHS | _NEXT | {"Assign": ASSIGN}
_RESULT = {"ResultSelector": TEMPLATE, "ResultPath": RESULT_PATH}
_HANDLERS = {"Retry": Field("retriers"), "Catch": Field("catchers")}
_MACHINE = {"Comment": STRING, "StartAt": STRING, "States": Field("states")}
_END = ("Next", "End")


def _pair(name: str) -> tuple[str, str]:
    return name, f"{name}Path"


_TASK = Shape(
    _FLOW
    | _RESULT
    | _HANDLERS
    | {
        "Resource": Field("resource"),
        "Parameters": TEMPLATE,
        "Arguments": VALUE,
        "Credentials": Field("credentials"),
        "TimeoutSeconds": _whole(1, MANY),
        "TimeoutSecondsPath": _reference(context=True),
        "HeartbeatSeconds": _whole(1, MANY),
        "HeartbeatSecondsPath": _reference(context=True),
    },
    required=("Resource",),
    one_of=(_END,),
    at_most_one=(_pair("TimeoutSeconds"), _pair("HeartbeatSeconds")),
)
_WAIT = Shape(
    _FLOW
    | {
        "Seconds": _whole(0, MANY),
        "SecondsPath": _reference(context=True),
        "Timestamp": Field("timestamp", dynamic=True),
        "TimestampPath": _reference(context=True),
    },
    one_of=(_END, ("Seconds", "SecondsPath", "Timestamp", "TimestampPath")),
)
_MAP = Shape(
    _FLOW
    | _RESULT
    | _HANDLERS
    | {
        "Parameters": TEMPLATE,
        "ItemsPath": _reference(context=True),
        "Items": Field("items", "JSONata"),
        "ItemSelector": Field("template", dynamic=True),
        "ItemProcessor": Field("machine"),
        "Iterator": Field("machine"),
        "ItemReader": Field("reader"),
        "ItemBatcher": Field("batcher"),
        "ResultWriter": Field("writer"),
        "MaxConcurrency": _whole(0),
        "MaxConcurrencyPath": _reference(),
        "ToleratedFailureCount": _whole(0),
        "ToleratedFailureCountPath": _reference(),
        "ToleratedFailurePercentage": Field("float", least=0.0, most=100.0, dynamic=True),
        "ToleratedFailurePercentagePath": _reference(),
        "Label": Field("label"),
    },
    one_of=(_END, ("ItemProcessor", "Iterator")),
    at_most_one=(
        _pair("MaxConcurrency"),
        _pair("ToleratedFailureCount"),
        _pair("ToleratedFailurePercentage"),
        ("Parameters", "ItemSelector"),
    ),
)
STATES: dict[str, Shape] = {
    "Pass": Shape(
        _FLOW
        | {"Result": Field("any", "JSONPath"), "ResultPath": RESULT_PATH, "Parameters": TEMPLATE},
        one_of=(_END,),
    ),
    "Task": _TASK,
    "Choice": Shape(
        _COMMON | _PATHS | {"Choices": Field("choices"), "Default": STRING, "Assign": ASSIGN},
        required=("Choices",),
    ),
    "Wait": _WAIT,
    "Succeed": Shape(_COMMON | _PATHS),
    "Fail": Shape(
        _COMMON
        | {
            "Error": Field("text", dynamic=True),
            "ErrorPath": Field("reference", "JSONPath", context=True, intrinsic=True),
            "Cause": Field("text", dynamic=True),
            "CausePath": Field("reference", "JSONPath", context=True, intrinsic=True),
        },
        at_most_one=(_pair("Error"), _pair("Cause")),
    ),
    "Parallel": Shape(
        _FLOW
        | _RESULT
        | _HANDLERS
        | {"Parameters": TEMPLATE, "Arguments": VALUE, "Branches": Field("machines")},
        required=("Branches",),
        one_of=(_END,),
    ),
    "Map": _MAP,
}
MACHINE = Shape(
    _MACHINE
    | {
        "Version": _words("1.0"),
        "QueryLanguage": LANGUAGES,
        "TimeoutSeconds": Field("integer", least=0, most=MANY),
    },
    required=("StartAt", "States"),
)
BRANCH = Shape(_MACHINE, required=("StartAt", "States"))
PROCESSOR = Shape(
    _MACHINE | {"ProcessorConfig": Field("config")},
    required=("StartAt", "States"),
)
PROCESSOR_CONFIG = {
    "INLINE": Shape({"Mode": _words("INLINE", "DISTRIBUTED")}),
    "DISTRIBUTED": Shape(
        {
            "Mode": _words("INLINE", "DISTRIBUTED"),
            "ExecutionType": _words("STANDARD", "EXPRESS"),
        },
        required=("ExecutionType",),
    ),
}
RETRIER = Shape(
    {
        "Comment": STRING,
        "ErrorEquals": Field("errors"),
        "IntervalSeconds": Field("integer", least=0, most=MANY),
        "MaxAttempts": Field("integer", least=0, most=MANY),
        "BackoffRate": Field("float", least=1.0),
        "MaxDelaySeconds": Field("integer", least=1, most=31_622_400),
        "JitterStrategy": _words("NONE", "FULL"),
    },
    required=("ErrorEquals",),
)
CATCHER = Shape(
    {
        "Comment": STRING,
        "ErrorEquals": Field("errors"),
        "Next": STRING,
        "ResultPath": RESULT_PATH,
        "Assign": ASSIGN,
        "Output": VALUE,
    },
    required=("ErrorEquals", "Next"),
)
READER = Shape(
    {
        "Resource": STRING,
        "ReaderConfig": Field("reader config"),
        "Parameters": TEMPLATE,
        "Arguments": VALUE,
    },
    required=("Resource",),
)
READER_RESOURCES = ("s3:getObject", "s3:listObjectsV2")
READER_CONFIG = Shape(
    {
        "InputType": _words("CSV", "JSON", "JSONL", "MANIFEST", "PARQUET"),
        "ItemsPointer": STRING,
        "Transformation": _words("NONE", "LOAD_AND_FLATTEN"),
        "ManifestType": _words("S3_INVENTORY", "ATHENA_DATA"),
        "MaxItems": _whole(0, 100_000_000),
        "MaxItemsPath": _reference(),
    },
    at_most_one=(_pair("MaxItems"),),
)
CSV_FIELDS = {
    "CSVDelimiter": _words("COMMA", "PIPE", "SEMICOLON", "SPACE", "TAB"),
    "CSVHeaderLocation": _words("FIRST_ROW", "GIVEN"),
    "CSVHeaders": Field("strings"),
}
BATCHER = Shape(
    {
        "BatchInput": Field("template", dynamic=True),
        "MaxItemsPerBatch": _whole(0),
        "MaxItemsPerBatchPath": _reference(),
        "MaxInputBytesPerBatch": _whole(0, 262_144),
        "MaxInputBytesPerBatchPath": _reference(),
    },
    at_most_one=(_pair("MaxItemsPerBatch"), _pair("MaxInputBytesPerBatch")),
)
WRITER = Shape(
    {
        "Resource": STRING,
        "Parameters": TEMPLATE,
        "Arguments": VALUE,
        "WriterConfig": Field("writer config"),
    },
)
WRITER_RESOURCES = ("s3:putObject",)
WRITER_CONFIG = Shape(
    {
        "Transformation": _words("NONE", "COMPACT", "FLATTEN"),
        "OutputType": _words("JSON", "JSONL"),
    },
)
DISTRIBUTED_FIELDS = ("ItemReader", "ItemBatcher", "ResultWriter")
_ORDERED = ("LessThan", "GreaterThan", "LessThanEquals", "GreaterThanEquals")
_COMPARED = {
    "String": Field("text", "JSONPath"),
    "Numeric": Field("float", "JSONPath"),
    "Timestamp": Field("timestamp", "JSONPath"),
}
OPERATOR_FIELDS: dict[str, Field] = {
    **{f"{what}{how}": field for what, field in _COMPARED.items() for how in ("Equals", *_ORDERED)},
    **{f"{what}{how}Path": VARIABLE for what in _COMPARED for how in ("Equals", *_ORDERED)},
    "StringMatches": Field("text", "JSONPath"),
    "BooleanEquals": Field("boolean", "JSONPath"),
    "BooleanEqualsPath": VARIABLE,
    **{
        f"Is{what}": Field("boolean", "JSONPath")
        for what in ("Null", "Present", "Numeric", "String", "Boolean", "Timestamp")
    },
}
