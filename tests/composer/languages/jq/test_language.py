"""Programs by subject: the results of libjq 1.8, which is asked too where it has the functions."""

from __future__ import annotations

import json
import math

import jq as libjq
import pytest

from tests.kit.jq import same
from xingqiao.composer.languages import jq
from xingqiao.composer.languages.jq.machine import results

# Each is run on null, by us and by libjq.
ALIKE = r"""
[1,2]|min_by(.),max
try ([1]|from_entries) catch .
try (1|from_entries) catch .
{"a":{"key":"x","value":1}}|from_entries
try (1|add) catch .
{"a":1,"b":2}|add
[[1],[2,3]]|add
try (1|flatten) catch .
{"a":[1,[2]]}|flatten
try (1|reverse) catch .
try (true|length) catch .
[null,"a",[1],{"a":1},-5|length]
try (1|keys) catch .
[1,2]|keys, keys_unsorted
try ({}|sort) catch .
try (1|sort_by(.)) catch .
try (1|min_by(.)) catch .
try ({"a":1}|min_by(.)) catch .
try ({"a":1}|sort_by(.)) catch .
try ([1]|flatten("a")) catch .
try ("a"|mktime) catch .
[{"a":1},{"a":"xy"},{"a":[1,2]},{"a":null},[],{},"aba"|try index("a") catch .]
[{"a":1},{"a":"xy"},{"a":[1,2]},{"a":null},[],{},"aba"|try rindex("a") catch .]
try (["a"]|join(1)) catch .
try (["a","b"]|join(1)) catch .
try (1|@foo) catch .
try (1|@csv) catch .
try ([[1]]|@csv) catch .
try (error("x") // 2) catch ., [1 // error("x")], [try ((1,error("x")) // 2) catch .]
[(null//false)//3], [(false,1,null,2)//5], [empty//1], [(false,null)//(1,2)]
"ab"|[match("ab|a";"l").string]
[(1,2) as [$x] ?// $x | $x], [(empty,1) as [$x] ?// $x | $x]
[label $f | empty], [label $f | 1,2]
[foreach (1,2) as $x (0; empty; .)], [foreach (1,2) as $x (0; .+$x, 5; .)], [reduce (1,2) as $x (0,1; .+$x,.)]
[1000|exp]
[path([1,2|.] | empty)]
[path(limit(1; .a, .b))]
[1|until(.>100;.*2)], [5|until(.>3;.)]
[1|while(.<10;.*3)]
"ab"|test("(z)?\\1b"), test("(?x)a b"), test("[\\b]")
try (1|group_by(.)) catch .
[[],[1]]|map(min,max)
try (1|bsearch(1)) catch .
[1,2,3]|bsearch(0,2,4)
try (1|contains("a")) catch .
[[1,"abc"]|contains([1]), contains(["b"])]
null|indices(1), index("a")
try ({}|indices(1)) catch .
"a,b,a"|indices("a"), rindex("a"), index("z")
[1,2,1]|indices(1), indices([]), indices([1,2])
try (1|transpose) catch .
try ([1]|transpose) catch .
[[1],[2,3]]|transpose
{"a":[]}|[tostream]
1|[tostream]
[has("a")?]
try ([1]|has("a")) catch .
{"a":1}|has("a")
0|todate,gmtime
try ("a"|gmtime) catch .
try (1e18|gmtime) catch .
try ("a"|strftime("%Y")) catch .
"10 Mar 15"|strptime("%d %b %y")
"10 Mar 70"|strptime("%d %b %y")|mktime
"Thu, 05 Mar 2015 23:51:47 +0100"|strptime("%a, %d %b %Y %H:%M:%S %z")
"10:20:30 PM"|strptime("%I:%M:%S %p")[0:6]
try ("2015"|strptime("%Y-%m")) catch .
try ("20xx"|strptime("%Y%m")) catch .
try ("Xyz"|strptime("%b")) catch .
try (1|strptime("%Y")) catch .
try ("5"|strptime("%%")) catch .
"% 5"|strptime("%%%n%Y")[0]
"2015 064"|strptime("%Y %j")|mktime
"2015-03-05T23:51:47Z"|fromdate, (strptime("%FT%TZ")|mktime)
1425599621|strftime("%A %a %B %b %c %C %d %D %e %F %G %g %H %I %j %k %l %m %M %n %p %r %R %s %S %t %T %u %U %V %w %W %x %X %y %Y %z %Z %% %h")
1425599621|strflocaltime("%H:%M %Z"), localtime
[2015,2,5]|mktime
[1,"a",null,true,nan]|@csv,@tsv
"a%zz"|try @urid catch .
"%ff"|try @urid catch .
"%41"|@urid
try ([{}]|@sh) catch .
try ("!!"|@base64d) catch .
try (1|format("foo")) catch .
1|format("json")
[1,2]|[.[] as $x | $x] , (try ([1,2] as [$a] ?// $b | error("x")) catch .)
[(1,2) as $x | (3,4) as $y | [$x,$y]]
[true,false,(true,false)|(., true) and (true, false)]
[(true,false) or (false,true)]
[if (true,false) then (1,2) else 3 end]
[.[]?, (1,2|.[0]?)]
[[1,2],[3]]|[.[][]], [(.[0],.[1])[]]
[first(empty)], [last(empty)], [last(1,2)], first(5), last(5)
[limit(0;1)], [limit(1;1)], [limit(5;1,2)]
[label $f | label $g | 1, break $f, 2]
[label $f | (label $g | 1, break $f), 2]
[.[]?] | first
try error("\(1+1)") catch .
try error({}) catch .
try error catch .
"\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t"
"a" as $x | "b" as $y | "\($x)-\($y)"
@base64 "x\("a")", @html "\("<&'\">")", @sh "\("it's")", @uri "\("a b")"
[8,0.5,10|significand,logb,frexp,gamma,lgamma,tgamma,trunc,cbrt,exp10,exp2,nearbyint,rint,modf,ceil,round,lgamma_r,log,log2,log10,expm1,log1p]
[0|logb,significand,log,log2,log1p]
[-1|sqrt,log], [-1.5|round,lgamma_r], (infinite|floor,logb,exp)
[ldexp(3;2),scalb(3;2),scalbln(3;2),fma(2;3;4),fmin(1;nan),fmin(nan;1),fmax(nan;2),fmax(2;nan),fmod(7;3),nextafter(1;2),drem(7;4),copysign(1;-2),hypot(3;4),atan2(1;1),fdim(3;1),fdim(1;3),pow(-10;1001),pow(0;-1),pow(-1;0.5),pow(10;400)]
[0,1,1e-320|isnormal], (nan|isnan), (infinite|isinfinite), (1|isfinite)
try ("a"|floor) catch .
[-1,1,0,"a"|abs]
try (null|abs) catch .
try ([range("a")]) catch .
[range(0;1;0.3)], [range(3;0;-1)], [range(0;1;0)]
[1,[2]]|getpath([1,0])
try getpath(1) catch .
try ([1]|getpath(["a"])) catch .
path(getpath(["a","b"]))
[paths], [path(..)]
try path(1) catch .
try path([1]|first) catch .
try path({}|.a) catch .
try path([1]|.[]) catch .
path(.a // .b), path(if .a then .b else .c end), [path(.a, .b)], [path(first(.a,.b))]
path(.a | select(.b == null)), [path(.a[1:2])], [path(.[1:][0])]
[path(try .a catch .b)], [path(.a?)], [path(. as $x | .a)], [path(def f: .a; f)], [path(recurse(.a; false))]
try path(error("x")) catch ., [path(try error("x") catch .)]?
try ([1]|.["a"]=1) catch .
try (null|.[-1]=1) catch .
try ({}|.[0]=1) catch .
try ({}|.[{"start":1}]=1) catch .
try ([1]|.[0:1]=1) catch .
try ("a"|.[0:1]=["b"]) catch .
try ([]|.[nan]=1) catch .
try ([]|.[1e10]=1) catch .
try ([]|.[true]=1) catch .
try (null|.[true]) catch .
null|.[1:2]=[5], .[2]=1, .a=1, (.[0:1]|=[1,2])
[1,2,3]|del(.[0,2]), del(.[1:]), del(.[-1]), del(.[10]), del(.[nan]), del(.)
try ([1]|delpaths([["a"]])) catch .
try ({"a":1}|delpaths([[0]])) catch .
try (1|delpaths([["a"]])) catch .
try ({}|delpaths([1])) catch .
try ({}|delpaths(1)) catch .
null|delpaths([["a"]]), delpaths([["a","b"]])
{"a":null}|delpaths([["a","b"]])
{"a":{"b":1,"c":2}}|delpaths([["a","b"]]), del(.a.b, .a.c)
[1,2,3]|.[1.7], .[nan], .[1e10], .[-1], .[:nan], .[nan:]
try ([1]|.[{}]) catch .
try ([1]|.["a":]) catch .
try (1|.[1:]) catch .
try (["a",[1]]|join(",")) catch .
try (1|join(",")) catch .
{"a":"x","b":"y"}|join(",")
["1e3","0x1","nan","1.","-5","1_0",".5","+1","","-","1e"|try tonumber catch "bad"], (1|tonumber)
try ([]|tonumber) catch .
try ({}|tonumber) catch .
"nan"|tonumber|isnan
["true","false",true|toboolean]
try (1|toboolean) catch .
try (1|fromjson) catch .
try (1|utf8bytelength) catch .
try (1|trim) catch .
try (1|explode) catch .
try (1|implode) catch .
try (["a"]|implode) catch .
try (1|split(",")) catch .
try (1|test("a")) catch .
try ("a"|test(1)) catch .
try ("a"|test("a";1)) catch .
try ("a"|test("a";"q")) catch .
"aXbxc"|[match("x";"gi").offset], test(["X","i"]), test(["b"]), [match(["X"]).string]
"test"|[scan("(t)(e)?")], [scan("t")], capture("(?<a>t)(?<n>z)?"), [splits("e")], split("e";null)
"abab"|gsub("";"-"), sub("(?<x>b)";"<\(.x)>"), [sub("a";"1","2")], sub("z";"y"), gsub("a";empty)
try ("a"|sub("a";1)) catch .
"foobar"|[match("foo|foobar";"l").string], [match("o*";"gn").string], [match("x*";"g").offset]
"a1 b2_é"|[match("\\d";"g").offset], [match("\\w+";"g").string], [match("\\s";"g").offset], [match("\\W";"g").offset]
"abcABC123"|[match("[a-c]+";"gi").string], [match("[^a-c]+";"g").string], [match("[[:upper:]]+";"g").string], [match("[[:^alpha:]]+").string]
"a-b]c"|[match("[a\\-b]+").string], [match("[]a]";"g").offset], [match("[\\w-]+").string], [match("[a-]+").string], [match("[\\]\\d]").offset]
"aaa"|[match("a{2}").string], [match("a{1,}").string], [match("a{0,2}?").string], [match("a+?").string], [match("a*+b?").string], [match("(?>a+)").string]
"a{,b"|[match("a{,").string], [match("{").offset]
"foobar"|[match("foo(?=bar)").string], [match("(?<=foo)bar").string], [match("(?<!x)b").offset], [match("o(?!o)").offset]
"abab"|[match("(ab)\\1").string], [match("(?<x>a)b\\k<x>").string], [match("(?:ab)+").string], [match("^ab").string], [match("b$").offset], [match("\\Aa").offset], [match("b\\z").offset], [match("b\\Z").offset]
"a b"|[match("\\ba";"g").offset], [match("\\Bb").offset], [match(" b";"x").offset], [match("a # c\n.";"x").string]
"AB"|[match("(?i)ab").string], [match("(?i:a)B").string], [match("(?-i)AB").string], [match("(?i)a(?-i)b")|.string]
"a\tb\u0000"|[match("\\t").offset], [match("\\x61").string], [match("\\x{62}").string], [match("[\\x61-\\x62]";"g").offset]
"aé1"|[match("\\p{L}+").string], [match("\\P{L}").string], [match("\\p{Lu}").string]
"ab(c"|[match("\\(").offset], [match("[(]").offset], [match("(?#comment)c").offset]
"a\nb"|[match("a.b";"p").string], [match("a.b";"s").string], [match("a(?s).b").string]
"ß"|test("[A-Z]";"i"), test("ß";"i")
"XaXb"|[match("(X)(?<n>a)?";"g")|.captures|map(.string)]
[1,"a"]|tojson, tostring, (.[0]|tostring)
[nan,infinite,-infinite]|tojson
[1e-5,1.5e-7,123456.789,1.5e300,-2.5,1e17,0.0001]|map(.+0)|tojson
[1.5,-0.5,3.7 | . % 2], (try (1 % 0) catch .), (try ("a" % 1) catch .), (nan % 1 | isnan), (5 % 1e300), (-5 % 3)
[1,null,"a",[1],{"a":1}] as $v | [$v[] | . as $a | $v[] | try ($a + .) catch "e"], [$v[] | . as $a | $v[] | try ($a - .) catch "e"]
[1,null,"a",[1],{"a":1}] as $v | [$v[] | . as $a | $v[] | try ($a * .) catch "e"], [$v[] | . as $a | $v[] | try ($a / .) catch "e"]
[1,null,"a",[1],{"a":1},true,false] as $v | [$v[] | . as $a | $v[] | ($a < .), ($a <= .), ($a > .), ($a >= .), ($a == .), ($a != .)]
try (1/0) catch ., ("a,b"/","), (""|split(",")), ("ab"/"")
{"a":{"b":1}} * {"a":{"c":2}}, ({} * {"a":{"b":1}})
try ([[1]]|implode) catch .
try ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"|keys) catch .
try ([range(50)]|-.) catch .
try ({"a":[range(50)],"b":{"c":{"d":"eeeeeeeeeeeeeeeeeee"}}}|-.) catch .
try ([["a","b"],[],{},{"x":null}]|-.) catch .
{"a":1} as {a:$x} | $x, ({"a":[1]} | . as {$a:[$b]} | [$a,$b]), ({"k":"a","a":5} | . as {k:$k, ("a"):$v} | [$k,$v])
. as [$a] ?// {b:$b} | [$a,$b]
[[1,2],[3,4]] | [.[] as [$a,$b] | {$a,$b}], [reduce .[] as [$a,$b] (0; .+$a*$b)], [foreach .[] as [$a,$b] (0; .+$a; [.,$b])]
[foreach {a:1,b:2} as {("a","b"):$x} (0; .+$x; .)]
[foreach {a:1,b:2} as {("a","b"):$x} (0; .+$x; [$x,.])]
[foreach {a:1,b:2} as {("a","b"):$x} (0; .+$x)]
reduce {a:1,b:2} as {("a","b"):$x} (0; .+$x)
[foreach ([1],[2,3]) as [$x,$y] ([]; .+[$x,$y]; .)]
[foreach ({a:1,b:2},{a:3,b:5}) as {("a","b"):$x} (0,1; .+$x,7; [$x,.],9)]
[foreach ([1],2) as [$x] ?// $x (0; .+$x; [$x,.])]
[foreach ([1],2) as [$x] ?// $x (0; .+$x; if .>1 then error("x") else [$x,.] end)]
[foreach ([1],[[2]]) as [$x] ?// [[$x]] (0; .+$x; [$x,.])]
[foreach ([1],[[2]]) as [$x] ?// [[$x]] (0; .+$x)]
reduce ([1],[[2]]) as [$x] ?// [[$x]] (0; .+$x)
reduce ([1],[[2]],[[3]]) as [$x] ?// [[$x]] (0; .+$x)
[reduce (1,2) as $x (0; empty)]
[reduce ({a:1}) as {("a","b"):$x} (0; if $x==1 then .+1 else empty end)]
[reduce ({a:1}) as {("b","a"):$x} (0; if $x==1 then .+1 else empty end)]
[reduce ({a:1},{a:2}) as {("b","a"):$x} (0,5; [.,$x])]
[foreach ([1]) as [$x] ?// $x (0; (.+1, error("x")); [$x,.])]
[foreach ([1]) as [$x] ?// $x (0; .+1; if $x == 1 then (., error("x")) else [$x,.] end)]
[foreach ([1],[2]) as [$x] ?// $x (0; if $x == 1 then error("x") else [.,$x] end; [$x,.])]
. as $d | [foreach ([1],[[2]]) as [$x] ?// [[$y]] (0; .+1; [$x,$y])]
[label $f | foreach ([1],[2]) as [$x] (0; .+$x; if .>1 then break $f else . end)]
[foreach ([[1,2],[3,4]] | .[]) as [$x,$y] (0; .+$x*$y; [.,$x,$y])]
[foreach (1,2) as [$x] (0; .; .)]?
try (reduce (1,2) as [$x] (0; .)) catch .
try (reduce (1,2) as [$x] ?// {a:$x} (0; .)) catch .
[foreach {a:{b:1}} as {$a:{$b}} (0; .; [$a,$b])]
"a\u0000b\u007f'\"<"|@html,@uri,@sh,@json,@text,@base64,tojson,[.,1]
["a\u0000b\u007f\"\t"]|@csv,@tsv,@html,@json
"YWJj=ZGVm","YQ=é"|@base64d
"é"|try @base64d catch ., try @urid catch .
[limit(1.5;1,2,3)], [limit(0.5;1,2,3)]
[(true,"a",[1],{})|try limit(.;1,2) catch .], [limit("a";empty)]
[(-infinite,infinite,nan,0,-1,-2.5)|lgamma_r]
"x" as $x | {$x, "y":1, "\($x)z":2, (1|tostring):3, @base64 "\($x)": 4, if: 5, $__loc__}
{"a":1,"b":2} | {a, "b", "c\(1)": 3}, {"a b":1}."a b", (."a"), (."a"?), .["a","b"], .["a"]?, (.a?.b?), [.["a","b"]?]
[[1,2,3]|.[1:]?, .[:1]?, .[0]?, .[(0,1):2]?], [1|.[1:]?, .[0]?, ."a"?, .[]?]
def f($a; g): $a + g; f(1,2; 3,4)
def f: def g: 3; g; def h(x): x | x; f, (2 | h(. * 2))
def f(x): def g(y): x + y; g(x); f(1)
def f(g): def h: g; [h, g]; f(1,2)
[1,[2,[3]]] | [recurse(.[]?)], [recurse(.[]?; type == "array")], [..|numbers]
[[1,2]|.[] += 1, (.[0] |= empty), (.[0] //= 5), (.[5] //= 5), (.[0] -= 1, .[0] *= 3, .[0] /= 2, .[0] %= 1)]
{"a":1} | .b = (1,2), .b += (1,2), (.a |= (2,3)), (.b //= (1,2))
[1,2] | any, all, any(.>1), all(.>1), any(.[];.==3), isempty(.[]), isempty(empty)
[splits("a")?], [1,2|IN(2,3)], IN(1,2;2), INDEX({"id":1},{"id":2};.id), [[1,2]|INDEX(.)]
[[1,2],[3,4]]|[combinations], ([0,1]|[combinations(2)]), [.[]|inside([1,2,3])], ("a"|in({"a":1}))
{"a":1,"b":[2]}|[tostream]|fromstream(.[])
[1|truncate_stream([[0],1],[[1,0],2],[[1,0]],[[1]])]
{"a":[1,{"b":2}]}|pick(.a[1].b), (walk(if type=="number" then .+1 else . end)), with_entries(.value|=length), map_values(1), to_entries
[1,"a",null,true,[],{}]|map(arrays,objects,iterables,booleans,numbers,strings,nulls,values,scalars)|length
[1.5,nan,infinite]|map(normals,finites)|length
[3,1,2]|sort, sort_by(-.), group_by(.%2), unique_by(.%2), min_by(-.), max_by(-.), unique
[skip(1;1,2,3)], [nth(1;1,2,3)], ([1,2,3]|nth(1),first,last)
try nth(-1;1) catch ., try skip(-1;1) catch ., try ([limit(-1;1)]) catch .
{"a":1,"b":2}|del(.a), delpaths([["a"],["b"]]), ([.[]]), keys, length
try (null|[.[]]) catch ., try (1|.[]) catch ., try ({}|.[0]) catch ., try ("a"|.b) catch .
1 as $x | 2 as $y | [$x,$y,$__loc__]
try (try error("x") catch error("y")) catch .
-1, -(1,2), (try -"a" catch .), [-.5]?, 1-1, 2*-3
[1,2]|-.[0], .[0]-1, (.[0])-1
"x" * 3, 3 * "x", ("x" * 0), ("x" * -1), ("" * 5)
[1,2,2]-[2], ([1]-[]), ([[1]]-[[1]])
([1,[2]]|flatten(0)), (try ([1]|flatten(-1)) catch .)
builtins|length > 100
"abc"|ascii_upcase, ltrimstr("a"), rtrimstr("c"), trimstr("a"), startswith("a"), endswith("c"), (try ltrimstr(1) catch .)
"""
CASES = ALIKE.strip().splitlines()


