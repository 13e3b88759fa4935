"""A replay takes from the record who heard which message, and which deadline has passed."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from tests.kit.composer.mail import MailWorld
from xingqiao import composer
from xingqiao.composer import RedriveError, all_of, any_of, receive, within
from xingqiao.composer.machine.events import Heartbeat, Queued, Taken
from xingqiao.composer.machine.reset import ResetError, reset
from xingqiao.composer.names import activation_id
from xingqiao.composer.values import Failure

OTHER = activation_id("1" * 32, "world", 0)
EARLY = receive("go", early="drop")


class Gaps(MailWorld):
    """A world in which other events may come before what needs none."""

    more = False

    def take(self, changes):
        self.commit(changes)
        self.carry_out(changes)
        self.more = changes.more
        return changes

    def go_on(self):
        while self.more:
            self.take(self.execution.proceed(self.now))


def forked(world, to, composition=None):
    """Another world, whose execution begins at an entry of this one's history."""
    other = type(world)(composition or composer.sequence(), begin=False)
    if composition is None:
        other.program = world.program
    other.now = world.now
    other.history = json.loads(json.dumps(world.history[:to]))
    about = {"how": "fork", "from": world.execution.id, "entry": to}
    made = reset(OTHER, other.program, other.history, other.limits, world.now, about=about)
    other.execution, changes = made
    other.take(changes)
    return other


def entry(world, kind):
    """The number of the last entry of a kind."""
    return max(n for n, e in enumerate(world.history, 1) if e["type"] == kind)


# --- messages -------------------------------------------------------------------------------------


def test_what_was_dropped_is_not_heard():
    limits = composer.Limits(instructions=1)
    world = Gaps(composer.parallel(composer.sequence(EARLY, "b"), "c"), limits=limits)
    world.tell("go", "OLD")  # before the branch runs
    world.go_on()
    world.tell("go", "NEW")
    world.go_on()
    world.fail("b")

    world.redrive()
    world.go_on()

    assert world.under_way["0/1.0", 2].params == {"value": "NEW"}
    assert world.undelivered == []


def test_who_heard_is_who_hears():
    """A branch that has used up its share begins to wait later than a replay lets it."""
    long = composer.sequence(*[composer.select({"n": n}) for n in range(30)], receive("go"), "x")
    world = Gaps(
        composer.parallel(long, composer.sequence("a", receive("go"), "y")),
        limits=composer.Limits(instructions=10),
    )
    world.take(world.execution.proceed(world.now))
    while not world.steps:
        world.take(world.execution.proceed(world.now))
    world.complete("a")
    world.now += 1
    world.tell("go", 1)
    heard = [e["fiber"] for e in world.history if e["type"] == "MessageConsumed"]
    world.go_on()
    world.tell("go", 2)
    world.go_on()
    world.fail("y")

    world.redrive()
    world.go_on()

    assert heard == ["0/1.1"]
    assert world.under_way["0/1.0", 2].params == {"value": 2}
    assert world.under_way["0/1.1", 3].params == {"value": 1}


def test_a_wait_that_timed_out_hears_what_came_later_and_the_history_tells_it():
    late = receive("go", timeout=5)
    world = MailWorld(composer.parallel(late, "a", errors="wait"))
    world.pass_time(5)
    world.tell("go", "late", id="x")
    world.complete("a")
    assert world.outcome.code == "Timeout"

    world.redrive()

    assert world.outcome.value == {"value": [{"value": "late"}, {}]}
    assert world.kinds()[-4:] == [
        "ExecutionRedriven",
        "MessageConsumed",
        "Joined",
        "ExecutionSucceeded",
    ]


def test_what_a_redrive_heard_is_heard_by_the_next_one():
    late = composer.sequence(receive("go", timeout=5), "b")
    world = MailWorld(composer.parallel(late, "a", errors="wait"))
    world.pass_time(5)
    world.tell("go", "first")
    world.tell("go", "second")
    world.complete("a")
    for _ in range(3):
        world.redrive()
        assert world.steps == ["b"]
        assert world.undelivered == [world.history.index(told(world, "second")) + 1]
        world.crash()
        world.fail("b")

    assert {step.params["value"] for step in world.invoked[1:]} == {"first"}


