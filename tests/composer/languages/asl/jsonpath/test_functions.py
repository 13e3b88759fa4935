"""Intrinsic functions: what they do with their arguments, and what they take none of."""

from __future__ import annotations

import pytest

from tests.kit.asl.intrinsics import INPUT, UUID, evaluate, fails
from xingqiao.composer.languages.asl.jsonpath.functions import FUNCTIONS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("States.Array()", []),
        ("States.Array( 1 , -2.5, 1e3,'x', true, false, null, $.name )", [1, -2.5, 1000.0, "x", True, False, None, "Ann"]),
        ("States.Array('', 'it\\'s', '\\\\', '\\{\\}', 'a{b}c')", ["", "it's", "\\", "{}", "a{b}c"]),
        ("States.Array($['a)b,c'][0], $.list[?(@ > 1)], $.list[0,1], $[\"name\"])", [4, [2, 3], [1, 2], "Ann"]),
        ("States.Array($$.x.y, $v.w, $)", [1, 2, INPUT]),
        ("States.Array($.object.b[?(@ != $.list[0])])", [[True, None]]),
        ("States.ArrayPartition($.list, 2)", [[1, 2], [3]]),
        ("States.ArrayPartition($.list, 1.5)", [[1, 2], [3]]),
        ("States.ArrayPartition(States.Array(), 4)", []),
        ("States.ArrayContains($.list, 2.0)", True),
        ("States.ArrayContains(States.Array($.object), $.object)", True),
        ("States.ArrayContains($.list, '2')", False),
        ("States.ArrayContains(States.Array(1), true)", False),
        ("States.ArrayRange(1, 9, 2)", [1, 3, 5, 7, 9]),
        ("States.ArrayRange(9, 1, -4)", [9, 5, 1]),
        ("States.ArrayRange(1, 0, 1)", []),
        ("States.ArrayRange(0.5, 2.4, 1)", [1, 2]),
        ("States.ArrayGetItem($.list, 2)", 3),
        ("States.ArrayLength($.list)", 3),
        ("States.ArrayLength($.nothing[*])", 0),
        ("States.ArrayUnique(States.Array(1, 1.0, true, '1', 1, null, null, $.list, $.list, $.object, $.object))",
         [1, True, "1", None, [1, 2, 3], {"a": 1, "b": [True, None]}]),
        ("States.Base64Encode('Data to encode')", "RGF0YSB0byBlbmNvZGU="),
        ("States.Base64Encode('>>>é')", "Pj4+w6k="),
        ("States.Base64Decode('RGF0YSB0byBlbmNvZGU=')", "Data to encode"),
        ("States.Base64Decode('RGF0YSB0byBlbmNvZGU')", "Data to encode"),
        ("States.Base64Decode('/w==')", "\ufffd"),
        ("States.Hash('input data', 'SHA-1')", "aaff4a450a104cd177d28d18d74485e8cae074b7"),
        ("States.Hash($.object, 'MD5')", "9264c02a0f4163be44ebc9264e797413"),
        ("States.JsonMerge($.object, States.StringToJson('{\"b\": 2}'), false)", {"a": 1, "b": 2}),
        ("States.MathAdd(1.49, -1.5)", 0),
        ("States.MathAdd($.half, 0.49999999999999994)", 2),
        ("States.MathRandom(1, 999)", 500),
        ("States.MathRandom(12.5, 14.4)", 13),
        ("States.MathRandom(0, 10, 42)", 0),  # new java.util.Random(42).nextInt(10)
        ("States.MathRandom(5, 13, 42)", 10),  # 5 + new java.util.Random(42).nextInt(8)
        ("States.StringSplit('This.is+a,test=string', '.+,=')", ["This", "is", "a", "test", "string"]),
        ("States.StringSplit('a-b]c^d', ']-^')", ["a", "b", "c", "d"]),
        ("States.StringSplit('a b', '')", ["a b"]),
        ("States.StringSplit('', '')", []),
        ("States.StringToJson('')", None),
        ("States.StringToJson(' \t')", None),
        ("States.StringToJson('-0')", 0),
        ("States.StringToJson('{\"a\": [1.0, \"x\"]}')", {"a": [1.0, "x"]}),
        ("States.JsonToString($.object)", '{"a":1,"b":[true,null]}'),
        ("States.JsonToString('é')", '"é"'),
        ("States.UUID()", UUID),
        ("States.Format('Hi')", "Hi"),
        ("States.Format('{} {}, {}{}{}', 'a', 1, 1.5, true, null)", "a 1, 1.5truenull"),
        ("States.Format('\\{{}\\} \\'{\\\\}', 1)", "{1} '{\\}"),
        ("States.Format('{}|{}', $.object, $.list)", "{a=1, b=[true, null]}|[1, 2, 3]"),
        ("States.Format($.tpl, 1)", "n=1"),
        ("States.Format('{}', $.nil)", "null"),
        ("States.Format('{}', States.Format('{}', States.ArrayLength($.list)))", "3"),
    ],
)  # fmt: skip
def test_functions(text, expected):
    found = evaluate(text, context={"x": {"y": 1}}, variables={"v": {"w": 2}})
    assert found == expected
    assert type(found) is type(expected)


