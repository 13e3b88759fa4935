"""JSONPath, as AWS evaluates it."""

from __future__ import annotations

import jsonpath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.kit.asl.paths import DOCUMENT, find
from xingqiao.composer.expressions import MISSING
from xingqiao.composer.languages.asl.jsonpath.paths import (
    NO_INPUT,
    NoArrayError,
    Path,
    PathNotFoundError,
    Scope,
)
from xingqiao.composer.languages.asl.jsonpath.texts import json_text
from xingqiao.composer.languages.asl.state_errors import StatesError


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$", DOCUMENT),
        ("$.one", 1),
        ("$.nil", None),
        ("$.a-b", {"c d": 2}),
        ("$.a-b['c d']", 2),
        ('$["a-b"]["c d"]', 2),
        ("$.['one']", 1),
        ("$.n[0]", 0),
        ("$.n[ -1 ]", 3),
        ("$.n[4]", MISSING),
        ("$.n[-5]", MISSING),
        ("$['one','nil']", {"one": 1, "nil": None}),
        ("$['one', 'nothing']", {"one": 1}),
    ],
)
def test_a_definite_path_gives_a_value(path, expected):
    assert Path.compile(path).definite
    assert find(path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$.n[*]", [0, 1, 2, 3]),
        ("$.a-b.*", [2]),
        ("$.one.*", []),
        ("$.n[1:3]", [1, 2]),
        ("$.n[1:]", [1, 2, 3]),
        ("$.n[:2]", [0, 1]),
        ("$.n[-2:]", [2, 3]),
        ("$.n[:-3]", [0]),
        ("$.n[ 1 : 9 ]", [1, 2, 3]),
        ("$.n[-3:-1]", [1, 2]),
        ("$.n[0:4:2]", [0, 1, 2, 3]),  # Jayway's library knows no step
        ("$.n[1:-1]", []),  # nor does it count the end from the end, when there is a start
        ("$.n[-1:2]", [3, 0, 1]),  # and so one of each sign goes round
        ("$.n[0,2,9]", [0, 2, None]),
        ("$['one','n'].*", [0, 1, 2, 3]),
        ("$['items','nothing'][0].x", [1]),
        ("$.items[*].x", [1, 5, None]),
        ("$.items[*].other.x", [7]),
        ("$.items[*].tags[0]", ["a", None]),
        ("$.items[*].tags[0][0]", []),
        ("$..x", [1, 5, None, 7]),
        ("$.items..['x','name']", [
            {"x": 1, "name": "apple"}, {"x": 5, "name": "Pear"}, {"x": None, "name": "fig"}, {"x": 7}]),
        ("$..tags[0]", ["a", None]),
        ("$..tags[*]", ["a", "b"]),
        ("$.a-b..*", [2]),
        ("$.n..[1:2]", [1]),
        ("$..[?(@.x == 7)]", [{"x": 7}]),
        ("$.n..[?(@ > 2)]", [3]),
        ("$.nothing[*]", []),
        ("$.nothing[:1].x", []),
        ("$.nothing..x", []),
        ("$.nothing[?(@.x)]", []),
    ],
)  # fmt: skip
def test_an_indefinite_path_gives_a_list(path, expected):
    assert not Path.compile(path).definite
    assert find(path) == expected


@pytest.mark.parametrize(
    ("test", "names"),
    [
        ("@.x", ["apple", "Pear", "fig"]),
        ("@.other", ["fig"]),
        ("!@.other", ["apple", "Pear"]),
        ("! ( @.x > 1 )", ["apple", "fig"]),
        ("@.tags[*]", ["apple"]),
        ("@.x == 5", ["Pear"]),
        ("@.x == 5.0", ["Pear"]),
        ("@.x == '5'", []),
        ("@.x == null", ["fig"]),
        ("@.other.x != 7", ["apple", "Pear"]),
        ("@.x >= 1 && @.x < 5", ["apple"]),
        ("@.x > 1 || @.name == 'apple'", ["apple", "Pear"]),
        ('(@.x == 1 || @.x == 5) && @.name == "Pear"', ["Pear"]),
        ("@.x <= 1", ["apple"]),
        ("@.name > 'a'", ["apple", "fig"]),
        ("@.name =~ /.*P+.*/i", ["apple", "Pear"]),
        ("@.name =~ /p/", []),
        ("@.x =~ /5/", []),
        ("@.name in ['fig', 'apple', 1, true, -2.5e1]", ["apple", "fig"]),
        ("@.name in $.names", ["fig"]),
        ("@.x in []", []),
        ("@.name nin $.names", ["apple", "Pear"]),
        ("@.name in @.name", []),
        ("'a' in @.tags", ["apple"]),
        ("@.name contains 'pp'", ["apple"]),
        ("@.tags contains 'b'", ["apple"]),
        ("@.tags subsetof ['a','b','c']", ["apple", "Pear"]),
        ("@.tags anyof ['b']", ["apple"]),
        ("@.tags noneof ['b']", ["Pear"]),
        ("@.tags size 2", ["apple"]),
        ("@.tags empty true", ["Pear"]),
        ("@.tags EMPTY false", ["apple"]),
        ("@.other == $.items[2].other", ["fig"]),
        ("$.nothing == @.nothing", []),
        ("@.tags[0] == 'a'", ["apple"]),
        ("$.one[0]", []),
        ("@.name == 'fi\\u0067'", ["fig"]),
        ("$.one[?(@.x)]", []),
        ("@.other[?(@.x == 7)]", ["fig"]),
    ],
)  # fmt: skip
def test_a_filter_keeps_the_elements_that_pass(test, names):
    assert find(f"$.items[?({test})].name") == names