def told(world, payload):
    return next(e for e in world.history if e.get("value") == payload)


def test_what_is_left_satisfies_each_fiber_once():
    wait = receive("go", timeout=5)
    world = MailWorld(composer.sequence(composer.race(wait, wait), receive("go"), "b"))
    world.execution.inbox = None
    world.tell("x")
    world.pass_time(5)
    assert world.outcome is None or isinstance(world.outcome, Failure)
    history = json.loads(json.dumps(world.history))
    at = next(n for n, e in enumerate(history) if e["type"] == "TimedOut")
    went = {"fiber": "0", "turn": 0, "type": "MessageReceived", "name": "go", "at": 0}
    world.history = [*history[:at], {**went, "value": 1}, {**went, "value": 2}]

    other = forked(world, len(world.history))

    assert other.steps == ["b"]
    assert other.under_way["0", 3].params == {"value": 2}, "the loser of the race has taken none"


def test_messages_that_a_finalizer_heard_are_there_again():
    world = MailWorld(composer.ensure("a", receive(any_of("go", "x"), early="drop")))
    world.tell("x")
    world.fail("a")
    world.tell("go", 1)
    assert [e["why"] for e in world.history if e["type"] == "MessageDropped"] == ["early"]
    failed = {**world.history[-1], "type": "ExecutionFailed", "code": "Broken", "origin": 1}
    world.history[-1] = failed  # as if something after it had failed
    world.outcome = None

    world.redrive()

    assert world.steps == ["a"]
    assert len(world.undelivered) == 2


def test_what_came_before_a_wait_that_wants_none_of_it_is_dropped():
    """The entry for it would have been the next one."""
    world = MailWorld(composer.sequence("a", EARLY, "b"))
    world.tell("go", "OLD")
    world.complete("a")
    world.tell("go", "NEW")

    other = forked(world, entry(world, "StepSucceeded"))
    assert other.kinds()[-2:] == ["ExecutionReset", "MessageDropped"]
    other.tell("go", "LATER")
    other.fail("b")
    other.execution, _ = composer.redrive(
        OTHER, other.program, other.history, other.limits, other.now
    )

    assert other.invoked[-1].params == {"value": "LATER"}
    assert other.undelivered == []


def test_ids_of_messages_that_were_heard_are_known():
    world = MailWorld(composer.sequence(receive("go"), "a"))
    world.tell("go", 1, id="x")
    world.fail("a")

    world.redrive()

    assert world.tell("go", 2, id="x").stale


@pytest.mark.parametrize("end", [True, False])
def test_a_run_that_would_end_at_once_is_not_begun(end):
    world = MailWorld(composer.sequence(receive("go"), *([] if end else ["a"])))
    world.tell("go", 1)

    if end:
        with pytest.raises(ResetError, match="choose one before it"):
            forked(world, entry(world, "MessageReceived"))
    else:
        assert forked(world, entry(world, "MessageReceived")).steps == ["a"]


@pytest.mark.parametrize(
    "other",
    [
        composer.sequence("b", "a"),
        composer.sequence(receive("other"), "a"),
        composer.sequence(receive(all_of("go", "other")), "a"),
    ],
)
def test_another_program_must_have_heard_the_same(other):
    world = MailWorld(composer.sequence(receive("go"), "a"))
    world.tell("go", 1)
    world.fail("a")

    with pytest.raises(RedriveError, match="does not agree"):
        world.redrive(other)


def test_a_message_that_has_not_come_cannot_be_heard():
    world = MailWorld(composer.sequence(receive("go"), "a"))
    world.tell("go", 1)
    world.fail("a")
    world.history[entry(world, "MessageConsumed") - 1]["messages"] = [99]

    with pytest.raises(RedriveError, match="waits for other messages"):
        world.redrive()


