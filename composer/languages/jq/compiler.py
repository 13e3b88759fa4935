"""Compiles the tree of a program to functions. Parts with exactly one result are plain functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast, get_args

from . import frames, tree
from .bindings import names_of, with_variables
from .code import Code, charged, multiple, on_value, outside, product, single
from .definitions import INLINE, LIBRARY, PRELUDE, REFUSED
from .destructuring import Taking, destructured, folded_apart, stepped
from .errors import EvaluationError, ProgramError
from .formats import FORMATS, formatted
from .library import FUNCTIONS
from .operators import BINARY, alternative, negated
from .paths import (
    checked_path,
    getpath,
    index,
    index_thing,
    members,
    path_of,
    thing_members,
)  # fmt: skip
from .scopes import Defined, Scope
from .updates import assigned, listed, modified, updated
from .values import concatenated, kind, quoted

if TYPE_CHECKING:
    from .budget import Budget
    from .machine import Env, Frame, Run

CHARGED = 4  # parts with one result that run in the time of one step
SPECIAL: Final = {("empty", 0), ("path", 1), ("getpath", 1), ("recurse", 1), ("repeat", 1)} | {
    ("while", 2), ("until", 2), ("first", 1), ("last", 1), ("_limit", 2), ("_range", 1),
}  # fmt: skip
_OF_ONE: Final[dict[str, Callable[[Code], Code]]] = {
    "recurse": frames.unfolded, "repeat": frames.repeated, "first": frames.first, "last": frames.last,
}  # fmt: skip

Method: TypeAlias = Callable[["Compiler", Any, Scope, bool], Code]


def _now(_: Any, env: Env) -> Any:
    if env[1].now is None:
        raise EvaluationError("now is not available: the evaluation was given no instant")
    return env[1].now


PLAIN: Final[dict[tuple[str, int], Run]] = {
    ("now", 0): _now, ("builtins", 0): lambda _, __: list(NAMES),
}  # fmt: skip
NAMES: Final[list[str]] = [
    f"{name}/{arity}"
    for name, arity in sorted({*PLAIN, *SPECIAL, *INLINE, *FUNCTIONS, *PRELUDE})
    if not name.startswith("_")
]


class Lazy:
    """An argument or the body of a function, compiled when it runs: for values, or for paths."""

    __slots__ = ("_codes", "_compiler", "_scope", "_tree")

    def __init__(self, compiler: Compiler, part: tree.Tree, scope: Scope) -> None:
        self._compiler, self._tree, self._scope = compiler, part, scope
        self._codes: list[Run | None] = [None, None]

    def many(self, paths: bool) -> Run:
        run = self._codes[paths]
        if run is None:
            run = self._codes[paths] = self._compiler.late(self._tree, self._scope, paths).many
        return run


class Compiler:
    """Compiles one program. `variables` are the global ones that it uses, in order of appearance."""

    def __init__(self, source: str, known: frozenset[str] | None = None) -> None:
        self.source = source
        self.known = known
        self.variables: dict[str, int] = {}
        self._bodies: dict[tuple[int, int], Lazy] = {}
        self._parts = 0
        self._hidden = 0
        self._prelude: dict[tuple[str, int], Defined] = {}

    def part(self, node: tree.Tree, scope: Scope, paths: bool = False) -> Code:
        """Compiles a part: for values, or (`paths`) for pairs of a path and a value.

        Raises:
            ProgramError: the part names something that is not defined.
        """
        code = _METHODS[type(node)](self, node, scope, paths)
        if not code.single:
            return code
        self._parts += 1
        if self._parts < CHARGED:
            return code
        self._parts = 0
        return charged(code)

    def late(self, node: tree.Tree, scope: Scope, paths: bool) -> Code:
        """A part that is compiled when it runs: its steps do not depend on what was compiled before."""
        self._parts = 0
        return self.part(node, scope, paths)

    def value(self, node: tree.Tree, scope: Scope, paths: bool) -> Code:
        """The code of a part that reads the value, wherever it stands."""
        code = self.part(node, scope)
        return on_value(code) if paths else code

    def _made(self, code: Code, paths: bool) -> Code:
        """A part whose result is made, not found in the input."""
        return outside(code) if paths else code

    # --- values and paths ------------------------------------------------------------------------

    def _identity(self, _: tree.Identity, __: Scope, ___: bool) -> Code:
        return single(lambda value, _: value)

    def _literal(self, node: tree.Literal, _: Scope, paths: bool) -> Code:
        value = node.value
        return self._made(single(lambda _, __: value), paths)

    def _text(self, node: tree.Text, scope: Scope, paths: bool) -> Code:
        form = self._form(node.format)
        parts = [part for part in node.parts if not isinstance(part, str)]

        def combine(budget: Budget, _: Any, values: list[Any]) -> str:
            left = iter(values)
            texts = [
                part if isinstance(part, str) else form(budget, next(left)) for part in node.parts
            ]
            budget.spend(1 + len(texts) // 2)
            return concatenated(texts, budget)

        return self._made(product([self.part(part, scope) for part in parts], combine), paths)

    def _format(self, node: tree.Format, _: Scope, paths: bool) -> Code:
        form = self._form(node.name)
        return self._made(charged(single(lambda value, env: form(env[0], value))), paths)

    def _form(self, name: str) -> Callable[[Budget, Any], str]:
        if name[1:] in FORMATS:
            return FORMATS[name[1:]]
        return lambda budget, value: formatted(budget, value, name[1:])

    def _index(self, node: tree.Index, scope: Scope, paths: bool) -> Code:
        target = self.part(node.target, scope, paths)
        if not paths and target.single and isinstance(node.key, tree.Literal):
            return single(_field(target.run, node.key.value))
        found = index_thing if paths else index
        return product(
            [target, self.value(node.key, scope, paths)],
            lambda budget, _, values: found(values[0], values[1], budget),
        )

    def _slice(self, node: tree.Slice, scope: Scope, paths: bool) -> Code:
        found = index_thing if paths else index
        nothing = tree.Literal(None)
        codes = [
            self.part(node.target, scope, paths),
            self.value(node.high or nothing, scope, paths),
            self.value(node.low or nothing, scope, paths),
        ]
        return product(
            codes,
            lambda budget, _, values: found(
                values[0], {"start": values[2], "end": values[1]}, budget
            ),
        )

    def _iterate(self, node: tree.Iterate, scope: Scope, paths: bool) -> Code:
        return frames.each(
            thing_members if paths else members, self.part(node.target, scope, paths)
        )

    def _array(self, node: tree.Array, scope: Scope, paths: bool) -> Code:
        if node.body is None:
            return self._literal(tree.Literal([]), scope, paths)
        items = node.body.items if isinstance(node.body, tree.Comma) else (node.body,)
        codes = [self.part(item, scope) for item in items]
        if all(code.single for code in codes):
            return self._made(product(codes, lambda _, __, values: list(values)), paths)
        return self._made(frames.collected(frames.sequence(codes)), paths)

    def _object(self, node: tree.Object, scope: Scope, paths: bool) -> Code:
        entries = [part for entry in node.entries for part in entry]
        same = [key is getattr(value, "key", None) for key, value in node.entries]
        codes = [
            self.part(tree.Literal(None) if at % 2 and same[at // 2] else part, scope)
            for at, part in enumerate(entries)
        ]

        def combine(budget: Budget, value: Any, values: list[Any]) -> dict[str, Any]:
            made = {}
            for at in range(0, len(values), 2):
                key = values[at]
                if type(key) is not str:
                    raise EvaluationError(f"Cannot use {kind(key)} ({quoted(key)}) as object key")
                budget.compared(len(key), len(key))
                made[key] = index(value, key, budget) if same[at // 2] else values[at + 1]
            budget.spend(len(made) // 2)
            return made

        return self._made(product(codes, combine, first_outermost=True), paths)

    # --- operators -------------------------------------------------------------------------------

    def _negate(self, node: tree.Negate, scope: Scope, paths: bool) -> Code:
        code = product([self.part(node.body, scope)], lambda _, __, values: negated(values[0]))
        return self._made(code, paths)

    def _pipe(self, node: tree.Pipe, scope: Scope, paths: bool) -> Code:
        return frames.piped(self.part(node.left, scope, paths), self.part(node.right, scope, paths))

    def _comma(self, node: tree.Comma, scope: Scope, paths: bool) -> Code:
        return frames.sequence([self.part(item, scope, paths) for item in node.items])

    def _binary(self, node: tree.Binary, scope: Scope, paths: bool) -> Code:
        operator = BINARY[node.sign]
        left, right = self.part(node.left, scope), self.part(node.right, scope)
        if left.single and right.single:
            one, other = left.run, right.run
            return self._made(
                single(lambda value, env: operator(one(value, env), other(value, env), env[0])),
                paths,
            )
        code = product(
            [left, right], lambda budget, _, values: operator(values[0], values[1], budget)
        )
        return self._made(code, paths)

    def _logic(self, node: tree.Logic, scope: Scope, paths: bool) -> Code:
        code = frames.logic(node.sign, self.part(node.left, scope), self.part(node.right, scope))
        return self._made(code, paths)

    def _alternative(self, node: tree.Alternative, scope: Scope, paths: bool) -> Code:
        left, right = self.part(node.left, scope, paths), self.part(node.right, scope, paths)
        return frames.either(left, right, _second if paths else _itself)

    def _update(self, node: tree.Update, scope: Scope, paths: bool) -> Code:
        where = self.part(node.left, scope, paths=True).many
        right = self.part(node.right, scope)
        if node.sign == "|=":
            return self._made(multiple(modified(where, right.many)), paths)
        name = node.sign[:-1]
        operator = alternative if name == "//" else BINARY[name] if name else assigned
        return self._made(multiple(updated(where, right.many, operator)), paths)

    def _if(self, node: tree.If, scope: Scope, paths: bool) -> Code:
        return frames.chosen(
            self.value(node.condition, scope, paths),
            self.part(node.body, scope, paths),
            self.part(node.otherwise, scope, paths),
        )

    def _try(self, node: tree.Try, scope: Scope, paths: bool) -> Code:
        handler = self.part(node.handler, scope, paths) if node.handler else None
        return frames.attempted(
            self.part(node.body, scope, paths), handler, _outer if paths else _itself
        )

    # --- names -----------------------------------------------------------------------------------

    def _bind(self, node: tree.Bind, scope: Scope, paths: bool) -> Code:
        taking, inner = self._taking(node, scope, paths)
        body = self.part(node.body, inner, paths)
        if len(taking.ways) > 1:
            return destructured(taking, body)
        return frames.bound(taking.items, body, taking.bind)

    def _taking(
        self, node: tree.Bind | tree.Fold, scope: Scope, paths: bool
    ) -> tuple[Taking, Scope]:
        """`source as pattern ?// pattern`, and the scope with the variables of all patterns."""
        source, first = self.value(node.source, scope, paths), node.patterns[0]
        if len(node.patterns) == 1 and isinstance(first, tree.VariablePattern):
            return Taking(source), scope.bound("variable", first.name)
        hidden = self._hide()
        names = list(dict.fromkeys(name for pattern in node.patterns for name in names_of(pattern)))
        given = tree.Array(tree.Comma(tuple(tree.Variable(name, 0) for name in names)))
        ways = []
        for pattern in node.patterns:
            way = self._taken(tree.Variable(hidden, 0), pattern, given)
            for name in names if len(node.patterns) > 1 else ():
                way = tree.Bind(tree.Literal(None), (tree.VariablePattern(name),), way)
            ways.append(self.value(way, scope.bound("variable", hidden), paths))
        for name in names:
            scope = scope.bound("variable", name)
        return Taking(source, tuple(ways)), scope

    def _hide(self) -> str:
        self._hidden += 1
        return f"*{self._hidden}"

    def _taken(self, source: tree.Tree, pattern: tree.Pattern, body: tree.Tree) -> tree.Tree:
        """A pattern as bindings of one variable each, around the body."""
        if isinstance(pattern, tree.VariablePattern):
            return tree.Bind(source, (pattern,), body)
        if isinstance(pattern, tree.ArrayPattern):
            for at, item in reversed(list(enumerate(pattern.items))):
                body = self._taken(tree.Index(source, tree.Literal(at)), item, body)
            return body
        for name, key, inner in reversed(pattern.entries):
            whole = self._hide()
            found = tree.Index(source, tree.Variable(whole, 0))
            if inner is not None:
                body = self._taken(found, inner, body)
            if name is not None:
                body = tree.Bind(found, (tree.VariablePattern(name),), body)
            body = tree.Bind(tree.Pipe(source, key), (tree.VariablePattern(whole),), body)
        return body

    def _fold(self, node: tree.Fold, scope: Scope, paths: bool) -> Code:
        several, place = len(node.patterns) > 1, scope.size
        around = scope.bound("variable", self._hide()) if several else scope
        taking, inner = self._taking(node, around, paths)
        start = self.part(node.start, scope, paths)
        update = self.part(node.update, inner, paths)
        extract = self.part(node.extract, inner, paths) if node.extract else None
        nothing = (None, None) if paths else None
        if several:
            steps = destructured(taking, stepped(place, update, extract, nothing))
            return folded_apart(start, steps, tell=extract is None)
        if extract is None:
            return frames.reduced(taking.items, start, update, nothing, taking.bind)
        return frames.folded(taking.items, start, update, extract, taking.bind)

    def _define(self, node: tree.Define, scope: Scope, paths: bool) -> Code:
        inner = scope.defined(with_variables(node.function))
        found = inner.find("function", node.function.name, len(node.function.parameters))
        function = cast("Defined", found).function
        self.part(function.body, inner.inside(function))  # all names are defined
        return self.part(node.body, inner, paths)

    def _variable(self, node: tree.Variable, scope: Scope, paths: bool) -> Code:
        name = node.name
        place = scope.find("variable", name)
        if isinstance(place, int):
            at = place
            return self._made(single(lambda _, env: env[at]), paths)
        if name == "ENV":
            return self._made(single(lambda _, __: {}), paths)
        if name == "__prog_args" or (self.known is not None and name not in self.known):
            raise ProgramError(f"${name} is not defined", self.source, node.at)
        self.variables.setdefault(name, node.at)
        return self._made(single(lambda _, env: env[1].given[name]), paths)

    def _label(self, node: tree.Label, scope: Scope, paths: bool) -> Code:
        return frames.labelled(self.part(node.body, scope.bound("label", node.name), paths))

    def _break(self, node: tree.Break, scope: Scope, _: bool) -> Code:
        place = scope.find("label", node.name)
        if not isinstance(place, int):
            raise ProgramError(f"$*label-{node.name} is not defined", self.source, node.at)
        return frames.broken(place)

    # --- calls -----------------------------------------------------------------------------------

    def _call(self, node: tree.Call, scope: Scope, paths: bool) -> Code:
        found = scope.find("function", node.name, len(node.arguments))
        if isinstance(found, int):
            return multiple(_parameter(found, paths))
        if isinstance(found, Defined):
            return self._called(found, node, scope, paths)
        return self._builtin(replace(node, name=node.name.removeprefix(LIBRARY)), scope, paths)

    def _builtin(self, node: tree.Call, scope: Scope, paths: bool) -> Code:
        name = node.name
        key = (name, len(node.arguments))
        if key in PLAIN:
            return self._made(single(PLAIN[key]), paths)
        if key in SPECIAL:
            return self._special(node, scope, paths)
        if key in INLINE:
            return self.part(INLINE[key](node.arguments), scope, paths)
        if key in FUNCTIONS:
            return self._made(self._function(FUNCTIONS[key], node, scope), paths)
        if key in PRELUDE:
            if key not in self._prelude:
                function = with_variables(PRELUDE[key])
                self._prelude[key] = Defined(function, Scope().defined(function))
            return self._called(self._prelude[key], node, scope, paths)
        why = f"{name}/{len(node.arguments)} is not "
        why += f"available: {REFUSED[name]}" if name in REFUSED else "defined"
        raise ProgramError(why, self.source, node.at)

    def _function(self, function: Any, node: tree.Call, scope: Scope) -> Code:
        codes = [self.part(argument, scope) for argument in node.arguments]
        if not codes:
            return charged(single(lambda value, env: function(env[0], value)))
        return charged(
            product(codes, lambda budget, value, values: function(budget, value, *values))
        )

    def _called(self, found: Defined, node: tree.Call, scope: Scope, paths: bool) -> Code:
        key = (id(found.function), id(found.scope))
        if key not in self._bodies:
            inner = found.scope.inside(found.function)
            self._bodies[key] = Lazy(self, found.function.body, inner)
        body, size = self._bodies[key], found.scope.size
        given: list[int | Lazy] = []
        for argument in node.arguments:
            passed = None
            if isinstance(argument, tree.Call) and not argument.arguments:
                passed = scope.find("function", argument.name)
            if isinstance(passed, int):
                given.append(passed)
            else:
                self.part(argument, scope)
                given.append(Lazy(self, argument, scope))

        def frame(value: Any, env: Env) -> Frame:
            env[0].spend(2)
            closures = (env[part] if isinstance(part, int) else (part, env) for part in given)
            return body.many(paths)(value, (*env[:size], *closures))
            yield

        return multiple(frame)

    def _special(self, node: tree.Call, scope: Scope, paths: bool) -> Code:
        name = node.name
        if name == "empty":
            return multiple(frames.no_results)
        if name in ("path", "getpath", "_range"):
            return self._pathwise(node, scope, paths)
        if len(node.arguments) == 1:
            return _OF_ONE[name](self.part(node.arguments[0], scope, paths))
        tested = self.value(node.arguments[0], scope, paths)
        body = self.part(node.arguments[1], scope, paths)
        if name == "while":
            return frames.unfolded(body, tested)
        return (frames.until if name == "until" else frames.limited)(tested, body)

    def _pathwise(self, node: tree.Call, scope: Scope, paths: bool) -> Code:
        argument = node.arguments[0]
        if node.name == "_range":
            return self._made(frames.ranged(self.part(argument, scope)), paths)
        if node.name == "path":
            return self._made(listed(self.part(argument, scope, paths=True)), paths)
        code = self.value(argument, scope, paths)
        if paths:
            return product([code], _thing_at)
        return product(
            [code], lambda budget, value, values: getpath(value, checked_path(values[0]), budget)
        )


def _itself(value: Any) -> Any:
    return value


def _second(thing: Any) -> Any:
    return thing[1]


def _outer(value: Any) -> Any:
    return None, value


def _thing_at(budget: Budget, thing: Any, values: list[Any]) -> Any:
    path = checked_path(values[0])
    return (*path_of(thing), *path), getpath(thing[1], path, budget)


def _field(target: Run, key: Any) -> Run:
    if not isinstance(key, str):
        return lambda value, env: index(target(value, env), key, env[0])

    def field(value: Any, env: Env) -> Any:
        found = target(value, env)
        return found.get(key) if type(found) is dict else index(found, key, env[0])

    return field


def _parameter(place: int, paths: bool) -> Run:
    def frame(value: Any, env: Env) -> Frame:
        env[0].spend(1)
        closure, inside = env[place]
        return closure.many(paths)(value, inside)
        yield

    return frame


_METHODS: Final[dict[type, Method]] = {
    part: getattr(Compiler, f"_{part.__name__.lower()}") for part in get_args(tree.Tree)
}
