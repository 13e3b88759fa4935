"""One evaluation: its functions, its frames, and its budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .arrays import clone
from .bounds import MAX_DEPTH, MAX_STEPS, TOO_DEEP, Budget, QueryError
from .functions import FUNCTIONS
from .library import JList, Node
from .messages import fault
from .numbers import exact
from .operators import Operators
from .signatures import checked, signature
from .texts import string
from .values import Lambda, Native, is_function, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .regexes import Regex

NOTHING: Final = object()
TRANSFORMED: Final = signature("<(oa):o>")
BLANK: Final = object()  # a `?` among the arguments of a partial application


class Silent:
    """The parser that the library's evaluation expects; the library only asks it if it may print."""

    dbg = False


class Frame:
    """Variables, and the frame around it."""

    __slots__ = ("bindings", "is_parallel_call", "parent")

    def __init__(self, parent: Frame | None, bindings: Mapping[str, Any] | None = None) -> None:
        self.parent = parent
        self.bindings = {} if bindings is None else bindings

    def bind(self, name: str, value: Any) -> None:
        self.bindings[name] = value  # type: ignore[index]  # only the outermost is shared

    def lookup(self, name: str) -> Any:
        frame: Frame | None = self
        while frame is not None:
            if name in frame.bindings:
                return frame.bindings[name]
            frame = frame.parent
        return None


class Evaluator(Operators):
    """Evaluates one tree, once. The library's own state of threads is not used."""

    parser = Silent

    def __init__(
        self,
        chance: Callable[[], float],
        now_ms: int,
        steps: int = MAX_STEPS,
        at_once: int | None = None,
    ) -> None:
        self.chance = chance
        self.now_ms = now_ms
        self.budget = Budget(steps, at_once)
        self.depth = 0

    def run(self, tree: Node, variables: dict[str, Any]) -> Any:
        """The tree's value, with None for undefined."""
        return self.eval(tree, None, Frame(Frame(None, FUNCTIONS), variables))

    def eval(self, expr: Node, input: Any, environment: Any) -> Any:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise QueryError(None, TOO_DEEP)
        self.budget.spend(1)
        kind = expr.type
        result = HANDLERS[kind](self, expr, input, environment)
        if expr.predicate is not None:
            for item in expr.predicate:
                result = self.evaluate_filter(item.expr, result, environment)
        if kind != "path" and expr.group is not None:
            result = self.evaluate_group_expression(expr.group, result, environment)
        self.depth -= 1
        if type(result) is JList and result.sequence and not result.tuple_stream:
            return self._single(expr, result)
        return result

    def _single(self, expr: Node, result: Any) -> Any:
        """A sequence of one member is that member; an empty sequence is undefined."""
        self.budget.members(len(result))
        if expr.keep_array:
            result.keep_singleton = True
        if len(result) > 1:
            return result
        return (result if result.keep_singleton else result[0]) if result else None

    def create_frame(self, enclosing_environment: Any = None) -> Frame:
        return Frame(enclosing_environment)

    def evaluate_variable(self, expr: Node, input: Any, environment: Any) -> Any:
        return input if expr.value == "" else environment.lookup(expr.value)

    def evaluate_lambda(self, expr: Node, input: Any, environment: Any) -> Lambda:
        return Lambda(expr, input, environment)

    def evaluate_regex(self, expr: Node) -> Native:
        return Native(
            None, 2, lambda _evaluator, text=None, at=0, *_more: self._find(expr.value, text, at)
        )

    def _find(self, regex: Regex, text: Any, at: int) -> Any:
        """A match as an object, whose `next` finds the next one."""
        text = string(self, text) or ""
        match = regex.find(text, int(at), self.budget)
        if match is None:
            return None

        def following(_evaluator: Evaluator, *_given: Any) -> Any:
            if match.end >= len(text):
                return None
            found = self._find(regex, text, match.end)
            if found is not None and not found["match"]:
                raise fault("D1004")
            return found

        return {
            "match": match.text, "start": match.start, "end": match.end,
            "groups": list(match.groups), "next": Native(None, 0, following),
        }  # fmt: skip

    def evaluate_function(
        self, expr: Node, input: Any, environment: Any, applyto_context: Any = NOTHING
    ) -> Any:
        called = expr.procedure
        function = self.eval(called, input, environment)
        name = called.steps[0].value if called.type == "path" else called.value
        if function is None and called.type == "path" and environment.lookup(name) is not None:
            raise fault("T1005", name)
        arguments = [] if applyto_context is NOTHING else [applyto_context]
        arguments += [self.eval(item, input, environment) for item in expr.arguments]
        if type(function) is Lambda and called.type == "variable":
            function.name = name
        return self.apply(function, arguments, input, environment)

    def call(self, function: Any, arguments: list[Any]) -> Any:
        """Calls a function that one of our functions was given."""
        return self.apply(function, arguments, None, None)

    def apply(self, proc: Any, args: Any, input: Any, environment: Any) -> Any:  # noqa: ARG002 - the library calls it so
        result = self._applied(proc, args, input)
        while type(result) is Lambda and result.thunk:  # a call in the last place: no level deeper
            code, focus, frame = result.body, result.focus, result.environment
            function = self.eval(code.procedure, focus, frame)
            arguments = [self.eval(item, focus, frame) for item in code.arguments]
            result = self._applied(function, arguments, input)
        return result

    def _applied(self, function: Any, arguments: list[Any], focus: Any) -> Any:
        if not is_function(function):
            raise fault("T1006")
        if function.signature is not None:
            arguments = checked(function.signature, arguments, focus, function.name, self.budget)
        if type(function) is Native:
            self.budget.spend(function.steps(arguments))
            return function.run(self, *arguments)
        frame = Frame(function.environment)
        for at, name in enumerate(function.arguments):
            frame.bind(name.value, arguments[at] if at < len(arguments) else None)
        return self.eval(function.body, function.focus, frame)

    def evaluate_partial_application(self, expr: Node, input: Any, environment: Any) -> Native:
        arguments = [
            BLANK if item.type == "operator" else self.eval(item, input, environment)
            for item in expr.arguments
        ]
        function = self.eval(expr.procedure, input, environment)
        if not is_function(function):
            raise fault("T1008")

        def rest(evaluator: Evaluator, *given: Any) -> Any:
            left = iter(given)
            filled = [next(left, None) if item is BLANK else item for item in arguments]
            return evaluator.call(function, filled)

        return Native(None, arguments.count(BLANK), rest)

    def evaluate_apply_expression(self, expr: Node, input: Any, environment: Any) -> Any:
        value = self.eval(expr.lhs, input, environment)
        if expr.rhs.type == "function":
            return self.evaluate_function(expr.rhs, input, environment, value)
        function = self.eval(expr.rhs, input, environment)
        if not is_function(function):
            raise fault("T2006")
        if not is_function(value):
            return self.call(function, [value])
        return Native(
            None,
            1,
            lambda evaluator, item=None, *_more: evaluator.call(
                function, [evaluator.call(value, [item])]
            ),
        )

    def evaluate_transform_expression(self, expr: Node, _input: Any, environment: Any) -> Native:
        def transformed(evaluator: Evaluator, value: Any) -> Any:
            if value is None:
                return None
            made = clone(evaluator, value)
            found = evaluator.eval(expr.pattern, made, environment)
            for match in [] if found is None else listed(found):
                evaluator._transform(expr, match, environment)
            return made

        return Native(None, 1, transformed, TRANSFORMED)

    def _transform(self, expr: Node, match: Any, environment: Any) -> None:
        update = self.eval(expr.update, match, environment)
        if update is not None and not isinstance(update, dict):
            raise fault("T2011", update)
        gone = None if expr.delete is None else self.eval(expr.delete, match, environment)
        names = [] if gone is None else listed(gone)
        if not all(isinstance(name, str) for name in names):
            raise fault("T2012", gone)
        if isinstance(match, dict):
            match.update(update or {})
            for name in names:
                match.pop(name, None)


