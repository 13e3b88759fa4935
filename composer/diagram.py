"""Drawings of a composition or a state machine: as DOT (Graphviz) or Mermaid, nested parts as clusters."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .drawing import Sketch, as_dot, as_mermaid
from .machine_diagram import machine_sketch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .drawing import Ends
    from .dsl.composition import Composition
    from .dsl.grammar import Task
    from .values import JSON


class _Sketch(Sketch):
    """A drawing to which the parts of a composition are added."""

    def part(self, node: Composition, ends: Ends) -> Ends:
        draw = getattr(self, f"_{node.type}", None)
        if draw is not None:
            drawn: Ends = draw(node, ends)
            return drawn
        return self.cluster(_title(node), lambda: self._sequence(node, ends))

    def _sequence(self, node: Composition, ends: Ends) -> Ends:
        for part in node.arguments.get("components", ()):
            ends = self.part(part, ends)
        return ends

    def _action(self, node: Composition, ends: Ends) -> Ends:
        return self.leaf(node.arguments["name"].removeprefix("/_/"), ends)

    def _function(self, node: Composition, ends: Ends) -> Ends:
        code = node.arguments["function"]["exec"]["code"].strip().splitlines()
        return self.leaf(f"λ {code[-1] if len(code) == 1 else code[0]}"[:60], ends)

    def _plain(self, node: Composition, ends: Ends) -> Ends:
        return self.leaf(_title(node), ends, "data")

    _literal = _select = _predicate = _assign = _wait = _raise = _dynamic = _plain

    def _test(self, node: Composition, name: str, ends: Ends) -> str:
        test = node.arguments[name]
        if test.type == "predicate":
            return self.node(_title(test), "choice", ends)
        return self.node("?", "choice", self.part(test, ends))

    def _if(self, node: Composition, ends: Ends) -> Ends:
        choice = self._test(node, "test", ends)
        yes = self.part(node.arguments["consequent"], [(choice, "yes")])
        return yes + self.part(node.arguments["alternate"], [(choice, "no")])

    _if_nosave = _if

    def _eca(self, node: Composition, ends: Ends) -> Ends:
        choice = self._test(node, "condition", ends)
        yes = self.part(node.arguments["body"], [(choice, "yes")])
        otherwise = node.arguments["otherwise"]
        return yes + (self.part(otherwise, [(choice, "no")]) if otherwise else [(choice, "no")])

    def _while(self, node: Composition, ends: Ends) -> Ends:
        choice = self._test(node, "test", ends)
        first = len(self.nodes)
        back = self.part(node.arguments["body"], [(choice, "while")])
        target = choice if node.arguments["test"].type == "predicate" else self._entry(ends, choice)
        self.edges += [(end, target, text) for end, text in back if len(self.nodes) > first]
        return [(choice, "done")]

    _while_nosave = _while

    def _entry(self, ends: Ends, choice: str) -> str:
        """The first node that was drawn after `ends`."""
        sources = {end for end, _ in ends}
        return next((to for start, to, _ in self.edges if start in sources), choice)

    def _dowhile(self, node: Composition, ends: Ends) -> Ends:
        start = self.leaf("", ends, "point")
        choice = self._test(node, "test", self.part(node.arguments["body"], start))
        self.edges.append((choice, start[0][0], "again"))
        return [(choice, "done")]

    _dowhile_nosave = _dowhile

    def _switch(self, node: Composition, ends: Ends) -> Ends:
        on = node.arguments["on"]
        choice = self.node(_title(on) if on.type == "select" else "?", "choice",
                           ends if on.type == "select" else self.part(on, ends))  # fmt: skip
        last: Ends = []
        for case in node.arguments["cases"]:
            last += self.part(case.body, [(choice, _text(case.equals))])
        default = node.arguments["default"]
        return last + (self.part(default, [(choice, "else")]) if default else [])

    def _try(self, node: Composition, ends: Ends) -> Ends:
        def draw() -> Ends:
            body = self.part(node.arguments["body"], ends)
            start = [(end, "error") for end, _ in body]
            return body + self.cluster(
                "on error", lambda: self.part(node.arguments["handler"], start)
            )

        return self.cluster(_title(node), draw)

    def _finally(self, node: Composition, ends: Ends) -> Ends:
        def draw() -> Ends:
            body = self.part(node.arguments["body"], ends)
            return self.cluster("finally", lambda: self.part(node.arguments["finalizer"], body))

        return self.cluster(_title(node), draw)

    def _parallel(self, node: Composition, ends: Ends) -> Ends:
        def draw() -> Ends:
            fork = self.leaf("", ends, "bar")
            last: Ends = []
            for part in node.arguments["components"]:
                last += self.part(part, fork)
            return self.leaf("", last or fork, "bar")

        return self.cluster(_title(node), draw)

    _race = _parallel

    def _map(self, node: Composition, ends: Ends) -> Ends:
        def draw() -> Ends:
            fork = self.leaf("", ends, "bar")
            return self.leaf("", self._sequence(node, fork), "bar")

        return self.cluster(_title(node), draw)

    def _graph(self, node: Composition, ends: Ends) -> Ends:
        def draw() -> Ends:
            fork = self.leaf("", ends, "bar")
            done: dict[str, Ends] = {}
            left = dict(node.arguments["tasks"])
            while left:
                name = next(
                    n for n, task in left.items() if all(need in done for need in task.after)
                )
                task: Task = left.pop(name)
                start = [end for need in task.after for end in done[need]] or fork
                done[name] = self.cluster(name, partial(self.part, task.body, start))
            needed = {need for task in node.arguments["tasks"].values() for need in task.after}
            return self.leaf(
                "", [e for n, last in done.items() if n not in needed for e in last], "bar"
            )

        return self.cluster(_title(node), draw)


def _title(node: Composition) -> str:
    """What a node is, in a few words."""
    title = _TITLES.get(node.type)
    return title(node.arguments) if title else node.type


def _wait_title(args: Mapping[str, Any]) -> str:
    if args["until"] is not None:
        return f"wait until {_text(args['until'].to_json())}"
    return f"wait {_text(args['seconds'].to_json())} s"


def _retry_title(args: Mapping[str, Any]) -> str:
    often = "until it succeeds" if args["count"] is None else f"{args['count']}x"
    return f"retry {often}" + (f", {args['delay']:g} s apart" if args["delay"] else "")


def _let_title(args: Mapping[str, Any]) -> str:
    return "let " + ", ".join(f"{n} = {_text(v)}" for n, v in args["declarations"].items())


_TITLES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "literal": lambda args: _text(args["value"]),
    "select": lambda args: _text(args["template"].to_json()),
    "predicate": lambda args: predicate_text(args["predicate"].to_json()),
    "assign": lambda args: "set " + ", ".join(args["values"]),
    "wait": _wait_title,
    "raise": lambda args: f"raise {args['code']}",
    "retry": _retry_title,
    "repeat": lambda args: f"repeat {args['count']}x",
    "timeout": lambda args: f"within {args['seconds']:g} s",
    "let": _let_title,
    "map": lambda args: (
        "map" + (f", {args['concurrency']} at a time" if args["concurrency"] else "")
    ),
    "forward": lambda args: "forward" + (f" into {args['into']}" if args["into"] else ""),
    "finally": lambda _: "ensure",
}


def _text(value: JSON) -> str:
    if isinstance(value, dict) and "$path" in value:
        name = value.get("$var")
        return f"{name}{value['$path'][1:]}" if name else str(value["$path"])
    if isinstance(value, dict):
        inner = ", ".join(f"{key}: {_text(member)}" for key, member in value.items())
        return _short("{" + inner + "}")
    return _short(value if isinstance(value, str) else str(value))


def _short(text: str, limit: int = 48) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


_SIGNS = {"eq": "=", "ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥"}


def predicate_text(doc: JSON) -> str:
    """A predicate's JSON, to read."""
    op = doc["op"]
    if op in _SIGNS:
        right = doc["right"]
        shown = repr(right["value"]) if "value" in right else _place(right)
        return f"{_place(doc['left'])} {_SIGNS[op]} {shown}"
    if op in ("and", "or"):
        return "(" + f" {op} ".join(predicate_text(item) for item in doc["of"]) + ")"
    if op == "not":
        return f"not {predicate_text(doc['of'])}"
    words = {"exists": "exists", "true": "is true", "is": f"is {doc.get('type')}",
             "matches": f"matches {doc.get('pattern')!r}"}  # fmt: skip
    return f"{_place(doc['of'])} {words[op]}"


def _place(doc: JSON) -> str:
    return _text({f"${key}": value for key, value in doc.items()})


# --- the two forms -----------------------------------------------------------------------------


def dot(what: Composition | str) -> str:
    """A composition, or a state machine by its text, as a DOT graph, for Graphviz."""
    return as_dot(_sketch(what))


def mermaid(what: Composition | str) -> str:
    """A composition, or a state machine by its text, as a Mermaid flowchart."""
    return as_mermaid(_sketch(what))


def _sketch(what: Composition | str) -> Sketch:
    if isinstance(what, str):
        return machine_sketch(what)
    sketch = _Sketch()
    start = sketch.leaf("start", [], "terminal")
    sketch.leaf("end", sketch.part(what, start), "terminal")
    return sketch