def libjqs(program):
    try:
        return libjq.compile(program).input_text("null").all()
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("program", CASES)
def test_a_program_has_libjqs_results(program):
    wanted = libjqs(program)
    try:
        found = jq.compile(program).evaluate(None)
    except jq.JqError as error:
        found = str(error)

    assert same(found, wanted), (found, wanted)


@pytest.mark.parametrize(
    ("program", "wanted", "libjq_has"),
    [
        ("[first([1] as [$x] ?// $x | $x)]", [[1]], [[1, [1]]]),
        ("[label $f | [1] as [$x] ?// $x | $x, break $f]", [[1]], [[1, [1]]]),
        (
            '[([1] as [$x] ?// $x | $x) | if . == 1 then error("z") else . end]',
            None,
            [[[1]]],
        ),
        ("[path([1] as [$x] | .a)]", [[["a"]]], None),
        ("[path(reduce [0] as [$x] (.; .[$x]))]", [[[0]]], None),
    ],
)
def test_patterns_differ_from_libjqs_as_intended(program, wanted, libjq_has):
    """There a `break` and an error further on try the next pattern, and paths end at any pattern."""
    assert results_of(lambda: jq.compile(program).evaluate(None)) == wanted
    assert results_of(lambda: libjq.compile(program).input_text("null").all()) == libjq_has


