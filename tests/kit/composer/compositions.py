"""Compositions drawn at random over all combinators, and the fakes that their actions are.

A fake's answer depends on its parameters alone, so that it can be asked again after a crash.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from zlib import crc32

import hypothesis.strategies as st

from xingqiao import composer
from xingqiao.composer import path, var
from xingqiao.composer.testing import Fail, Never, Slow
from xingqiao.composer.values import Failure, Success

ACTIONS = ("a", "b", "c", "d")
CODES = ("Busy", "Broken")

# --- inline functions: captured as source, so they stand here once --------------------------------


def count_down(params, variables):
    variables["n"] -= 1
    return params


def count_up(params, variables):
    variables["x"] += 1


def fail_twice(params, variables):
    variables["x"] += 1
    return {"error": "not yet"} if variables["x"] < 3 else {"done": variables["x"]}


def see(params, variables):
    return {"seen": variables, "value": len(variables)}


def tell(params):
    params["told"] = True


def crash(params):
    raise ValueError("crashed")


FUNCTIONS = [composer.function(f) for f in (count_up, fail_twice, see, tell, crash, lambda: [1, 2])]
COUNT_DOWN = composer.function(count_down)


# --- fakes ----------------------------------------------------------------------------------------

VALUES = st.sampled_from(
    [{}, {"value": True}, {"value": False}, {"value": [1, {"n": 2}, "x"]}, {"n": 1}, {"value": 0},
     5, "text", None, [1, {"n": 1}]]
)  # fmt: skip
FAILURES = st.sampled_from(
    [{"error": "E"}, {"error": {"code": "Busy"}, "lost": 1}, Fail("Broken"), Fail("Busy", "busy")]
)
ECHO = "echo"


def answers(never=False):
    """Answers of an action: mostly good ones."""
    good = st.one_of(st.just(ECHO), VALUES)
    return st.one_of(st.just(ECHO), good, good, FAILURES, *([st.just(Never())] if never else []))


@dataclass(frozen=True)
class Plan:
    """A fake that chooses among its answers by its parameters, and takes its time."""

    name: str
    answers: tuple
    slow: bool = False

    def __call__(self, params):
        chance = crc32(json.dumps([self.name, params], sort_keys=True).encode())
        answer = self.answers[chance % len(self.answers)]
        if answer == ECHO:
            answer = {**params, "by": self.name}
        return Slow(1 + chance % 9973 / 1000, answer) if self.slow else answer


def plans(*, slow=False, never=False):
    """Fakes for all actions."""
    choices = st.lists(answers(never), min_size=1, max_size=3).map(tuple)
    return st.fixed_dictionaries(dict.fromkeys(ACTIONS, choices)).map(
        lambda drawn: {name: Plan(name, choice, slow) for name, choice in drawn.items()}
    )


# --- compositions ---------------------------------------------------------------------------------

TEMPLATES = [
    path("$.value", default=0), {"v": path("$")}, {"n": 1, "x": var("x", default=0)},
    {"error": path("$.n", default="none")}, path("$.missing"), [path("$.value", default=1), 2], {"n": path("$")},
    {"type": "action", "name": "a", "params": {"n": 3}},
]  # fmt: skip
PREDICATES = [
    path("$.value").is_true(), path("$.n") == 1, ~path("$.by").exists(), var("x") == 2,
    path("$.value").is_a("array") | path("$.error").exists(),
]  # fmt: skip
INPUTS = st.sampled_from(
    [{}, {"n": 1}, {"value": True}, {"value": [1, 2]}, {"value": ["a", {"n": 1}], "n": 0}]
)
NAMES = st.sampled_from([(), ("Busy",), ("E", "Broken"), ("Timeout", "*")])

LEAVES = [
    *6 * [lambda g: composer.action(g.one(*ACTIONS))],
    lambda g: g.one(*FUNCTIONS),
    lambda g: composer.empty(),
    lambda g: composer.literal(g.one({"n": 2}, 7, {"error": "L"}, {"value": [3, {"value": 4}]})),
    lambda g: composer.select(g.one(*TEMPLATES)),
    lambda g: composer.task(g.one(*PREDICATES)),
    lambda g: composer.assign(x=g.one(*TEMPLATES[:3])),
    lambda g: composer.raise_error(g.one(*CODES), path("$.n", default="?")),
    lambda g: composer.sequence(composer.select(g.one(TEMPLATES[-1], {})), composer.dynamic()),
]
_LEAF_OR_NODE = ("leaf", "node", "node", "node")


class Grower:
    """Draws the parts of a composition, ever smaller ones."""

    def __init__(self, draw, kinds, errors):
        self.draw, self.kinds, self.errors = draw, kinds, errors
        self.depth = 0

    def part(self):
        """A part: a leaf when it is deep enough, or by chance."""
        if self.depth == 0 or self.one(*_LEAF_OR_NODE) == "leaf":
            return self.one(*LEAVES)(self)
        self.depth -= 1
        node = self.one(*self.kinds)(self)
        self.depth += 1
        return node

    def parts(self, least, most):
        kept = []
        for _ in range(self.draw(st.integers(least, most))):
            kept.append(self.part())
            if kept[-1].type == "raise":  # what follows it is refused
                break
        return kept

    def branches(self):
        return [self.part() for _ in range(self.draw(st.integers(0, 3)))]

    def one(self, *choices):
        return self.draw(st.sampled_from(choices))

    def policy(self):
        return self.one(*self.errors)


def _test(g):
    return g.one(*PREDICATES) if g.one(True, False) else g.part()


def _otherwise(g):
    return {"otherwise": g.part()} if g.one(True, False) else {}


def _bounded(g):
    """A loop that ends for sure: a variable of its own counts down."""
    rounds, left = composer.sequence(COUNT_DOWN, g.part()), var("n") > 0
    kind = g.one("loop", "doloop", "loop_nosave", "doloop_nosave")
    match kind:
        case "loop":
            body = composer.loop(left, rounds)
        case "doloop":
            body = composer.doloop(rounds, composer.sequence(composer.sequence(g.part()), left))
        case "loop_nosave":
            body = composer.loop_nosave(composer.merge(g.part(), left), rounds)
        case _:
            body = composer.doloop_nosave(rounds, composer.merge(g.part(), left))
    return composer.let({"n": g.one(1, 2, 3)}, body)


PLAIN = [
    lambda g: composer.sequence(*g.parts(2, 4)),
    lambda g: composer.sequence(*g.parts(2, 4)),
    lambda g: composer.sequence(*g.parts(2, 4)),
    lambda g: composer.when(_test(g), g.part(), g.part()),
    lambda g: composer.when_nosave(_test(g), g.part(), g.part()),
    *3 * [_bounded],
    lambda g: composer.repeat(g.one(0, 2, 3), *g.parts(0, 2)),
    lambda g: composer.switch(g.part(), [(True, g.part()), (1, g.part())]),
    lambda g: composer.switch(path("$.n"), [(1, g.part()), (None, g.part())], g.part()),
    lambda g: composer.eca(g.part(), g.part(), **_otherwise(g)),
    lambda g: composer.retry(g.one(0, 1, 2), *g.parts(1, 2), errors=g.draw(NAMES)),
    lambda g: composer.retry(1, *g.parts(1, 2), until=path("$.n").exists()),
    lambda g: composer.retry(1, *g.parts(1, 2), except_errors=["Broken"]),
    lambda g: composer.do(g.part(), g.part(), errors=g.draw(NAMES)),
    lambda g: composer.do(g.part(), g.part()),
    lambda g: composer.ensure(g.part(), g.part()),
    lambda g: composer.ensure(g.part(), g.part()),
    lambda g: composer.ensure(g.part(), g.part()),
    lambda g: composer.fallback(g.part(), g.part()),
    lambda g: composer.let(g.one({"x": 0}, {"x": 2, "y": "y"}), *g.parts(1, 3)),
    lambda g: composer.let({"x": 1}, composer.mask(*g.parts(1, 2)), g.part()),
    lambda g: composer.mask(*g.parts(1, 2)),
    lambda g: composer.retain(*g.parts(0, 2)),
    lambda g: composer.retain_catch(*g.parts(0, 2)),
    lambda g: composer.merge(*g.parts(0, 2)),
    lambda g: composer.forward(g.one(*TEMPLATES[:3]), *g.parts(1, 2), into=g.one(None, "r")),
    lambda g: composer.forward(["n"], g.part(), carry={"c": path("$.n")}),
    # Ids differ from run to run; what comes back is made the same again.
    lambda g: composer.sequence(composer.asynchronous(g.part()), composer.literal({"n": 1})),
]
FORKS = 2 * [
    lambda g: composer.parallel(*g.branches(), errors=g.policy()),
    lambda g: composer.parallel(g.part(), g.part(), g.part(), errors=g.policy()),
    lambda g: composer.map(g.part(), items=[1, {"n": 2}, "x"], errors=g.policy()),
    lambda g: composer.map(
        g.part(), items=[1, 2, {"n": 3}, 4], errors=g.policy(), concurrency=g.one(1, 2, 3)
    ),
    lambda g: composer.map(*g.parts(1, 2), errors=g.policy()),
    lambda g: composer.graph(
        {
            "s": g.part(),
            "t": g.part(),
            "u": composer.after("s", g.part()),
            "v": composer.after(["t", "u"], g.part()),
        },
        errors=g.one(*{"fail" if errors == "fail" else "wait" for errors in g.errors}),
    ),
]
TIMED = 2 * [
    # Never 0: at one instant a timer and a step that takes no time may be answered in either order.
    lambda g: composer.sequence(composer.wait(g.one(0.25, 1, 2, 3)), g.part()),
    lambda g: composer.ensure(g.part(), composer.sequence(composer.wait(g.one(1, 3)), g.part())),
    lambda g: composer.timeout(g.one(0.5, 2.5, 6.5, 11.5, 18.5), *g.parts(1, 2)),
    lambda g: composer.timeout(g.one(0.5, 2.5, 6.5, 11.5), composer.ensure(g.part(), g.part())),
    lambda g: composer.within(*g.parts(1, 2), to_end=g.one(0.5, 6.5), in_all=g.one(2.5, 11.5)),
    lambda g: composer.within(composer.retry(2, g.part()), to_end=g.one(2.5, 6.5), in_all=11.5),
    lambda g: composer.retry(g.one(1, 2), g.part(), delay=2, backoff=2, max_delay=3),
    lambda g: composer.retry(1, g.part(), on_exhausted="pause", errors=["Broken"]),
    lambda g: composer.race(*g.branches()),
    lambda g: composer.race(g.part(), g.part()),
]


@st.composite
def compositions(draw, *, errors=("fail", "wait", "collect"), timed=False, depth=4):
    """Compositions; forks with these policies, none when there is none."""
    kinds = PLAIN + (FORKS if errors else []) + (TIMED if timed else [])
    grower = Grower(draw, kinds, errors)
    grower.depth = depth
    return composer.let({"x": 0}, grower.part())


def shown(outcome):
    """An outcome as the one value it is to its caller."""
    match outcome:
        case Success(value):
            return value
        case Failure(code, error):
            return {"code": code, "error": error}
    return None
