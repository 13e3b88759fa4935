"""What each combinator becomes in the States Language, and which have no counterpart."""

from __future__ import annotations

import json

import pytest

from tests.kit.asl.exportable import HOOKS, run_exported
from tests.kit.asl.exported_actions import ACTIONS
from xingqiao import composer as c
from xingqiao.composer import path, var
from xingqiao.composer.languages.asl import diagnose, errors, export
from xingqiao.composer.testing import simulate

STRANGE = '{"error": 1}'
LET = {"x": {"k": [1, 2]}, "y": "{% text %}", "_z": None, "count": 3}
WORKING = {
    "an action": "a",
    "what is no object": "text",
    "null": "nothing",
    "an error": "busy",
    "an odd error": "odd",
    "an error that is a text": "says",
    "an error that is a number": "counts",
    "a crash": "crashes",
    "literals": c.sequence(c.literal({"t": "{% x %}", "l": ["{% y %}", None, 1.5]}), "a"),
    "a literal that is no object": c.literal([1, [2]]),
    "a literal error": c.literal({"error": {"code": "E"}, "more": 1}),
    "nothing at all": c.empty(),
    "select": c.select({"n": path("$.n"), "l": [path("$.l[-1]"), 1], "$path": "{%"}),
    "select a place": c.select(path("$.l")),
    "select all": c.select(path("$")),
    "select what may be missing": c.select(path("$.x", default=[1])),
    "select what is missing": c.select(path("$.x")),
    "what is missing, caught": c.do(c.select({"v": [path("$.x")]}), "b"),
    "what is there, caught": c.do(c.select({"v": path("$.n"), "w": path("$"), "d": path("$.x", default=1)}), "b"),
    "select an error": c.do(c.select({"error": path("$.n")}), "b"),
    "a literal that selects": c.select([1, 2]),
    "odd names": c.select({"v": path("$['a b'].and", default=0), "w": path("$['`']", default=1)}),
    "a predicate": c.task(path("$.n") > 0),
    "assign": c.let({"x": 0}, c.assign(x=path("$.n")), c.select({"v": var("x")})),
    "assign what is missing": c.let({"x": 0}, c.do(c.assign(x=path("$.q")), "b")),
    "variables": c.let(LET, c.select([var("x", "$.k[1]"), var("y"), var("_z"), var("count"), path("$.n")])),
    "a variable within": c.let({"x": 1}, c.let({"x": 2}, c.assign(x=3)), c.select({"v": var("x")})),
    "a mask": c.let({"x": 1}, c.let({"x": 2}, c.mask(c.assign(x=3), c.select({"v": var("x")})))),
    "masks": c.let({"x": 1}, c.let({"x": 2}, c.let({"x": 3}, c.mask(c.mask(c.select({"v": var("x")})))))),
    "raise": c.raise_error("Busy", "try later"),
    "raise, caught": c.do(c.raise_error("Busy", "try later"), c.retain_catch()),
    "raise, and what is never reached": c.sequence(
        c.when(path("$.n") > 1, c.raise_error("Many"), c.raise_error("Few")),
        "a", c.literal({"n": 1}), c.repeat(2, "a"),
    ),
    "retry what raises": c.retry(1, c.raise_error("Busy", "try later"), until=path("$.n") > 9),
    "raise a value": c.raise_error("Busy", path("$.l")),
    "raise what looks like a cause": c.raise_error("Busy", STRANGE),
    "raise what looks like an expression": c.raise_error("{%", "{% x"),
    "raise what is missing": c.do(c.raise_error("Busy", path("$.x")), "b"),
    "wait": c.sequence(c.wait(3), "a"),
    "wait a part of a second": c.sequence(c.wait(1.25), "a"),
    "wait as told": c.sequence(c.wait(path("$.n")), "a"),
    "wait until": c.sequence(c.wait(until="1970-01-01T00:00:05"), "a"),
    "wait until there": c.sequence(c.wait(until="1970-01-01T02:00:05.5+02:00"), "a"),
    "wait until a second": c.sequence(c.wait(until=6.5), "a"),
    "wait until told": c.sequence(c.wait(until=path("$.n")), "a"),
    "wait until a text": c.sequence(c.wait(until=path("$.at")), "a"),
    "wait for no time": c.do(c.wait(path("$.l")), "b"),
    "wait for time, caught": c.do(c.sequence(c.wait(path("$.n")), "a"), "b"),
    "when": c.when(path("$.n") == 1, "a", "b"),
    "when not": c.when(path("$.n") == 2, "a"),
    "when an action says": c.when("no", "a", "b"),
    "when an action says yes": c.when(path("$.at"), c.select(path("$"))),
    "when_nosave": c.when_nosave("no", "a", c.retain()),
    "loop": c.loop(path("$.n") < 4, "a"),
    "loop, tested by an action": c.sequence(c.loop("no", "a"), "b"),
    "loop_nosave": c.loop_nosave("no", "a"),
    "loop with a handler": c.loop(path("$.n") < 4, c.do("a", "b")),
    "doloop": c.doloop("a", path("$.n") < 4),
    "doloop, tested by an action": c.doloop("a", "no"),
    "doloop_nosave": c.doloop_nosave("a", c.select({"value": path("$.none", default=0)})),
    "repeat": c.repeat(3, "a"),
    "repeat never": c.repeat(0, "a"),
    "switch": c.switch(path("$.n"), [(1, "a"), (2, "b")]),
    "switch to the default": c.switch(path("$.n"), [([1], "a")], "b"),
    "no case": c.switch(path("$.n"), {"1": "a"}),
    "no case, caught": c.do(c.switch(path("$.n"), {"1": "a"}), c.retain_catch()),
    "no cases": c.switch(path("$.n"), {}, "a"),
    "switch on a result": c.switch("text", {"text": "a"}),
    "switch on a result without cases": c.switch("text", {}, "a"),
    "eca": c.eca("b", "a"),
    "eca, unmet": c.eca("no", "a"),
    "eca, failed": c.eca("busy", "a", otherwise="b"),
    "eca, otherwise": c.eca("no", "a", otherwise="a"),
    "do": c.do("busy", "b"),
    "do, and it works": c.do("a", "b"),
    "do, and the handler fails": c.do("busy", c.empty()),
    "do, for errors": c.do("busy", "b", errors=["Busy"]),
    "do, for other errors": c.do("busy", "b", errors=["E", "F"]),
    "do, for errors of another kind": c.do("odd", "b", errors=["Odd"]),
    "do, for a text": c.do("says", "b", errors=["a text"]),
    "do, for all": c.do("counts", "b", errors=["E", "*"]),
    "do in do": c.do(c.do("busy", "b", errors=["E"]), c.retain_catch()),
    "do, and the value is the error": c.do("odd", c.let({"x": 0}, c.assign(x=1))),
    "a crash, caught": c.do("crashes", "b", errors=["Broken"]),
    "fallback": c.fallback("busy", "says", "a"),
    "retry": c.retry(2, "busy", delay=3, backoff=2),
    "retry, capped": c.retry(4, "busy", delay=1, backoff=3, max_delay=5),
    "retry, capped at once": c.retry(2, "busy", delay=2, backoff=3, max_delay=2),
    "retry for ever": c.retry(None, "a"),
    "retry some": c.retry(2, "busy", errors=["Busy", "Timeout"]),
    "retry others": c.retry(2, "busy", errors=["Other"]),
    "retry in a loop": c.retry(2, "busy", delay=0.5, backoff=2, max_delay=0.75),
    "retry in a loop for ever": c.retry(None, "a", delay=0.5),
    "retry others in a loop": c.retry(2, "busy", delay=0.5, errors=["Other"]),
    "retry, which sets": c.let({"x": 0}, c.retry(1, c.assign(x=path("$.n")), "busy").catch(c.select({"v": var("x")}))),
    "retry until": c.retry(2, "a", until=path("$.n") > 1),
    "retry, and not met": c.retry(2, "a", until=path("$.n") > 9),
    "retry a value that is an error": c.do("busy", c.retry(1, c.wait(1))),
    "timeout": c.timeout(5, "slow"),
    "timeout, caught": c.do(c.timeout(5, c.sequence("never")), c.retain_catch()),
    "timeout, in time": c.timeout(8, "slow"),
    "timeout of all": c.timeout(8, "slow", "a", "slow"),
    "retain": c.retain("a", "b"),
    "retain_catch": c.retain_catch("busy"),
    "merge": c.merge("b"),
    "merge what failed": c.do("busy", c.merge("b")),
    "forward": c.forward(["n"], "b"),
    "forward into": c.forward({"n": 5}, "a", carry={"c": path("$.l")}, into="r"),
    "forward what is carried": c.forward(path("$.n"), "a", carry=path("$.l")),
    "forward what is missing": c.do(c.forward(["x"], "a", carry=["y"]), "b"),
    "parallel": c.parallel("a", c.retain(), "text"),
    "parallel of none": c.parallel(),
    "parallel fails": c.parallel("slow", "busy"),
    "parallel, caught": c.do(c.parallel("slow", "odd"), c.retain_catch()),
    "parallel waits": c.parallel("busy", "slow", "says", errors="wait"),
    "parallel waits and all is well": c.parallel("a", "slow", errors="wait"),
    "parallel collects": c.parallel("busy", "slow", "crashes", errors="collect"),
    "branches that set": c.let(
        {"x": 1},
        c.mask(c.let({"x": 2}, c.parallel(c.sequence(c.assign(x=path("$.n")), c.select({"v": var("x")})), c.select({"v": var("x")})))),
        c.select({"v": var("x"), "w": path("$")}),
    ),
    "branches behind a mask": c.let({"x": 1}, c.mask(c.parallel(c.let({"x": 3}, c.assign(x=4), c.select({"v": var("x")}))))),
    "map": c.map("a", items=path("$.l"), concurrency=1),
    "map a list": c.map("a", items=[1, {"n": 2}, path("$.n")]),
    "map nothing": c.map("a"),
    "map what is no list": c.do(c.map("a", items=path("$.at")), "b"),
    "map what may be missing, caught": c.do(c.map("a"), "b"),
    "map and collect": c.map(c.when(path("$.n") == 2, "busy"), items=[{"n": 1}, {"n": 2}, {"error": 1}], errors="collect"),
    "map and wait": c.map(c.when(path("$.n") == 2, "busy"), items=[{"n": 1}, {"n": 2}], errors="wait"),
    "graph": c.graph({"a": "a", "b": "b"}),
    "graph that fails": c.graph({"a": "slow", "b": "busy"}, errors="wait"),
}  # fmt: skip


@pytest.mark.parametrize("composition", WORKING.values(), ids=WORKING)
def test_the_machine_does_what_the_composition_does(composition):
    composition = c.task(composition)
    value = {"n": 1, "l": [1, {"n": 2}], "at": "1970-01-01T00:00:04Z"}
    definition = export(composition)

    assert errors(diagnose(json.dumps(definition), type="STANDARD", hooks=HOOKS)) == []
    run, exported = (
        simulate(composition, value, actions=ACTIONS),
        run_exported(composition, value, ACTIONS),
    )
    assert shown(exported) == shown(run)


def shown(run):
    """How it went; of what failed, only when."""
    calls = [(call.action, call.at, worded(call.params)) for call in run.invocations]
    if isinstance(run.outcome, c.Success):
        text = json.dumps(run.outcome.value).replace("{% text %}", "text")
        return text if "ExpressionError" not in text else None, calls
    return type(run.outcome), run.elapsed, [(action, at) for action, at, _ in calls]


def worded(params):
    """Parameters, without our words for an expression that has no value, which AWS' cannot be."""
    return "an error of an expression" if "ExpressionError" in json.dumps(params) else params
