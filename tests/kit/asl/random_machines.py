"""Random state machines that AWS would take, of every state type and in both query languages.

`machines()` gives definitions as JSON values. Whatever they hold can be run, too, where no Task is
asked for (`tasks=False`): every state is reached in order or by a Choice, so that no run is endless.
"""

from __future__ import annotations

from itertools import count

from hypothesis import strategies as st

NAMES = st.text("abcxyz", min_size=1, max_size=3)
SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-4, 4) | NAMES
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
# Each gives a value whatever the input and the variables are.
PATHS = st.sampled_from(["$", "$$.Execution.Id", "$$.State.Name"])
CALLS = st.sampled_from([
    "States.UUID()", "States.Format('{}', 1)", "States.Array(1, $)", "States.MathAdd(1, 2)",
    "States.JsonToString($)",
])  # fmt: skip
EXPRESSIONS = st.sampled_from([
    "{% 1 + 1 %}", "{% $states.input %}", "{% [1, 2] %}", "{% $string(3) %}", "{% true %}",
])  # fmt: skip
RESOURCES = ("arn:aws:states:::lambda:invoke", "arn:aws:lambda:us-east-1:1:function:f", "known")
ERRORS = st.lists(st.sampled_from(["States.TaskFailed", "States.Timeout", "Mine"]), min_size=1)
COMPARISONS = st.sampled_from([
    {"IsPresent": True}, {"IsNull": False}, {"NumericEquals": 1}, {"StringEquals": "a"},
    {"StringMatches": "a*"}, {"BooleanEquals": True}, {"NumericLessThanPath": "$$.State.RetryCount"},
    {"TimestampLessThan": "2026-01-01T00:00:00Z"},
])  # fmt: skip


@st.composite
def templates(draw, depth=1):
    """A payload template."""
    made = draw(st.dictionaries(NAMES, VALUES, max_size=2))
    made |= {f"{name}D.$": draw(PATHS | CALLS) for name in draw(st.sets(NAMES, max_size=2))}
    if depth and draw(st.booleans()):
        made["inner"] = draw(templates(depth - 1))
    return made


def jsonata_values():
    """A value in which strings are JSONata here and there."""
    return st.recursive(
        SCALARS | EXPRESSIONS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
        max_leaves=6,
    )


@st.composite
def machines(draw, *, depth=1, tasks=True):
    """A whole definition."""
    language = draw(st.sampled_from([None, "JSONPath", "JSONata"]))
    made = draw(_machines(language or "JSONPath", count(), depth, tasks))
    optional = {"Comment": NAMES, "Version": st.just("1.0"), "TimeoutSeconds": st.integers(60, 99)}
    made |= draw(st.fixed_dictionaries({}, optional=optional))
    return made | ({"QueryLanguage": language} if language else {})


@st.composite
def _machines(draw, machine, numbers, depth, tasks):
    names = [f"S{next(numbers)}" for _ in range(draw(st.integers(1, 4)))]
    states = {
        name: draw(_states(machine, names[index + 1 :], (numbers, depth, tasks)))
        for index, name in enumerate(names)
    }
    return {"StartAt": names[0], "States": states}


@st.composite
def _states(draw, machine, later, nesting):
    kinds = ["Pass", "Wait", *(["Task"] if nesting[2] else [])]
    kinds += ["Choice"] if later else ["Succeed", "Fail"]
    kinds += ["Parallel", "Map"] if nesting[1] else []
    kind = draw(st.sampled_from(kinds))
    upgrade = machine == "JSONPath" and draw(st.booleans())
    language = "JSONata" if upgrade else machine
    state = {"Type": kind} | ({"QueryLanguage": language} if upgrade else {})
    state |= draw(st.fixed_dictionaries({}, optional={"Comment": NAMES}))
    if kind not in ("Fail", "Choice", "Succeed"):
        state |= {"Next": later[0]} if later else {"End": True}
    if kind != "Fail":
        state |= draw(_flow(kind, language, nesting[1]))
    return state | draw(_KINDS[kind](language, machine, later, nesting))


@st.composite
def _flow(draw, kind, language, depth):
    optional = {}
    if language == "JSONPath":
        optional |= {"InputPath": PATHS | st.none(), "OutputPath": PATHS | st.none()}
        if kind in ("Pass", "Task", "Parallel", "Map"):
            optional["ResultPath"] = st.sampled_from(["$", "$.r", "$['r s']", None])
        if kind in ("Pass", "Task", "Parallel"):
            optional["Parameters"] = templates()
        if kind in ("Task", "Parallel", "Map"):
            optional["ResultSelector"] = templates()
        assigned = VALUES
    else:
        optional["Output"] = jsonata_values()
        if kind in ("Task", "Parallel"):
            optional["Arguments"] = st.dictionaries(NAMES, jsonata_values(), max_size=2)
        assigned = jsonata_values()
    if kind != "Succeed":
        # Scopes that are nested share no names.
        names = NAMES.map(lambda name: f"{name}{depth}")
        optional["Assign"] = st.dictionaries(names, assigned, max_size=2)
        if language == "JSONPath":
            optional["Assign"] |= st.dictionaries(
                names.map("{}.$".format), PATHS | CALLS, max_size=2
            )
    return draw(st.fixed_dictionaries({}, optional=optional))


