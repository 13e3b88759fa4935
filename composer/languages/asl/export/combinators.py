"""The counterpart of each combinator in the States Language, or the reason why it has none.

The functions are here and not in the combinators' own rows, because they need the writer of states, its
labels and JSONata expressions. The DSL imports no language. `COUNTERPARTS` is the one table, by row.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ....dsl.combinators import (
    actions,
    chains,
    children,
    concurrency,
    control,
    data,
    errors,
    limits,
    loops,
    sagas,
    talking,
    transactions,
)
from ....expressions import path
from ....values import NO_CHOICE, boxed
from .errors import do, eca, retain_catch, retry, timeout
from .expressions import (
    INPUT,
    boxing,
    condition,
    constant,
    dynamic,
    filled,
    fixed,
    selected,
)
from .forks import graph, map_items, parallel
from .states import MASK, Label, Rule
from .writer import HELD, branch_on_test, evaluate, invoke, keep, need, unless

if TYPE_CHECKING:
    from ....dsl.combinators.control import Case
    from ....dsl.composition import Composition
    from ....expressions import Template
    from ....values import JSON
    from .writer import Counterparts, Writer

MAX_S: Final = 99_999_999
MAX_EPOCH: Final = 1e11  # seconds: beyond, a composition's `wait` refuses them


# --- leaves --------------------------------------------------------------------------------------


def _literal(w: Writer, node: Composition) -> None:
    value = boxed(node.arguments["value"])
    if "error" in value:
        w.sheet.throw("Literal", fixed(value["error"]))
    else:
        w.sheet.state("Literal", "Pass", Output=fixed(value))
        w.sheet.clean = True


def _select(w: Writer, node: Composition) -> None:
    need(w, "Select", node.arguments["template"])
    evaluate(w, "Select", node.arguments["template"])


def _predicate(w: Writer, node: Composition) -> None:
    held = condition(node.arguments["predicate"], w.variable)
    w.sheet.state("Test", "Pass", Output={"value": dynamic(held)})
    w.sheet.clean = True


def _assign(w: Writer, node: Composition) -> None:
    values = node.arguments["values"]
    made = {w.variable(name): filled(value, w.variable) for name, value in values.items()}
    need(w, "Assign", *values.values())
    w.sheet.state("Assign", "Pass", Assign=made)


def _raise(w: Writer, node: Composition) -> None:
    code, template = node.arguments["code"], node.arguments["message"]
    name, message = f"Raise {code}", template.to_json()
    if isinstance(message, str) and "{%" not in (code[:2], message[:2]):
        w.sheet.fail(name, code, message)
        return
    need(w, name, template)
    w.sheet.throw(name, {"code": fixed(code), "message": filled(template, w.variable)})


def _wait(w: Writer, node: Composition) -> None:
    seconds, until = node.arguments["seconds"], node.arguments["until"]
    template: Template = until if seconds is None else seconds
    if template.selector is not None:
        _wait_for_place(w, template, relative=until is None)
    elif until is None:
        _wait_seconds(w, node, template.to_json())
    else:
        _wait_until(w, node, template.to_json())


def _wait_for_place(w: Writer, template: Template, *, relative: bool) -> None:
    assert template.selector is not None  # noqa: S101  it is why we are here
    place = selected(template.selector, w.variable)
    need(w, "Wait", template)
    if relative:
        error = ("ExpressionError", "wait: it is not a number of seconds, 0 or more")
        if w.sheet.handler is not None:
            unless(w, "Is it a time?", f'($type({place}) = "number" and {place} >= 0)', error)
        at = f"$fromMillis($millis() + $floor({place} * 1000 + 0.5))"
    else:
        at = f'$type({place}) = "number" ? $fromMillis($round({place} * 1000)) : {place}'
    w.sheet.state("Wait", "Wait", Timestamp=dynamic(at))


def _wait_seconds(w: Writer, node: Composition, seconds: JSON) -> None:
    if (type(seconds) is not int and type(seconds) is not float) or not 0 <= seconds <= MAX_S:
        w.flaw(node, f"{seconds!r} is not a number of seconds from 0 to {MAX_S}")
    elif seconds == int(seconds):
        w.sheet.state("Wait", "Wait", Seconds=int(seconds))
    else:
        later = dynamic(f"$fromMillis($millis() + {int(seconds * 1000 + 0.5)})")
        w.sheet.state("Wait", "Wait", Timestamp=later)


def _instant(until: Any) -> datetime:
    if type(until) in (int, float) and abs(until) < MAX_EPOCH:
        return datetime.fromtimestamp(until, UTC)
    return datetime.fromisoformat(until)


def _wait_until(w: Writer, node: Composition, until: JSON) -> None:
    try:
        moment = _instant(until)
    except (TypeError, ValueError, OverflowError):
        w.flaw(node, f"{until!r} is neither an ISO 8601 instant nor epoch seconds")
        return
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    w.sheet.state("Wait", "Wait", Timestamp=text)


# --- one after the other -------------------------------------------------------------------------


def _sequence(w: Writer, node: Composition) -> None:
    w.parts(node)


def _branches(w: Writer, node: Composition, yes: Label, no: Label) -> None:
    end = Label()
    w.sheet.place(yes)
    w.part("consequent", node.arguments["consequent"])
    w.sheet.jump(end)
    w.sheet.place(no)
    w.part("alternate", node.arguments["alternate"])
    w.sheet.place(end)


def _when(w: Writer, node: Composition) -> None:
    yes, no = Label(), Label()
    branch_on_test(w, "When", node, yes, no)
    _branches(w, node, yes, no)


def _when_nosave(w: Writer, node: Composition) -> None:
    yes, no = Label(), Label()
    w.part("test", node.arguments["test"])
    w.sheet.choice("When", Rule(HELD, yes), otherwise=no)
    _branches(w, node, yes, no)


def _head(w: Writer, node: Composition) -> Label:
    """The head of a loop: a handler in the loop may bring a value with a field `error`."""
    w.sheet.clean = w.sheet.clean and not any(part.row is errors.DO for part in node.walk())
    return w.sheet.here()


def _loop(w: Writer, node: Composition) -> None:
    head, body, end = _head(w, node), Label(), Label()
    branch_on_test(w, "While", node, body, end)
    _body(w, node, body)
    w.sheet.jump(head)
    w.sheet.place(end)


def _loop_nosave(w: Writer, node: Composition) -> None:
    head, body, end = _head(w, node), Label(), Label()
    w.part("test", node.arguments["test"])
    w.sheet.choice("While", Rule(HELD, body), otherwise=end)
    _body(w, node, body)
    w.sheet.jump(head)
    w.sheet.place(end)


def _body(w: Writer, node: Composition, body: Label) -> None:
    w.sheet.place(body)
    w.part("body", node.arguments["body"])


def _doloop(w: Writer, node: Composition) -> None:
    head = _head(w, node)
    w.part("body", node.arguments["body"])
    branch_on_test(w, "Again", node, head)


def _doloop_nosave(w: Writer, node: Composition) -> None:
    head = _head(w, node)
    w.part("body", node.arguments["body"])
    w.part("test", node.arguments["test"])
    w.sheet.choice("Again", Rule(HELD, head))


def _repeat(w: Writer, node: Composition) -> None:
    count, end = node.arguments["count"], Label()
    left = w.sheet.names.variable("left")
    w.sheet.state("Repeat", "Pass", Assign={left: count})
    head = _head(w, node)
    less: JSON = {left: dynamic(f"${left} - 1")}
    w.sheet.choice("Repeat", Rule(f"${left} = 0", end), Assign=less)
    w.parts(node)
    w.sheet.jump(head)
    w.sheet.place(end)


def _switch(w: Writer, node: Composition) -> None:
    on, cases = node.arguments["on"], node.arguments["cases"]
    labels, end = [Label() for _ in cases], Label()
    subject = on.arguments["template"].selector if on.row is data.SELECT else None
    if subject is None:
        _switch_on_result(w, on, list(zip(cases, labels, strict=True)))
    else:
        tests = [condition(subject == case.equals, w.variable) for case in cases]
        rules = [Rule(held, label) for held, label in zip(tests, labels, strict=True)]
        if rules:
            w.sheet.choice("Switch", *rules)
    if node.arguments["default"] is None:
        w.sheet.fail("No case", NO_CHOICE, "switch: no case fits, and there is no default")
    else:
        w.part("default", node.arguments["default"])
        w.sheet.jump(end)
    for index, (case, label) in enumerate(zip(cases, labels, strict=True)):
        w.sheet.place(label)
        w.part(f"cases[{index}].body", case.body)
        w.sheet.jump(end)
    w.sheet.place(end)


def _switch_on_result(w: Writer, on: Composition, ways: list[tuple[Case, Label]]) -> None:
    kept = keep(w, "Before Switch")
    w.part("on", on)
    w.sheet.clean = kept.clean
    field = path("$.value")
    rules = [kept.when(condition(field == case.equals, w.variable), to) for case, to in ways]
    if rules:
        w.sheet.choice("Switch", *rules, Output=kept.output)
    else:
        w.sheet.state("Switch", "Pass", Output=kept.output)


# --- data ----------------------------------------------------------------------------------------


def _let(w: Writer, node: Composition) -> None:
    declared = node.arguments["declarations"]
    names = {name: w.sheet.names.variable(name) for name in declared}
    values = {names[name]: fixed(value) for name, value in declared.items()}
    w.sheet.state("Let", "Pass", Assign=values)
    with w.sheet.within(names):
        w.parts(node)


def _mask(w: Writer, node: Composition) -> None:
    with w.sheet.within(MASK):
        w.parts(node)


def _retain(w: Writer, node: Composition) -> None:
    kept = keep(w, "Before Retain")
    w.parts(node)
    w.sheet.state("Retain", "Pass", Output={"params": kept.output, "result": dynamic(INPUT)})
    w.sheet.clean = True


def _merge(w: Writer, node: Composition) -> None:
    kept = keep(w, "Before Merge")
    w.parts(node)
    _merged(w, "Merge", f"${kept.variable}", INPUT)
    w.sheet.clean = w.sheet.clean and kept.clean
    w.sheet.check("Merge")


def _merged(w: Writer, name: str, under: str, over: str) -> None:
    w.sheet.state(name, "Pass", Output=dynamic(f"$merge([{under}, {over}])"))


def _forward(w: Writer, node: Composition) -> None:
    take, carry, into = (node.arguments[name] for name in ("take", "carry", "into"))
    variable = w.sheet.names.variable("carried")
    clean = w.sheet.clean
    if carry is None:
        carried: JSON = dynamic(INPUT)
    else:
        need(w, "Forward", carry)
        carried = boxing(carry, w.variable)
        clean = isinstance(carried, dict) and "error" not in carried
    need(w, "Forward", take)
    evaluate(w, "Forward", take, Assign={variable: carried})
    w.parts(node)
    over = INPUT if into is None else f"{{{constant(into)}: {INPUT}}}"
    _merged(w, "Carry on", f"${variable}", over)
    w.sheet.clean = clean and (w.sheet.clean or into is not None)
    w.sheet.check("Carry on")


COUNTERPARTS: Final[Counterparts] = {
    # actions
    actions.ACTION: invoke,
    actions.DYNAMIC: "a Task names its resource: it is not the value's to name",
    actions.FUNCTION: "an inline function is code: deploy it as an action and name that here",
    # data
    data.LITERAL: _literal,
    data.SELECT: _select,
    data.PREDICATE: _predicate,
    data.LET: _let,
    data.MASK: _mask,
    data.ASSIGN: _assign,
    data.RETAIN: _retain,
    data.RETAIN_CATCH: retain_catch,
    data.MERGE: _merge,
    data.FORWARD: _forward,
    # control and loops
    control.SEQUENCE: _sequence,
    control.WAIT: _wait,
    control.WHEN: _when,
    control.WHEN_NOSAVE: _when_nosave,
    control.SWITCH: _switch,
    control.ECA: eca,
    loops.REPEAT: _repeat,
    loops.LOOP: _loop,
    loops.LOOP_NOSAVE: _loop_nosave,
    loops.DOLOOP: _doloop,
    loops.DOLOOP_NOSAVE: _doloop_nosave,
    # errors
    errors.RAISE: _raise,
    errors.RETRY: retry,
    errors.DO: do,
    errors.ENSURE: "a state machine that is stopped, or times out, runs nothing more: it has no finalizers",
    errors.TIMEOUT: timeout,
    # concurrency
    concurrency.PARALLEL: parallel,
    concurrency.RACE: "no state ends with the first of its branches",
    concurrency.MAP: map_items,
    concurrency.GRAPH: graph,
    concurrency.ASYNC: "nothing starts there that is not waited for",
    children.CHILD: "no execution there has an id of its user's, or an end of its own, as a child has",
    chains.CONTINUE: "an execution there is one run",
    limits.LIMIT: "states of different executions wait for each other in no line there",
    # transactions and sagas
    transactions.CALL: "state machines have no entities",
    transactions.PARTICIPANT: "state machines take part in no transactions",
    transactions.TRANSACTION: "state machines have no transactions",
    sagas.SAGA: "state machines undo nothing by themselves",
    sagas.STEP: "state machines undo nothing by themselves",
    # talking
    talking.QUERIES: "a state machine answers no queries",
}
"""The function that writes a combinator's states, or the reason why it has no counterpart."""