def results_of(run):
    """The results, or None for an error."""
    try:
        return run()
    except (jq.EvaluationError, ValueError):
        return None


HALF = "a\ud83d"


@pytest.mark.parametrize(
    ("program", "value", "wanted"),
    [
        ("@uri", HALF, "a%EF%BF%BD"), ("@base64 | @base64d", HALF, "a\ufffd"), ("@base32 | @base32d", HALF, "a\ufffd"),
        ("@urid", HALF, "a\ufffd"), ("explode", HALF, [97, 0xFFFD]), ("utf8bytelength", HALF, 4), ("length", HALF, 2),
        ("try error(. / 1) catch .", HALF, 'string ("a\ufffd") and number (1) cannot be divided'),
        ("try keys catch .", HALF * 9, 'string ("' + "a\ufffd" * 6 + '...") has no keys'),
        ("fromjson", r'["\ud83d", "\\ud83d", "\ud83d\ude00", "\uDE00a", {"\ud83d\u0041": 1}]',
         ["\ufffd", "\\ud83d", "\U0001f600", "\ufffda", {"\ufffdA": 1}]),
    ],
)  # fmt: skip
def test_half_of_a_surrogate_pair_is_a_replacement_character(program, value, wanted):
    assert jq.compile(program).evaluate(value) == [wanted]


