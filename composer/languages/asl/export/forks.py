"""The export of the combinators that run parts at the same time: Parallel and Map.

A branch fails by a Fail state, or by one of its states that fails; if failures are kept, it ends
with `{"error": ...}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .expressions import INPUT, dynamic, filled, selected
from .states import Label, Rule
from .writer import unless

if TYPE_CHECKING:
    from ....dsl.composition import Composition
    from ....expressions import Template
    from ....values import JSON
    from .writer import Writer

ITEM: Final = dynamic(
    '($item := $states.context.Map.Item.Value; $type($item) = "object" ? $item : {"value": $item})'
)
RESULTS: Final[dict[str, JSON]] = {"value": dynamic("$states.result")}


def _branch(
    w: Writer, node: Composition, policy: str, part: tuple[str, Composition] | None, *, clean: bool
) -> dict[str, JSON]:
    """The machine of a part, or of the node's components."""
    with w.branch(node if part is None else part[1]) as branch:
        branch.clean = clean
        failed = Label()
        if policy == "fail":
            _written(w, node, part)
        else:
            with branch.guarded(failed):
                _written(w, node, part)
            branch.place(failed)
        return branch.definition()


def _written(w: Writer, node: Composition, part: tuple[str, Composition] | None) -> None:
    if part is None:
        w.parts(node)
    else:
        w.part(*part)
    w.sheet.check("Result")


def _joined(w: Writer, name: str, policy: str) -> None:
    """If all are awaited, the first failure in order is the outcome."""
    w.sheet.clean = True
    if policy == "wait":
        first = f"$filter({INPUT}.value, function($result) {{ $exists($result.error) }})[0].error"
        rule = Rule(
            f"$exists({INPUT}.value.error)", w.sheet.target, {"error": dynamic(first)}, clean=False
        )
        w.sheet.choice(f"All of {name} done?", rule)


def parallel(w: Writer, node: Composition) -> None:
    policy, parts = node.arguments["errors"], list(node.children())
    if not parts:
        w.sheet.state("Parallel", "Pass", Output={"value": []})
        w.sheet.clean = True
        return
    _run(w, node, "Parallel", policy, parts)


def _run(
    w: Writer, node: Composition, name: str, policy: str, parts: list[tuple[str, Composition]]
) -> None:
    branches: list[JSON] = [_branch(w, node, policy, part, clean=w.sheet.clean) for part in parts]
    w.sheet.fallible(name, "Parallel", Branches=branches, Output=RESULTS)
    _joined(w, name, policy)


def graph(w: Writer, node: Composition) -> None:
    tasks, parts = node.arguments["tasks"], list(node.children())
    if any(task.after for task in tasks.values()):
        w.flaw(node, "no state begins when some branches of another have ended")
        return
    _run(w, node, "Graph", node.arguments["errors"], parts)
    made: dict[str, JSON] = {name: dynamic(f"{INPUT}.value[{at}]") for at, name in enumerate(tasks)}
    w.sheet.state("Results", "Pass", Output=made)


def map_items(w: Writer, node: Composition) -> None:
    policy, most = node.arguments["errors"], node.arguments["concurrency"]
    items = _items(w, node)
    machine = _branch(w, node, policy, None, clean=False)
    bound: dict[str, JSON] = {} if most is None else {"MaxConcurrency": most}
    w.sheet.fallible(
        "Map", "Map", Items=items, ItemSelector=ITEM,
        ItemProcessor={"ProcessorConfig": {"Mode": "INLINE"}, **machine},
        **bound, Output=RESULTS,
    )  # fmt: skip
    _joined(w, "Map", policy)


def _items(w: Writer, node: Composition) -> JSON:
    template: Template | None = node.arguments["items"]
    if template is None:
        place = f"{INPUT}.value"
        listed = f'$not($exists({place})) or $type({place}) in ["array", "null"]'
    elif template.selector is not None:
        place = selected(template.selector, w.variable)
        listed = f'$type({place}) in ["array", "null"]'
    else:
        made = filled(template, w.variable)
        if not isinstance(made, list):
            w.flaw(node, "the items to map over are not a list")
        return made
    if w.sheet.handler is not None:
        unless(w, "A list?", f"({listed})", ("ExpressionError", "map: 'items' must select a list"))
    text = (
        f"{place} != null ? {place} : []" if template is None else f"{place} = null ? [] : {place}"
    )
    return dynamic(text)