def _nullary(work: Callable[..., Any]) -> Callable[..., Any]:
    return lambda evaluator, expr, _input, _environment: work(evaluator, expr)


def _unary(work: Callable[..., Any]) -> Callable[..., Any]:
    return lambda evaluator, expr, focus, _environment: work(evaluator, expr, focus)


HANDLERS: Final[dict[str, Callable[..., Any]]] = {
    "apply": Evaluator.evaluate_apply_expression,
    "binary": Evaluator.evaluate_binary,
    "bind": Evaluator.evaluate_bind_expression,
    "block": Evaluator.evaluate_block,
    "condition": Evaluator.evaluate_condition,
    "descendant": _unary(Evaluator.evaluate_descendants),
    "function": Evaluator.evaluate_function,
    "lambda": Evaluator.evaluate_lambda,
    "name": Evaluator.evaluate_name,
    "number": _nullary(lambda _evaluator, expr: exact(expr.value)),
    "parent": lambda _evaluator, expr, _input, environment: environment.lookup(expr.slot.label),
    "partial": Evaluator.evaluate_partial_application,
    "path": Evaluator.evaluate_path,
    "regex": _nullary(Evaluator.evaluate_regex),
    "string": _nullary(Evaluator.evaluate_literal),
    "transform": Evaluator.evaluate_transform_expression,
    "unary": Evaluator.evaluate_unary,
    "value": _nullary(Evaluator.evaluate_literal),
    "variable": Evaluator.evaluate_variable,
    "wildcard": _unary(Evaluator.evaluate_wildcard),
}