@pytest.mark.parametrize("program", ["@base32d", "@base64d"])
def test_text_that_is_not_ascii_is_not_encoded_data(program):
    with pytest.raises(jq.EvaluationError, match="is not valid base"):
        jq.compile(program).evaluate("é")


@pytest.mark.parametrize(
    ("program", "value", "wanted"),
    [
        ("ascii", 65, ["A"]), ("toarray", 1, [[1]]), ("toarray", [1], [[1]]), ("leaf_paths", [1], [[0]]),
        ("reverse", None, [[]]), ("reverse", {}, [[]]), ('"\\ud800x"', 0, ["\ufffdx"]), ("@base32", "x", ["PA======"]), ("@base32d", "PA======", ["x"]), ("date", 0, ["1970-01-01T00:00:00Z"]),
        ('dateadd("s"; 1)', 1, [2]), ('datesub("s"; 1)', 1, [0]), ("have_literal_numbers", 0, [True]),
        ("have_decnum", 0, [False]), ("now", 0, [12.5]), ("tojson", 1.0, ["1.0"]), ("$ENV.x, env.x", 0, [None, None]),
        ("infinite, -infinite, nan", 0, [1.7976931348623157e308, -1.7976931348623157e308, None]),
        ("[{a: nan}]", 0, [[{"a": None}]]), (". + 1", 2**53 + 1, [9007199254740992]), (".", 10**30, [10**30]),
        (". * 2", 10**400, [1.7976931348623157e308]), (". * 2", -(10**400), [-1.7976931348623157e308]),
        ("tojson", 2e-05, ["2e-05"]), ("trunc", 1e30, [1e30]), (". % 7", 1e30, [(2**63 - 1) % 7]),
        ("fromjson", '{"nanx": nan}', [{"nanx": None}]), ("fromjson", "", [None]), ("fromjson", "NaN", [None]),
        ("fromjson", "[Infinity, -Infinity]", [[1.7976931348623157e308, -1.7976931348623157e308]]),
        ("fromjson", "1e999", [1.7976931348623157e308]), ("tojson", "\x7f", ['"\\u007f"']),
        ("tojson", ["\x7f"], ['["\\u007f"]']), (".a?//1", {}, [1]), ("def f: 1;", 5, [5]), ("", 5, [5]),
        ("# c\n. # d \\\n e", 5, [5]), ("[true, null | not]", 0, [[False, True]]),
        ('[match("\\\\u0061").offset]', "a", [[0]]), ("from_entries", [{"k": "x", "v": 3}, {"name": 1}], [{"x": 3, "1": None}]), ("reverse", "abc", ["cba"]),
        ('"5" | strptime("%s")', 0, [[1970, 0, 1, 0, 0, 5, 4, 0]]), ('"Z" | strptime("%Z") | .[0]', 0, [1900]),
        ('"2000" | strptime("%C%y") | .[0]', 0, [2000]), ('[match("[[:alpha:]]").offset]', "1a", [[1]]),
        ('[match("\\\\p{^L}").offset]', "a1", [[1]]), ('[match("\\\\p{Alpha}").offset]', "1a", [[1]]),
    ],
)  # fmt: skip
def test_a_program_of_our_own_has_these_results(program, value, wanted):
    assert jq.compile(program).evaluate(value, now=12.5) == wanted


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("[{}] | from_entries", "as object key"), ("test([1])", "cannot be matched"),
        ("now", "given no instant"), ("[1e18] | mktime", "parsed datetime"), ('"!" | @base32d', "not valid base32 data"), ('"[1,2" | fromjson', "column"),
        ('test("(")', "unmatched"), ('test(")")', "unmatched"), ('test("[a")', "premature end"), ('test("*")', "target"),
        ('test("a{2,1}")', "out of order"), ('test("\\\\")', "escape"), ('test("(?q)")', "undefined group"),
        ('test("(?<1>a)")', "group name"), ('test("[b-a]")', "empty range"), ('test("[a-\\\\d]")', "empty range"),
        ('test("[[:no:]]")', "POSIX"), ('test("\\\\p{no}")', "property"), ('test("\\\\xzz")', "code point"),
        ('test("\\\\k<x>")', "undefined name"), ('test("(?:a{1,9}){9000}")', "too large"),
        ('test("(" * 60)', "too large"), ('test("(?#")', "end pattern"), ('test("[\\\\")', "escape"),
        ('match("a"; "g"; 1)', "not defined"), ("nope", "nope/0 is not defined"), ("$nope", "not given"),
        ("break $x", "not defined"), ("{", "expected"), ('"\\x"', "Invalid escape"), ('"\\u12"', "hexadecimal"),
        ('"', "not closed"), ('"\\(1"', "not closed"), ("^", "Unexpected character"), ("1 +", "a value"), ("(1", "expected"),
        ("break", "label"), ("label x | 1", "variable"), ("$", "variable"), ("def f($a: 1; 1", "expected"), ("def 1: 1; 1", "name"),
        ("def f(1): 1; 1", "parameter"), ("1 == 1 == 1", "do not chain"), ("{(1):2}", "object key"), ("{(1+1)}", "':'"),
        ("{1:2}", "a key"), (". as 1 | 1", "pattern"), ("if 1 then 2", "'end'"), ("1 2", "operator"), ('"a" | {(1|.):1}', "object key"),
    ],
)  # fmt: skip
def test_an_error_says_what_is_wrong(program, why):
    with pytest.raises(jq.JqError) as caught:
        jq.compile(program).evaluate("a")

    assert why in str(caught.value)