def test_there_are_eighteen_functions():
    assert len(FUNCTIONS) == 18


def test_a_seed_gives_the_same_number_each_time_within_the_bounds():
    numbers = {evaluate(f"States.MathRandom(0, 1073741825, {seed})") for seed in range(20)}

    assert len(numbers) == 20
    assert all(0 <= number < 1_073_741_825 for number in numbers)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("States.ArrayPartition($.list)", "2 arguments are expected, not 1"),
        ("States.ArrayPartition($.name, 1)", "the first argument must be an array"),
        ("States.ArrayPartition($.list, 0)", "the second argument must be a positive integer"),
        ("States.ArrayPartition($.list, 'x')", "the second argument must be a number"),
        ("States.ArrayPartition($.list, true)", "the second argument must be a number"),
        ("States.ArrayContains('a', 'a')", "the first argument must be an array"),
        ("States.ArrayRange(0, 1000, 1)", "the array would have more than 1000 elements"),
        ("States.ArrayRange(0, 1000000000000000000, 1)", "the array would have more than 1000 elements"),
        ("States.ArrayRange(0, 1, 0)", "the third argument must not be zero"),
        ("States.ArrayRange(0, 1e30, 1)", "the number takes more than 64 bits"),
        ("States.ArrayGetItem($.list, 3)", "the second argument must be an index of the array"),
        ("States.ArrayGetItem($.list, -1)", "the second argument must be an index of the array"),
        ("States.ArrayGetItem($.list, 1.0)", "the second argument must be an index of the array"),
        ("States.ArrayLength($.object)", "the first argument must be an array"),
        ("States.Base64Encode(5)", "the first argument must be a string"),
        ("States.Base64Encode($.long)", "the first argument has more than 10000 characters"),
        ("States.Base64Decode($.long)", "the first argument has more than 10000 characters"),
        ("States.Base64Decode('!')", "the string is not Base64"),
        ("States.Base64Decode('A')", "the string is not Base64"),
        ("States.Hash('a', 'sha-1')", "the second argument must be one of MD5, SHA-1"),
        ("States.Hash('a', 1)", "the second argument must be a string"),
        ("States.Hash($.long, 'MD5')", "the first argument has more than 10000 characters"),
        ("States.JsonMerge($.object, $.list, false)", "the first and second arguments must be objects"),
        ("States.JsonMerge($.list, $.object, false)", "the first and second arguments must be objects"),
        ("States.JsonMerge($.object, $.object, true)", "the third argument must be false"),
        ("States.MathAdd('1', 2)", "the first argument must be a number"),
        ("States.MathAdd(18446744073709551615, 1)", "the number takes more than 64 bits"),
        ("States.MathRandom(1, 1)", "the second argument must be above the first"),
        ("States.MathRandom(0, 2147483648)", "the second argument must be above the first"),
        ("States.MathRandom(1)", "2 to 3 arguments are expected, not 1"),
        ("States.StringSplit($.list, ',')", "the first argument must be a string"),
        ("States.StringToJson('{')", "the string is not valid JSON"),
        ("States.StringToJson('[NaN]')", "the string is not valid JSON: it has NaN"),
        ("States.StringToJson('99999999999999999999')", "the string is not valid JSON"),
        ("States.StringToJson(1)", "the first argument must be a string"),
        ("States.Format()", "a template is expected"),
        ("States.Format(1)", "the first argument must be a string"),
        ("States.Format('{}')", "the template has 1 places for 0 arguments"),
        ("States.Format('{}', 1, 2)", "the template has 1 places for 2 arguments"),
        ("States.UUID(1)", "0 arguments are expected, not 1"),
    ],
)  # fmt: skip
def test_what_a_function_does_not_take_is_an_intrinsic_failure(text, why):
    error = fails(text)
    assert error.name == "States.IntrinsicFailure"
    assert error.cause.startswith(f"The function '{text}' had the following error: {why}")


def test_an_index_of_what_is_no_array_is_a_runtime_error_in_aws_words():
    error = fails("States.Format('{}', $.other[0])", {"other": 1})
    assert error.name == "States.Runtime"
    assert error.cause == (
        "The function 'States.Format('{}', $.other[0])' had the following error: "
        "Filter: [0] can only be applied to arrays. Current context is: 1"
    )


@pytest.mark.parametrize(
    "text",
    [
        f"States.Format('{'{}' * 200}'{', $.big' * 200})",
        "States.Format('{}{}', $.big, $.big)",
        "States.JsonToString(States.Array($.big, $.big, $.big))",
        "States.ArrayUnique(States.Array($.big, $.big, $.big))",
    ],
)
def test_what_would_be_too_large_ends_with_an_error(text):
    assert fails(text).name == "States.DataLimitExceeded"
