"""What has no counterpart in the States Language is told at once, and where it stands."""

from __future__ import annotations

import pytest

from xingqiao import composer as c
from xingqiao.composer import path, var
from xingqiao.composer.languages.asl import ExportError, export

NO_COUNTERPART = {
    "an inline function is code": lambda params: params,
    "a Task names its resource": c.dynamic(),
    "nothing starts there that is not waited for": c.asynchronous("a"),
    "it has no finalizers": c.ensure("a", "b"),
    "no state ends with the first of its branches": c.race("a", "b"),
    "state machines have no entities": c.call("account", "k", "get"),
    "state machines undo nothing": c.saga(c.step("a", undo="b")),
    "state machines have no transactions": c.transaction(c.call("account", "k", "set")),
    "no state begins when some branches": c.graph({"a": "a", "b": c.after("a", "b")}),
    "no state waits for an operator": c.retry(1, "a", on_exhausted="pause"),
    "there is no one name for all errors": c.do("a", "b", errors=["ApplicationError"]),
    "only one Task, or the whole machine": c.sequence("a", c.timeout(5, "a", "b")),
    "only one Task, or the whole machine, has": c.timeout(5.5, "a", "b"),
    "a timeout must be a whole number of seconds, not 0.5": c.timeout(0.5, "a"),
    "several places has no counterpart": c.select(path("$.l[*].n")),
    "no enclosing let declares 'x'": c.assign(x=1),
    "no enclosing let declares 'y'": c.let({"x": 1}, c.select(var("y", default=1))),
    "the items to map over are not a list": c.map("a", items={"n": 1}),
    "'soon' is not a number of seconds": c.wait(c.Template.of("soon").to_json()),
    "'soon' is neither an ISO 8601 instant": c.wait(until="soon"),
    "neither an ISO 8601 instant nor epoch seconds": c.wait(until=1e12),
    "/_/p/a and /_/a would both be": c.sequence("a", "p/a"),
    "is not a name of a Lambda function": "my action",
}


def arn(name):
    return f"arn:aws:lambda:us-east-1:111111111111:function:{name.rpartition('/')[2]}"


@pytest.mark.parametrize(("why", "part"), NO_COUNTERPART.items(), ids=NO_COUNTERPART)
def test_what_has_no_counterpart_is_told(why, part):
    with pytest.raises(ExportError) as refused:
        export(c.task(part), resource=arn)

    (found,) = refused.value.flaws
    assert why in found.why
    assert why in str(refused.value)


def test_all_that_has_no_counterpart_is_told_at_once_and_where_it_stands():
    composition = c.let({"x": 1}, c.do("a", c.ensure("b", "a")), c.when(c.dynamic(), "a"))

    with pytest.raises(ExportError) as refused:
        export(composition)

    assert [(found.path, found.combinator) for found in refused.value.flaws] == [
        ("components[0].handler", "finally"),
        ("components[1].test", "dynamic"),
    ]
