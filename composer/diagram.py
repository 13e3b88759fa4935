"""Drawings of a composition: as DOT (Graphviz) or Mermaid, nested parts as clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .composition import Composition
    from .grammar import Task
    from .values import JSON


@dataclass(slots=True)
class _Cluster:
    id: str
    label: str
    members: list[str | _Cluster] = field(default_factory=list)


@dataclass(slots=True)
class _Node:
    id: str
    label: str
    shape: str


Ends: TypeAlias = "list[tuple[str, str]]"
"""Where the next part is to be joined on: nodes, each with the label of the edge that leaves it."""


class _Sketch:
    """Nodes, edges and clusters, in the order in which they were drawn."""

    def __init__(self) -> None:
        self.nodes: dict[str, _Node] = {}
        self.edges: list[tuple[str, str, str]] = []
        self.root = _Cluster("root", "")
        self._stack = [self.root]

    def node(self, label: str, shape: str, ends: Ends) -> str:
        node = _Node(f"n{len(self.nodes)}", label, shape)
        self.nodes[node.id] = node
        self._stack[-1].members.append(node.id)
        self.edges += [(end, node.id, text) for end, text in ends]
        return node.id

    def leaf(self, label: str, ends: Ends, shape: str = "step") -> Ends:
        return [(self.node(label, shape, ends), "")]

    def cluster(self, label: str, draw: Callable[[], Ends]) -> Ends:
        cluster = _Cluster(f"c{len(self.nodes)}_{len(self._stack)}", label)
        self._stack[-1].members.append(cluster)
        self._stack.append(cluster)
        ends = draw()
        self._stack.pop()
        return ends

    # --- parts -------------------------------------------------------------------------------

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


def _sketch(composition: Composition) -> _Sketch:
    sketch = _Sketch()
    start = sketch.leaf("start", [], "terminal")
    sketch.leaf("end", sketch.part(composition, start), "terminal")
    return sketch


_DOT_SHAPES = {
    "step": "shape=box, style=rounded",
    "data": "shape=note",
    "choice": "shape=diamond",
    "bar": "shape=box, style=filled, fillcolor=black, height=0.06, width=0.6",
    "point": "shape=point",
    "terminal": "shape=ellipse",
}


def dot(composition: Composition) -> str:
    """The composition as a DOT graph, for Graphviz."""
    sketch = _sketch(composition)
    lines = ["digraph composition {", "  rankdir=TB; compound=true; fontname=Helvetica;",
             "  node [fontname=Helvetica, fontsize=11]; edge [fontname=Helvetica, fontsize=10];"]  # fmt: skip

    def write(cluster: _Cluster, indent: str) -> None:
        for member in cluster.members:
            if isinstance(member, str):
                node = sketch.nodes[member]
                lines.append(
                    f"{indent}{node.id} [label={_quoted(node.label)}, {_DOT_SHAPES[node.shape]}];"
                )
            else:
                lines.append(f"{indent}subgraph cluster_{member.id} {{")
                lines.append(f"{indent}  label={_quoted(member.label)}; style=rounded; color=gray;")
                write(member, indent + "  ")
                lines.append(f"{indent}}}")

    write(sketch.root, "  ")
    lines += [
        f"  {start} -> {end}" + (f" [label={_quoted(text)}]" if text else "") + ";"
        for start, end, text in sketch.edges
    ]
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


_MERMAID_SHAPES = {
    "step": '("{}")', "data": '["{}"]', "choice": '{{"{}"}}', "bar": '[["{}"]]', "point": '(("{}"))',
    "terminal": '(["{}"])',
}  # fmt: skip


def mermaid(composition: Composition) -> str:
    """The composition as a Mermaid flowchart."""
    sketch = _sketch(composition)
    lines = ["flowchart TD"]

    def write(cluster: _Cluster, indent: str) -> None:
        for member in cluster.members:
            if isinstance(member, str):
                node = sketch.nodes[member]
                before, after = _MERMAID_SHAPES[node.shape].split("{}", 1)
                before, after = before.replace("{{", "{"), after.replace("}}", "}")
                lines.append(f"{indent}{node.id}{before}{_entities(node.label) or ' '}{after}")
            else:
                lines.append(f'{indent}subgraph {member.id}["{_entities(member.label)}"]')
                write(member, indent + "  ")
                lines.append(f"{indent}end")

    write(sketch.root, "  ")
    lines += [
        f"  {start} -->" + (f'|"{_entities(text)}"|' if text else "") + f" {end}"
        for start, end, text in sketch.edges
    ]
    return "\n".join(lines) + "\n"


def _entities(text: str) -> str:
    for char, entity in (
        ("&", "&amp;"),
        ('"', "&quot;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ("\n", " "),
    ):
        text = text.replace(char, entity)
    return text