def test_an_error_of_the_text_has_its_place():
    with pytest.raises(jq.ProgramError) as caught:
        jq.compile(".a |\n  )")

    error = caught.value
    assert (error.position, error.line, error.column, error.expected) == (
        7,
        2,
        3,
        "a value or a path",
    )


def test_the_value_of_an_error_is_kept():
    with pytest.raises(jq.EvaluationError) as caught:
        jq.compile("error({a: 1})").evaluate(None)

    assert caught.value.value == {"a": 1}


def test_global_variables_are_given_and_may_be_checked_when_compiled():
    program = jq.compile(". + $x", variables=["x"])

    assert program.variables == {"x"}
    assert program.evaluate(1, {"x": 2}) == [3]
    assert jq.compile("path(.a[$x])").evaluate(None, {"x": 2}) == [["a", 2]]
    with pytest.raises(jq.ProgramError, match=r"\$y is not defined"):
        jq.compile("$y", variables=["x"])


def test_inputs_are_not_changed():
    value = json.loads('{"a": [1, {"b": 2}]}')
    program = jq.compile(".a[1].b = 3 | .a += [4] | del(.a[0]) | .c = 1")

    assert program.evaluate(value) == [{"a": [{"b": 3}, 4], "c": 1}]
    assert value == {"a": [1, {"b": 2}]}


def test_a_definition_hides_no_function_that_the_library_uses():
    assert jq.compile("def select(f): 7; def add: 8; [1, [2] | arrays], add(1, 2)").evaluate(0) == [
        [[2]],
        3,
    ]


def test_results_are_made_one_at_a_time():
    found = jq.compile("1, error(2)").results(None)

    assert next(found) == 1
    with pytest.raises(jq.EvaluationError):
        next(found)
    assert math.isnan(next(jq.compile("nan").results(None)))


def test_a_stack_that_ends_is_a_bound_too():
    def frame():
        raise RecursionError
        yield

    with pytest.raises(jq.BudgetError, match="inside each other"):
        list(results(frame(), jq.Budget(), {}))


@pytest.mark.parametrize("program", ["[range(100)]", ".", "range(100)", "tojson"])
def test_a_value_has_the_size_that_the_budget_allows(program):
    with pytest.raises(jq.BudgetError, match="more than 100 bytes"):
        jq.compile(program).evaluate([1] * 100, budget=jq.Budget(size=100))
