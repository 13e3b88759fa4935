"""The combinator for the timeouts of a step."""

from __future__ import annotations

import json

import pytest

from xingqiao import composer
from xingqiao.composer import CompositionError
from xingqiao.composer.languages import asl

NEEDS_ONE = "needs a single action, or a retry of one, as the only part"


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda: composer.within("a"), "within: give at least one of 'to_start', 'to_end'"),
        (lambda: composer.within("a", "b", heartbeat=1), f"within: 'heartbeat' {NEEDS_ONE}"),
        (
            lambda: composer.within(composer.retry(1, "a", "b"), to_start=1),
            f"'to_start' {NEEDS_ONE}",
        ),
        (lambda: composer.within("a", to_end=0), "within: 'to_end' must be a number > 0"),
        (lambda: composer.within("a", till=3), "unexpected keyword argument 'till'"),
    ],
)
def test_wrong_use_is_refused(build, why):
    with pytest.raises((CompositionError, TypeError), match=why):
        build()


def test_it_is_written_and_read():
    part = composer.within(composer.retry(3, "a"), to_start=5, to_end=30, in_all=300, heartbeat=20)
    doc = json.loads(json.dumps(part.to_json()))

    assert {name: doc[name] for name in ("to_start", "to_end", "in_all", "heartbeat")} == {
        "to_start": 5.0, "to_end": 30.0, "in_all": 300.0, "heartbeat": 20.0,
    }  # fmt: skip
    program = composer.compile(composer.parse(doc))
    assert program.hash == composer.compile(part).hash
    again = composer.Program.from_json(json.loads(json.dumps(program.to_json())), composer.DIALECTS)
    assert again.hash == program.hash


def test_it_reads_as_a_method():
    assert composer.action("a").within(to_end=3) == composer.within("a", to_end=3)


def test_it_compiles_around_the_retry_and_within_it():
    part = composer.within(composer.retry(3, "a"), to_start=5, to_end=30, in_all=300)
    names = [
        getattr(step, "bound", None) or type(step).__name__
        for step in composer.compile(part).instructions
    ]

    assert names == [
        "in_all", "Attempt", "to_start", "to_end", "Invoke", "Leave", "Leave", "Settle", "Leave", "End"
    ]  # fmt: skip


def test_a_plain_timeout_is_compiled_as_before():
    (limit, *_) = composer.compile(composer.timeout(5, "a")).to_json()["instructions"]

    assert limit == {"op": "Limit", "timeout_ms": 5000}


def test_it_is_drawn_with_its_times():
    drawing = composer.dot(composer.within("a", to_end=30, in_all=300, heartbeat=20, to_start=5))

    assert (
        "taken within 5 s, each attempt within 30 s, a heartbeat every 20 s, within 300 s in all"
        in drawing
    )


def test_the_states_language_has_no_counterpart():
    with pytest.raises(asl.ExportError) as refused:
        asl.export(composer.within("a", in_all=5))
    assert refused.value.flaws[0].why == "it has no counterpart"


def test_the_states_language_cannot_leave_failures_out():
    with pytest.raises(asl.ExportError) as refused:
        asl.export(composer.retry(1, "a", except_errors="E"))
    assert "leave out 'except_errors'" in refused.value.flaws[0].why
