"""A history to read: one line for each thing that took time or went wrong."""

from __future__ import annotations

from xingqiao import composer
from xingqiao.composer import Limits, timeline
from xingqiao.composer.testing import Fail, Slow, simulate


def lines(run):
    return timeline([entry.to_json(lambda value: value) for entry in run.history])


def shown(run):
    return [(line.at_ms, line.depth, line.tone, line.label, line.took_ms) for line in lines(run)]


def test_a_sequence_is_told_with_what_each_step_took():
    run = simulate(
        composer.sequence("a", "pkg/b"),
        actions={"a": Slow(1, {"n": 1}), "pkg/b": Slow(2, {"n": 2})},
    )

    assert shown(run) == [
        (0, 0, "plain", "started", None),
        (0, 0, "good", "a", 1000),
        (1000, 0, "good", "pkg/b", 2000),
        (3000, 0, "good", "succeeded", None),
    ]
    assert [line.note for line in lines(run)] == ["{}", '{"n": 1}', '{"n": 2}', '{"n": 2}']


def test_retries_show_the_error_the_delay_and_the_attempt():
    run = simulate(
        composer.retry(2, "a", delay=5), actions={"a": [Fail("Down", "no"), {"ok": True}]}
    )

    told = [(line.tone, line.label, line.note) for line in lines(run)[1:4]]
    assert told == [
        ("bad", "a", "Down: no"),
        ("wait", "attempt 2 in 5000 ms", ""),
        ("wait", "waited", ""),
    ]


def test_branches_stand_deeper_and_after_their_fork():
    run = simulate(composer.parallel("a", "b"), actions={"a": Slow(2, {}), "b": Slow(1, {})})

    assert [(line.depth, line.label, line.took_ms) for line in lines(run)[1:4]] == [
        (0, "fork of 2", 2000),
        (1, "b", 1000),
        (1, "a", 2000),
    ]


def test_a_failure_is_told_where_it_happened_and_at_the_end():
    run = simulate(
        composer.parallel("a", composer.wait(60)), actions={"a": Fail("Broken", {"why": 1})}
    )

    bad = [(line.label, line.note) for line in lines(run) if line.tone == "bad"]
    assert bad == [
        ("fork of 2", "Broken"),
        ("a", 'Broken: {"why": 1}'),
        ("branch failed", 'Broken: {"why": 1}'),
        ("failed", 'Broken: {"why": 1}'),
    ]


def test_an_error_with_a_code_and_a_message_is_short():
    run = simulate(composer.raise_error("NoChoice", "nothing fits"))

    assert lines(run)[-1].note == "NoChoice: nothing fits"


def test_timeouts_waits_functions_and_what_is_started_aside_are_told():
    run = simulate(
        composer.sequence(
            composer.wait(3),
            lambda params: params,
            composer.asynchronous("b"),
            composer.do(composer.timeout(2, "a"), composer.literal({})),
        ),
        actions={"a": Slow(60, {}), "b": {}},
    )

    told = [(line.tone, line.label, line.took_ms) for line in lines(run)]
    assert ("wait", "wait", 3000) in told
    assert ("good", "λ components[1]", 0) in told
    assert ("bad", "timeout of 2 s", None) in told
    assert ("bad", "a", 2000) in told
    assert any(label.startswith("started 0") for _, label, _ in told)


def test_what_is_under_way_is_told_as_such():
    run = simulate(composer.sequence("a", composer.wait(5)), actions={"a": {}}, cancel_at=2)
    before = timeline([entry.to_json(lambda value: value) for entry in run.history[:-2]])

    assert (before[-1].label, before[-1].note) == ("wait", "under way")
    assert [(line.label, line.note) for line in lines(run)][-3:] == [
        ("wait", "cancelled"),
        ("cancel requested", ""),
        ("cancelled", ""),
    ]


def test_a_pause_and_a_redrive_are_told():
    run = simulate(composer.retry(0, "a", on_exhausted="pause"), actions={"a": Fail("Down", "no")})
    assert [(line.tone, line.label, line.note) for line in lines(run)][-1] == (
        "wait", "paused after 1 attempts", "Down: no",
    )  # fmt: skip
    entries = [entry.to_json(lambda value: value) for entry in run.history]
    redriven = {"at": 9, "fiber": "0", "turn": 0, "type": "ExecutionRedriven"}
    accepted = {"at": 9, "fiber": "0", "turn": 1, "type": "StepAccepted"}
    resumed = {"at": 9, "fiber": "0", "turn": 1, "type": "Resumed"}

    labels = [line.label for line in timeline([*entries, resumed, redriven, accepted])]

    assert labels[-3:] == ["resumed", "redriven", "λ"]


