"""Functions of the library that are written in jq."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from . import tree
from .parser import Parser

if TYPE_CHECKING:
    from collections.abc import Callable

LIBRARY: Final = "%"  # before the name of a function that no definition of a program hides
_SHORT: Final = r"""
def map(f): [.[] | f];
def map_values(f): .[] |= f;
def select(f): if f then . else empty end;
def recurse: recurse(.[]?);
def recurse(f; cond): recurse(f | select(cond));
def error(msg): msg | error;
def with_entries(f): to_entries | map(f) | from_entries;
def sort_by(f): _sort_by(map([f]));
def group_by(f): _group_by(map([f]));
def unique_by(f): _unique_by(map([f]));
def min_by(f): _min_by(map([f]));
def max_by(f): _max_by(map([f]));
def del(f): delpaths([path(f)]);
def paths: path(recurse) | select(length > 0);
def paths(f): path(recurse | select(f)) | select(length > 0);
def range(upto): _range(_span(0; upto; 1));
def first: .[0];
def last: .[-1];
def nth(n): .[n];
def isempty(g): first((g | false), true);
def any(generator; condition): isempty(first(generator | condition | select(.))) | not;
def all(generator; condition): isempty(first(generator | condition | select(not)));
def any(condition): any(.[]; condition);
def all(condition): all(.[]; condition);
def any: any(.[]; .);
def all: all(.[]; .);
def arrays: select(type == "array");
def objects: select(type == "object");
def iterables: select(type | . == "array" or . == "object");
def booleans: select(type == "boolean");
def numbers: select(type == "number");
def normals: select(isnormal);
def finites: select(isfinite);
def strings: select(type == "string");
def nulls: select(. == null);
def values: select(. != null);
def scalars: select(type | . != "array" and . != "object");
def debug: .;
def stderr: .;
def debug(msgs): (msgs | empty), .;
def env: {};
def add(f): [f] | add;
def match(re): _match(re; null; false) | .[];
def match(re; flags): _match(re; flags; false) | .[];
def test(re): _match(re; null; true);
def test(re; flags): _match(re; flags; true);
def capture(re): match(re) | _captured;
def capture(re; flags): match(re; flags) | _captured;
def tostream: _stream[];
"""
_LONG: Final = r"""
def range($from; $upto): _range(_span($from; $upto; 1));
def range($from; $upto; $by): _range(_span($from; $upto; $by));
def limit($n; f): if $n > 0 then _limit($n; f) elif $n == 0 then empty
  else error("limit doesn't support negative count") end;
def skip($n; f): if $n > 0 then foreach f as $item ($n; . - 1; if . < 0 then $item else empty end)
  elif $n == 0 then f else error("skip doesn't support negative count") end;
def nth($n; f): if $n < 0 then error("nth doesn't support negative indices") else first(skip($n; f)) end;
def combinations: if length == 0 then [] else .[0][] as $x | (.[1:] | combinations) as $y | [$x] + $y end;
def combinations(n): . as $dot | [range(n) | $dot] | combinations;
def in(xs): . as $x | xs | has($x);
def inside(xs): . as $x | xs | contains($x);
def walk(f): def w: if type == "object" then map_values(w) elif type == "array" then map(w) else . end | f; w;
def pick(paths): . as $in | reduce path(paths) as $p (null; setpath($p; $in | getpath($p)));
def dateadd(u; $n): . + $n;
def datesub(u; $n): . - $n;
def scan($re; $flags): match($re; "g" + $flags)
  | if (.captures | length) > 0 then [.captures[].string] else .string end;
def scan($re): scan($re; null);
def splits($re; $flags): _split($re; $flags + "g") | .[];
def splits($re): splits($re; null);
def split($re; $flags): _split($re; $flags + "g");
def sub($re; f; $flags): . as $in
  | [match($re; $flags) | [.offset, .length, [_captured | f]]] as $edits | _spliced($edits) | .[];
def sub($re; f): sub($re; f; "");
def gsub($re; f; $flags): sub($re; f; $flags + "g");
def gsub($re; f): sub($re; f; "g");
def truncate_stream(f): . as $n | null | f | . as $input
  | if (.[0] | length) > $n then setpath([0]; $input[0][$n:]) else empty end;
def fromstream(f): {x: null, e: false} as $init
  | foreach f as $i ($init;
      if .e then $init else . end
      | if $i | length == 2
        then setpath(["e"]; $i[0] | length == 0) | setpath(["x"] + $i[0]; $i[1])
        else setpath(["e"]; $i[0] | length == 1) end;
      if .e then .x else empty end);
def INDEX(stream; f): reduce stream as $row ({}; .[$row | f | tostring] = $row);
def INDEX(f): INDEX(.[]; f);
def JOIN($index; f): [.[] | [., $index[f]]];
def JOIN($index; stream; f): stream | [., $index[f]];
def JOIN($index; stream; f; join): stream | [., $index[f]] | join;
def IN(s): any(s == .; .);
def IN(source; s): any(source == s; .);
def ascii: [.] | implode;
def fromdateiso8601: strptime("%Y-%m-%dT%H:%M:%SZ") | mktime;
def todateiso8601: strftime("%Y-%m-%dT%H:%M:%SZ");
def fromdate: fromdateiso8601;
def todate: todateiso8601;
def date: todate;
def leaf_paths: paths(scalars);
def toarray: if type == "array" then . else [.] end;
"""
_NO_INPUT: Final = "an expression has one input, which is `.`"
REFUSED: Final = {
    "input": _NO_INPUT,
    "inputs": _NO_INPUT,
    "input_filename": _NO_INPUT,
    "input_line_number": _NO_INPUT,
    "modulemeta": "there are no modules",
    "get_search_list": "there are no modules",
    "halt": "an expression cannot end the program around it: use error or empty",
    "halt_error": "an expression cannot end the program around it: use error",
    "get_prog_origin": "there are no modules",
    "get_jq_origin": "there are no modules",
}


def _by_name(text: str) -> dict[tuple[str, int], tree.Function]:
    functions = Parser(text).definitions()
    return {(function.name, len(function.parameters)): function for function in functions}


def _inlined(function: tree.Function) -> Callable[[tuple[tree.Tree, ...]], tree.Tree]:
    """Puts arguments in the place of the parameters: the body of a short function binds no names."""

    def body(arguments: tuple[tree.Tree, ...]) -> tree.Tree:
        given = dict(zip(function.parameters, arguments, strict=True))
        found: tree.Tree = _replaced(function.body, given)
        return found

    return body


def _replaced(part: Any, given: dict[str, tree.Tree]) -> Any:
    if isinstance(part, tree.Call) and not part.arguments and part.name in given:
        return given[part.name]
    if isinstance(part, tree.Call):  # of the library, whatever the program calls by that name
        arguments = tuple(_replaced(argument, given) for argument in part.arguments)
        return tree.Call(LIBRARY + part.name, arguments, part.at)
    if isinstance(part, tuple):
        return tuple(_replaced(member, given) for member in part)
    if is_dataclass(part) and not isinstance(part, type):
        changes = {f.name: _replaced(getattr(part, f.name), given) for f in fields(part)}
        return replace(part, **changes)
    return part


INLINE: Final = {key: _inlined(function) for key, function in _by_name(_SHORT).items()}
PRELUDE: Final = _by_name(_LONG)
