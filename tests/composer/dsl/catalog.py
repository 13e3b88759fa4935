"""One composition or more for every combinator and every option that changes what it becomes."""

from __future__ import annotations

from datetime import UTC, datetime

from xingqiao import composer as c
from xingqiao.composer import path, var

SAGA_STEPS = (c.step("a", "b"), c.step("c", pivot=True), c.step("d", retriable=True))


@c.action(limits={"timeout": 5000}, annotations={"final": True})
def greet(params):
    return {"hello": params["name"]}


CATALOG = {
    # actions
    "action": c.action("a"),
    "action of a package": c.action("/ns/pkg/a"),
    "action with code": c.action("a", code="def main(p): return p", limits={"timeout": 100}),
    "action that is a sequence": c.action("a", sequence=["b", "p/c"], annotations={"k": [1]}),
    "action elsewhere": c.action("a", function="charge:live", kind="aws:lambda", region="eu-west-1"),
    "action of this process": c.task(greet),
    "function": c.function(lambda params: {"n": params["n"] + 1}),
    "function with variables": c.let({"n": 1}, lambda params, variables: variables["n"]),
    "functions that are one": c.sequence(lambda params: [1], lambda params: [1]),
    "dynamic": c.sequence(c.select({"type": "action", "name": path("$.n")}), c.dynamic()),
    "async": c.asynchronous("a", "b"),
    "async, of a fork": c.parallel(c.action("a").asynchronous(), "b"),
    # data
    "literal": c.literal({"n": [1, None, "x"]}),
    "literal that is no object": c.literal(7),
    "literal error": c.literal({"error": "E"}),
    "select": c.select({"n": path("$.n", default=None), "l": [path("$.l[0]"), 1]}),
    "select a place": c.select(path("$.l")),
    "predicate": c.task((path("$.n") > 0) & ~path("$.by").exists() | path("$.t").matches("a+")),
    "assign": c.let({"x": 0, "y": 1}, c.assign(x=path("$.n"), y={"k": var("x")})),
    "annotate": c.annotate(customer=path("$.c"), tags=["a", path("$.t")]),
    "let": c.let({"x": {"k": [1]}, "y": "text"}, "a", c.select(var("x"))),
    "mask": c.let({"x": 1}, c.let({"x": 2}, c.mask("a", "b"))),
    "retain": c.retain("a", "b"),
    "retain nothing": c.retain(),
    "retain_catch": c.retain_catch("a", "b"),
    "merge": c.merge("a", "b"),
    "forward": c.forward(["a", "it's"], "b"),
    "forward, all of it said": c.forward(path("$.x"), "b", "c", carry=path("$.c"), into="d"),
    "forward, as a method": c.action("a").forward({"k": path("$.x")}, carry=["y"]),
    # control
    "empty": c.empty(),
    "sequence": c.sequence("a", c.sequence("b", "c"), None),
    "then": c.action("a").then("b").then("c", "d"),
    "when": c.when(path("$.n") == 1, "a", "b"),
    "when an action says": c.when("a", "b", "c"),
    "when, with nothing else": c.when("a", "b"),
    "when_nosave": c.when_nosave("a", "b", "c"),
    "when_nosave, of a predicate": c.when_nosave(path("$.n") == 1, "b"),
    "switch": c.switch(path("$.n"), [(1, "a"), (None, "b"), ({"k": [2]}, "c")], default="d"),
    "switch on an action": c.switch("a", {"x": "b", "y": "c"}),
    "switch on a template": c.switch(c.select({"value": path("$.n")}), {"x": "b"}),
    "switch with no case": c.switch("a", {}),
    "eca": c.eca("a", "b"),
    "eca of a predicate": c.eca(path("$.n").exists(), "b", otherwise="c"),
    "loop": c.loop(path("$.n") < 3, "a"),
    "loop on an action": c.loop("a", "b"),
    "loop of nothing": c.loop(path("$.n") < 3, None),
    "loop_nosave": c.loop_nosave("a", "b"),
    "doloop": c.doloop("a", path("$.n") < 3),
    "doloop on an action": c.doloop("a", "b"),
    "doloop_nosave": c.doloop_nosave("a", "b"),
    "repeat": c.repeat(3, "a", "b"),
    "repeat, as a method": c.action("a").repeat(2),
    "wait": c.wait(1.5),
    "wait as told": c.wait(path("$.n")),
    "wait until": c.wait(until=datetime(2026, 11, 22, tzinfo=UTC)),
    "wait until told": c.wait(until=path("$.at")),
    # errors
    "raise": c.raise_error("Busy", "try later"),
    "raise a template": c.raise_error("Busy", {"why": path("$.n")}),
    "retry": c.retry(2, "a", "b"),
    "retry, all of it said": c.retry(
        None, "a", delay=1.5, backoff=2, max_delay=9, jitter=0.5, errors=["Timeout", "Busy"],
        until=path("$.ok").is_true(), on_exhausted="pause",
    ),
    "retry, as a method": c.action("a").retry(3, delay=1),
    "do": c.do("a", "b"),
    "do of some errors": c.action("a").catch("b", errors=["Busy"]),
    "do of nothing": c.do(None, None),
    "fallback": c.fallback("a", "b", "c", errors="Timeout"),
    "ensure": c.ensure("a", "b"),
    "ensure, as a method": c.sequence("a", "b").ensure("c"),
    "timeout": c.timeout(2.5, "a", "b"),
    "timeout of one action": c.sequence("a", c.action("b").timeout(3)),
    "timeout of all": c.timeout(30, "a", "b"),
    # concurrency
    "parallel": c.parallel("a", c.sequence("b", "c"), lambda params: params),
    "parallel of nothing": c.parallel(),
    "parallel that waits": c.parallel("a", "b", errors="wait"),
    "parallel that collects": c.parallel("a", "b", errors="collect"),
    "race": c.race("a", "b"),
    "graph": c.graph(
        {"x": "a", "y": c.after("x", "b"), "z": c.after(["x", "y"], "c", "d")}, errors="wait"
    ),
    "graph of no order": c.graph({"x": "a", "y": "b"}),
    "map": c.map("a", "b"),
    "map, all of it said": c.map("a", items=path("$.l"), concurrency=2, errors="collect"),
    "map over a list": c.map(c.retain("a"), items=[1, {"n": 2}], errors="wait"),
    # limits
    "limit": c.limit("a", concurrent=2),
    "limit, all of it said": c.limit("a", "b", key=path("$.t"), concurrent=5, per_minute=60, name="api"),
    # messages
    "receive": c.receive("approved"),
    "receive, all of it said": c.receive(
        c.all_of("a", c.any_of("b", "c")), timeout=60, early="drop"
    ),
    "tell": c.tell(path("$.to"), "approved"),
    "tell, with a payload": c.tell("order-7", "approved", {"by": path("$.by")}),
    # CloudEvents
    "emit": c.emit({"type": "order.reserved", "data": path("$")}),
    "emit, all of it said": c.emit(
        {"type": path("$.t"), "source": "/shop", "subject": path("$.id"), "priority": 1, "data": {"n": 1}}
    ),
    "emit what the value is": c.emit(path("$.event")),
    # transactions
    "call": c.call("account", path("$.k"), "add", {"n": path("$.n")}, expected_version=3),
    "read": c.read("account", "k"),
    "signal": c.signal("account", "k", "add"),
    "signal later": c.signal("account", "k", "add", {"n": 1}, after=5),
    "signal at an instant": c.signal("account", "k", "add", until=path("$.at")),
    "transaction of calls": c.transaction(
        c.call("account", "k", "add"), c.participant("p/prepare", "p/commit", "p/abort", {"n": 1}),
        c.participant("prepare", "commit", "abort"), retries=3, seconds=2.5,
    ),
    "transaction that works as it goes": c.transaction(
        c.call("account", "k", "get", read=True),
        c.when(path("$.n") > 1, c.call("account", "l", "add")), conflict="nowait",
    ),
    "semantic lock": c.semantic_lock([("account", "k"), ("order", path("$.o"))], "a", "b"),
    "semantic lock of nothing": c.semantic_lock([], "a"),
    # sagas
    "saga": c.saga(*SAGA_STEPS, seconds=60),
    "saga in branches": c.saga(
        c.parallel(c.step("a", undo=c.sequence("b", "c")), c.step("d", no_undo="it only reads")),
        c.read("account", "k"),
        c.step(c.call("account", "k", "add"), c.call("account", "k", "sub"), undo_on_failure=True),
    ),
    "saga, steps all of them said": c.saga(
        c.step("a", "b", retries=3, delay=2, seconds=1.5, undo_retries=None, undo_delay=3),
        c.step("a", "b", retriable=True, retries=2), c.step("c", pivot=True, delay=0.5),
    ),
    "saga tried some times": c.saga(SAGA_STEPS[0], retry=c.Times(3, delay=1)),
    "saga tried with each": c.saga(SAGA_STEPS[0], retry=c.ForEach(["x", "y"], into="host")),
    "saga tried with each that it is told": c.saga(
        SAGA_STEPS[0], retry=c.ParameterizedForEach(path("$.hosts"), into="host")
    ),
    "sagas in sagas": c.saga(
        c.saga(SAGA_STEPS[0], retry=c.AlwaysRevertAll()),
        c.saga(c.step("c", "d"), retry=c.AlwaysRevert()),
    ),
    # children
    "continue_as_new": c.sequence("a", c.continue_as_new()),
    "continue_as_new, all of it said": c.continue_as_new({"n": path("$.n")}, action="pkg/b"),
    "child": c.child("a"),
    "child, all of it said": c.child(
        "p/a", {"n": path("$.n")}, id=path("$.id"), on_open="use", on_closed="reject", close="cancel",
        on_cancel="try",
    ),
    "child that is not waited for": c.child("a", id="x", close="abandon", wait=False),
    # talking
    "queries": c.queries(
        c.let({"left": 3}, "a", c.assign(left=2)), "b", progress={"left": var("left")}, at=path("$.n", default=0),
    ),
    "updates": c.let({"n": 0}, c.updates(c.until(var("n") > 2), add=c.on_update())),
    "updates, all of it said": c.let(
        {"n": 0}, c.updates(
            "a", "b", add=c.on_update(
                validate=path("$.by") > 0, body=c.sequence("check", "b"), sets={"n": path("$.n")},
                answer={"n": var("n")},
            ), drop=c.on_update(body="a", answer=None),
        ),
    ),
}  # fmt: skip