def test_a_step_that_answers_later_keeps_its_name_and_has_one_line():
    step = {"fiber": "0", "turn": 1}
    begun = {"at": 5, **step, "type": "StepScheduled", "action": "/guest/approve"}
    accepted = {"at": 9, **step, "type": "StepAccepted"}
    answered = {"at": 25, **step, "type": "StepSucceeded", "value": {"ok": True}}
    cancelled = {"at": 25, "fiber": "0", "turn": 2, "type": "ExecutionCancelled"}

    (waits,) = timeline([begun, accepted])
    (ended,) = timeline([begun, accepted, answered])
    given_up, _ = timeline([begun, accepted, cancelled])

    assert (waits.tone, waits.label, waits.note) == ("wait", "approve", "will answer later")
    assert (ended.tone, ended.label, ended.took_ms, ended.note) == (
        "good",
        "approve",
        20,
        '{"ok": true}',
    )
    assert (given_up.label, given_up.note) == ("approve", "cancelled")


def test_long_values_are_cut():
    run = simulate(composer.literal({"text": "x" * 500}))

    assert len(lines(run)[-1].note) == 72
    assert lines(run)[-1].note.endswith("…")
    failed = simulate(composer.raise_error("No", "x" * 500))
    assert lines(failed)[-1].note.endswith("…")


def test_no_history_is_no_lines():
    assert timeline([]) == []


def test_a_kind_of_entry_that_is_not_known_is_left_out():
    assert timeline([{"at": 1, "fiber": "0", "turn": 0, "type": "Unheard-of"}]) == []


def test_what_ran_elsewhere_says_where_and_what_it_is_billed():
    begun = {"at": 5, "fiber": "0", "turn": 1, "type": "StepScheduled", "action": "/guest/a"}
    ended = {"at": 9, "fiber": "0", "turn": 1, "type": "StepSucceeded", "value": {}}
    told = {
        "cloud": "aws",
        "request": "r1",
        "attempts": 2,
        "billed": 13.5,
        "overhead": 4,
        "took": 9,
    }

    (full,) = timeline([begun, {**ended, "remote": told}])
    (short,) = timeline([begun, {**ended, "remote": {"cloud": "http", "attempts": 1, "took": 9}}])

    assert full.note == "[aws r1, billed 13.5 ms, +4 ms, 2 attempts] {}"
    assert short.note == "[http] {}"


def test_what_failed_elsewhere_says_whether_it_ran():
    begun = {"at": 5, "fiber": "0", "turn": 1, "type": "StepScheduled", "action": "/guest/a"}
    failed = {
        "at": 9,
        "fiber": "0",
        "turn": 1,
        "type": "StepFailed",
        "code": "Lost",
        "value": "cut",
    }

    (line,) = timeline(
        [begun, {**failed, "ran": "unknown", "remote": {"cloud": "http", "attempts": 1, "took": 4}}]
    )

    assert line.note == "[http, ran: unknown] Lost: cut"


def test_messages_are_told_with_the_numbers_of_their_entries():
    part = composer.sequence("a", composer.receive("go"), composer.tell("x", "on"), "b")
    run = simulate(
        part,
        actions={"a": Slow(2, {}), "b": {}},
        messages=[(1, "go", {"n": 1}), (1, "other", None)],
    )

    told = [(line.tone, line.label, line.note) for line in lines(run)]
    assert ("plain", "told go", '{"n": 1}') in told
    assert ("good", "received", "#3") in told
    assert ("wait", "dropped", "#4") in told
    assert "tell on" in [label for _, label, _ in told]


def test_cloudevents_are_told():
    run = simulate(composer.emit({"type": "order.placed", "data": {"n": 1}}))

    (_, line, _) = lines(run)
    assert (line.tone, line.label, line.note) == ("good", "emitted order.placed", '{"n": 1}')


def test_attributes_are_told_and_what_was_refused():
    run = simulate(composer.sequence(composer.annotate(stage=1), "a"), actions={"a": {"n": 1}})
    refused = {
        "at": 9, "fiber": "0", "turn": 0, "type": "AnnotationRefused", "name": "size", "why": "no attribute 'size'",
    }  # fmt: skip

    told = [(line.tone, line.label, line.note) for line in lines(run)]
    assert told[1:3] == [("plain", "annotated", '{"stage": 1}'), ("good", "a", '{"n": 1}')]
    (line,) = timeline([refused])
    assert (line.tone, line.label, line.note) == (
        "bad",
        "not annotated: size",
        "no attribute 'size'",
    )


def test_a_long_history_is_told():
    run = simulate(composer.sequence(*["a"] * 9), actions={"a": {}}, limits=Limits(entries=50))

    told = [(line.tone, line.label, line.note) for line in lines(run)]
    assert ("wait", "history is long", "10 of 50 entries") in told


def test_a_limit_is_told_with_how_long_it_kept_one_waiting():
    part = composer.limit("a", name="api", concurrent=1)
    run = simulate(composer.parallel(part, part), actions={"a": Slow(2, {})})

    told = [(line.at_ms, line.tone, line.label, line.took_ms, line.note) for line in lines(run)]
    assert (0, "plain", "limit api", None, "") in told
    assert (0, "plain", "limit api", 2000, "waited") in told
    waits = [
        line
        for line in timeline([entry.to_json(str) for entry in run.history[:6]])
        if line.label == "limit api"
    ]
    assert [(line.tone, line.note) for line in waits] == [
        ("plain", ""),
        ("wait", "waits (0 before it)"),
    ]