def _pass(language, *_):
    return st.fixed_dictionaries({}, optional={"Result": VALUES} if language == "JSONPath" else {})


def _handlers(language, later):
    retrier = st.fixed_dictionaries({"ErrorEquals": ERRORS}, optional={
        "IntervalSeconds": st.integers(1, 3), "MaxAttempts": st.integers(0, 2),
        "BackoffRate": st.sampled_from([1, 1.5, 2.0]), "MaxDelaySeconds": st.integers(5, 9),
        "JitterStrategy": st.sampled_from(["NONE", "FULL"]),
    })  # fmt: skip
    optional = {"Retry": st.lists(retrier, max_size=2)}
    if later:
        more = {"ResultPath": st.just("$.e")}
        if language == "JSONata":
            more = {"Output": st.just("{% $states.errorOutput %}")}
        catcher = st.fixed_dictionaries(
            {"ErrorEquals": ERRORS | st.just(["States.ALL"]), "Next": st.sampled_from(later)},
            optional=more,
        )
        optional["Catch"] = st.lists(catcher, max_size=1)
    return optional


def _task(language, _, later, __):
    seconds = st.integers(60, 99)
    if language == "JSONata":
        seconds |= st.just("{% 60 %}")
    optional = {"TimeoutSeconds": seconds, "HeartbeatSeconds": st.integers(1, 59)}
    return st.fixed_dictionaries(
        {"Resource": st.sampled_from(RESOURCES)},
        optional=optional | _handlers(language, later),
    )


@st.composite
def _rules(draw, depth=2):
    kind = draw(
        st.sampled_from(["Variable", "Variable", "And", "Or", "Not"] if depth else ["Variable"])
    )
    if kind == "Variable":
        return {"Variable": draw(PATHS)} | draw(COMPARISONS)
    if kind == "Not":
        return {"Not": draw(_rules(depth - 1))}
    return {kind: draw(st.lists(_rules(depth - 1), min_size=1, max_size=2))}


@st.composite
def _choice(draw, language, _, later, __):
    rules = []
    for _ in range(draw(st.integers(1, 3))):
        if language == "JSONata":
            rule = {"Condition": draw(st.sampled_from(["{% 1 = 1 %}", "{% false %}", True]))}
        else:
            rule = draw(_rules())
        rules.append(rule | {"Next": draw(st.sampled_from(later))})
    return {"Choices": rules, "Default": later[0]}


def _wait(language, *_):
    forms = [
        {"Seconds": st.integers(0, 2)},
        {"Timestamp": st.just("2016-03-14T01:59:00Z")},
    ]
    if language == "JSONata":
        forms += [{"Seconds": st.just("{% 0 %}")}]
    else:
        forms += [{"TimestampPath": st.just("$$.Execution.StartTime")}]
    return st.one_of([st.fixed_dictionaries(form) for form in forms])


def _succeed(*_):
    return st.just({})


def _fail(language, *_):
    optional = {"Error": NAMES, "Cause": NAMES}
    if language == "JSONPath":
        return st.fixed_dictionaries({}, optional=optional) | st.just(
            {"ErrorPath": "$$.State.Name", "CausePath": "States.Format('{}', 'why')"}
        )
    return st.fixed_dictionaries({}, optional=optional)


@st.composite
def _parallel(draw, language, machine, later, nesting):
    numbers, depth, tasks = nesting
    branches = [
        draw(_machines(machine, numbers, depth - 1, tasks)) for _ in range(draw(st.integers(1, 2)))
    ]
    return {"Branches": branches} | draw(
        st.fixed_dictionaries({}, optional=_handlers(language, later))
    )


@st.composite
def _map(draw, language, machine, later, nesting):
    numbers, depth, tasks = nesting
    processor = draw(_machines(machine, numbers, depth - 1, tasks))
    field = draw(st.sampled_from(["ItemProcessor", "Iterator"]))
    if field == "ItemProcessor":
        processor |= draw(st.sampled_from([{}, {"ProcessorConfig": {"Mode": "INLINE"}}]))
    optional = {
        "MaxConcurrency": st.integers(0, 3),
        "ToleratedFailurePercentage": st.integers(0, 100),
    }
    if language == "JSONata":
        items = {"Items": st.lists(SCALARS, max_size=3) | st.just("{% [1, 2] %}")}
        optional["ItemSelector"] = jsonata_values()
    else:
        items = {"ItemsPath": st.just("$$.Execution.Input")}
        optional["ItemSelector"] = templates()
    return {field: processor} | draw(
        st.fixed_dictionaries(items, optional=optional | _handlers(language, later))
    )


_KINDS = {
    "Pass": _pass, "Task": _task, "Choice": _choice, "Wait": _wait, "Succeed": _succeed,
    "Fail": _fail, "Parallel": _parallel, "Map": _map,
}  # fmt: skip