# --- deadlines ------------------------------------------------------------------------------------


def test_a_step_that_no_worker_took_in_time_has_timed_out():
    step = composer.do(within("a", to_start=5), composer.select({"late": 1}))
    world = MailWorld(composer.sequence(step, "b"))
    world.deliver("0", Queued(1))
    world.pass_time(5)
    world.fail("b")

    world.redrive()

    assert world.steps == ["b"]
    assert world.invoked[-1].params == {"late": 1}


def test_the_deadline_that_passed_passes_again_and_no_other():
    step = within("a", heartbeat=20, to_end=50)
    world = MailWorld(composer.sequence(composer.do(step, composer.select({"late": 1})), "b"))
    for _ in range(4):
        world.pass_time(12)
        world.deliver("0", Heartbeat(1))
    world.pass_time(5)
    world.fail("b")

    world.redrive()

    assert world.steps == ["b"]


def test_a_step_that_was_taken_late_has_timed_out_late():
    step = composer.do(within("a", to_end=5), composer.select({"late": 1}))
    world = MailWorld(composer.sequence(step, "b"))
    world.deliver("0", Queued(1))
    world.pass_time(60)
    world.deliver("0", Taken(1))
    world.pass_time(5)
    world.fail("b")

    world.redrive()

    assert world.steps == ["b"]


def test_another_run_sleeps_as_long_between_attempts_as_the_first_one_did():
    world = MailWorld(composer.retry(3, "a", delay=10, jitter=1))
    for _ in range(3):
        world.fail("a")
        world.pass_time(100)

    other = forked(world, len(world.history))

    assert other.steps == ["a"]


def test_another_program_must_have_had_the_same_deadline():
    world = MailWorld(composer.sequence(composer.do(composer.timeout(5, "a"), "c"), "b"))
    world.pass_time(5)
    world.complete("c")
    world.fail("b")

    for other in (composer.do(composer.timeout(6, "a"), "c"), composer.do("a", "c")):
        with pytest.raises(RedriveError, match="does not wait for it"):
            world.redrive(composer.sequence(other, "b"))


def test_a_timer_of_another_program_that_does_not_sleep_there_is_refused():
    world = MailWorld(composer.sequence(composer.wait(5), "a"))
    world.pass_time(5)
    world.fail("a")

    with pytest.raises(RedriveError, match="does not wait for it"):
        world.redrive(composer.sequence("b", "a"))


# --- laws -----------------------------------------------------------------------------------------

NAMES = ("x", "y")
WANTS = st.sampled_from(["x", "y", any_of("x", "y"), all_of("x", "y"), all_of("x", any_of("y"))])


def waits(*, timed):
    wait = st.builds(
        lambda want, early: receive(want, early=early), WANTS, st.sampled_from(["keep", "drop"])
    )
    if not timed:
        return wait
    late = st.builds(
        lambda want, s: composer.do(receive(want, timeout=s), composer.select({"late": s})),
        WANTS,
        st.integers(1, 9),
    )
    return st.one_of(wait, wait, late)


def mailing(*, timed):
    """Compositions of steps, waits for messages and branches."""
    leaf = st.one_of(st.sampled_from("abc").map(composer.action), waits(timed=timed))

    def grown(parts):
        several = st.lists(parts, min_size=2, max_size=3)
        return st.one_of(
            several.map(lambda drawn: composer.sequence(*drawn)),
            st.builds(
                lambda drawn, errors: composer.parallel(*drawn, errors=errors),
                several,
                st.sampled_from(["fail", "wait"]),
            ),
        )

    return st.recursive(leaf, grown, max_leaves=8)


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("tell"), st.sampled_from(NAMES)),
        st.tuples(st.just("answer"), st.integers(0, 3)),
        st.tuples(st.just("answer"), st.integers(0, 3)),
        st.tuples(st.just("pass"), st.integers(1, 5)),
        st.just(("go on", 0)),
    ),
    max_size=20,
)