def test_a_filter_keeps_an_object_that_passes():
    assert find("$.items[2].other[?(@.x == 7)].x") == [7]
    assert find("$.items[2].other[?(@.x == 8)].x") == []


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("$.nope", "No results for path: $['nope']"),
        ("$.items[0].nope", "No results for path: $['items'][0]['nope']"),
        ("$.nope.deep", "Missing property in path $['nope']"),
        ("$.one.x", "Property ['x'] not found in path $['one']"),
        ("$.n[9].x", "Property ['x'] not found in path $['n'][9]"),
        ("$.n[9][0]", "The path $['n'][9] is null"),
        ("$.sum()", "No results for path: $['sum()']"),
        ("$['one','n']['x','y'].z", None),
        ("$.n['x','y']", "Property ['x','y'] not found in path $['n']"),
    ],
)
def test_a_definite_path_that_leads_nowhere_says_where_it_ended(path, why):
    if why is None:
        assert find(path) == []
        return
    with pytest.raises(PathNotFoundError) as caught:
        find(path)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("$.one[0]", "Filter: [0] can only be applied to arrays. Current context is: 1"),
        (
            "$.a-b[0,1]",
            'Filter: [0,1] can only be applied to arrays. Current context is: {"c d":2}',
        ),
        ("$.one[:2]", "Filter: [:2] can only be applied to arrays. Current context is: 1"),
        ("$.one[1:].x", "Filter: [1:] can only be applied to arrays. Current context is: 1"),
        ("$.one[?(@.x)]", "Filter: [?] can not be applied to primitives. Current context is: 1"),
    ],
)
def test_what_is_no_array_has_no_elements(path, why):
    with pytest.raises(NoArrayError) as caught:
        find(path)
    assert str(caught.value) == why


def test_a_path_may_be_of_the_context_object_or_of_a_variable():
    scope = {"context": {"State": {"Name": "s"}}, "variables": {"order": {"id": [4, 5]}}}

    assert find("$$.State.Name", **scope) == "s"
    assert find("$$", **scope) == {"State": {"Name": "s"}}
    assert find("$order.id[1]", **scope) == 5
    assert find("$order", **scope) == {"id": [4, 5]}
    with pytest.raises(PathNotFoundError, match=r"No results for path: \$\['nothing'\]"):
        find("$nothing", **scope)
    with pytest.raises(PathNotFoundError):
        find("$nothing")
    assert Path.compile("$$.a").inner == "$.a"
    assert repr(Path.compile("$order.id")) == "Path('$order.id')"


def test_a_null_input_has_no_paths():
    with pytest.raises(StatesError) as caught:
        find("$", None)
    assert (caught.value.name, caught.value.cause) == ("States.Runtime", NO_INPUT)
    assert find("$$.x", None, context={"x": 1}) == 1


def test_a_hostile_path_ends_with_an_error():
    document: object = 0
    for _ in range(100):
        document = {"a": document, "b": 0}
    wide = {"list": list(range(2_000))}

    for path, hostile in [
        ("$..*..*..*", document),
        ("$.list[?(@ in $.list)]", wide),
        ("$.list[?($..* anyof $..*)]", wide),
        ("$.t[?(@ =~ /((a|b|c|d)*e?){20}/)]", {"t": ["abcd" * 500] * 1_000}),
    ]:
        with pytest.raises(StatesError, match="visits more than"):
            find(path, hostile)


def test_the_deepest_path_is_walked():
    document: object = [{"x": 1}]
    for _ in range(2):
        for _ in range(98):
            document = {"a": document}
        document = [document]
    chain = ".a" * 98

    found = find(f"$[*]{chain}[?(@{chain}[?(@.x == 1)])]", document)

    assert len(found) == 1
    assert json_text(found) in json_text(document)


def documents(*leaves):
    return st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(-9, 9), *leaves),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
        ),
        max_leaves=12,
    )


PIECES = st.sampled_from(
    [".a", "..b", "[0]", "[-1]", "[*]", ".*", "['a','b']", "[0,1]", "[1:]", "[?(@.a)]", "[?(@ == $.a)]",
     "[?(@.a =~ /b*/ || !@.b)]", "..[0]", "..*", "[?(@.a in [1,'a'])]"]
)  # fmt: skip


@given(documents(st.text("ab", max_size=2)), st.lists(PIECES, max_size=5))
@example({"a": [1]}, ["..*", "[?(@ == $.a)]"])
def test_any_path_gives_a_value_or_says_why_not(document, pieces):
    path = Path.compile("$" + "".join(pieces))
    try:
        found = path.find(Scope(document))
    except (PathNotFoundError, NoArrayError, StatesError):
        return
    assert path.definite or isinstance(found, list)


COMMON = st.sampled_from([".a", "['b']", "[*]", ".*", "..a", "..*", "[1:]", "[:2]", "..[*]"])


@given(documents(), st.lists(COMMON, max_size=5))  # the library slices strings, too
def test_where_jayway_and_the_standard_agree_so_does_this(document, pieces):
    path = "$[*]" + "".join(pieces)
    if document is not None:
        assert find(path, document) == jsonpath.findall(path, document)