def answer(world, place, value=None):
    """The step at a place succeeds, or fails if no value is given."""
    turn = world.under_way.pop(place).turn
    failed = composer.Failed(turn, Failure("Broken", "broken"))
    world.deliver(place[0], failed if value is None else composer.Completed(turn, value))


def act(world, what, which, count):
    if what == "tell":
        world.tell(which, count)
    elif what == "answer" and world.under_way:
        answer(world, [*world.under_way][which % len(world.under_way)], {"n": count})
    elif what == "pass":
        world.go_on()
        world.pass_time(which)
        world.go_on()
    elif what == "go on":
        world.go_on()


def ended(world, failing):
    """Lets the execution end; the step `failing` of those under way then fails."""
    world.go_on()
    for count in range(100, 200):
        if world.outcome is not None:
            return
        if world.under_way:
            place = [*world.under_way][failing % len(world.under_way)]
            answer(world, place, None if failing >= 0 else {"n": count})
            failing = -1
        else:
            world.tell(NAMES[count % 2], count)
        world.go_on()


def asked(world, entries):
    """The steps that were asked for up to some entry and not answered by then, and those that were."""
    answered = {(e["fiber"], e["turn"]) for e in entries if e["type"] == "StepSucceeded"}
    scheduled = {(e["fiber"], e["turn"]) for e in entries if e["type"] == "StepScheduled"}
    over = {(e["fiber"], e["turn"]) for e in entries if e["type"] == "TimedOut"}
    return scheduled - answered - over, answered


def recorded(world):
    """The steps by place, as they were first asked for."""
    return {**world.places}


class Noting(Gaps):
    """Keeps every step by its place."""

    def __init__(self, *args, **options):
        self.places = {}
        super().__init__(*args, **options)

    def invoke(self, fiber, command):
        super().invoke(fiber, command)
        self.places[fiber, command.turn] = (command.action, command.params)


def stands_as_recorded(other, places, entries):
    open, done = asked(other, entries)
    for place in open:
        command = other.under_way[place]
        assert (command.action, command.params) == places[place]
    assert not done & {*other.under_way}


@given(mailing(timed=True), ACTS, st.integers(0, 3), st.sampled_from([1, 3, 1000]), st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_it_stands_where_it_stood(composition, acts, failing, share, data):
    world = Noting(composition, limits=composer.Limits(instructions=share))
    for count, (what, which) in enumerate(acts):
        if world.outcome is None:
            act(world, what, which, count)
    ended(world, failing)
    assume(isinstance(world.outcome, Failure) and world.outcome.code == "Broken")
    event("messages" if "MessageConsumed" in world.kinds() else "no message")
    places, entries = recorded(world), world.history[:]
    broken = next(n for n, e in enumerate(entries) if e["type"] == "StepFailed")

    to = data.draw(st.integers(1, broken))
    other = forked(world, to)
    world.redrive()

    stands_as_recorded(world, places, entries)
    stands_as_recorded(other, places, entries[:to])


@given(mailing(timed=False), ACTS, st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_from_any_entry_it_ends_as_it_did(composition, acts, data):
    """The rest of what happened happens again: messages in their order, and each step's answer."""
    world = Noting(composition)
    world.go_on()
    for count, (what, which) in enumerate(acts):
        if world.outcome is None and what != "pass":
            act(world, what, which, count)
            world.go_on()
    ended(world, -1)
    assert world.outcome is not None
    to = data.draw(st.integers(1, len(world.history)))
    try:
        other = forked(world, to)
    except ResetError as error:
        assert "choose one before it" in str(error)  # noqa: PT017  some entries are the end
        assume(False)
    other.go_on()
    for happened in world.history[to:]:
        if happened["type"] == "MessageReceived":
            other.tell(happened["name"], happened["value"])
        elif happened["type"] == "StepSucceeded":
            answer(other, (happened["fiber"], happened["turn"]), happened["value"])
        other.go_on()

    assert other.outcome == world.outcome
