"""Who hears a message: the semantics of messages, one test each, and against a small reference."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.composer.mail import MailWorld
from xingqiao import composer
from xingqiao.composer import Failure, Message, Success, all_of, any_of, path, receive, tell
from xingqiao.composer.machine import inbox as bounds
from xingqiao.composer.machine.listening import accepts

GO = receive("go")


def told(world):
    return [entry["type"] for entry in world.history if entry["type"].startswith("Message")]


# --- one fiber ------------------------------------------------------------------------------------


def test_a_message_that_comes_while_it_waits_is_its_value():
    world = MailWorld(GO)

    world.tell("go", {"by": "anna"})

    assert world.outcome == Success({"by": "anna"})
    assert world.kinds() == [
        "ExecutionStarted",
        "MessageReceived",
        "MessageConsumed",
        "ExecutionSucceeded",
    ]
    assert world.history[2]["messages"] == [2]


def test_a_message_that_came_before_is_heard_as_soon_as_it_waits():
    world = MailWorld(composer.sequence("a", GO))
    world.tell("go", 7)
    assert world.undelivered == [3]

    world.complete("a")

    assert world.outcome == Success({"value": 7})
    assert not world.messages


def test_it_knows_since_when_the_last_of_its_fibers_waits():
    world = MailWorld(composer.parallel(GO, composer.sequence("a", GO)))
    assert world.execution.since_ms == 0
    world.now = 7

    world.complete("a")

    assert world.execution.since_ms == 7
    world.tell("go", 1)
    world.tell("go", 2)
    assert world.execution.since_ms == 0


def test_a_payload_that_is_an_error_fails_the_part():
    world = MailWorld(composer.do(GO, composer.select({"was": path("$.error")})))

    world.tell("go", {"error": "no"})

    assert world.outcome == Success({"was": "no"})


def test_several_names_give_an_object():
    world = MailWorld(receive(all_of("a", any_of("b", "c"))))

    for name in "cba":
        world.tell(name, name.upper())

    assert world.outcome == Success({"a": "A", "c": "C"})
    assert world.kinds()[-2:] == ["MessageDropped", "ExecutionSucceeded"], "nobody heard b"


def test_messages_of_one_name_are_heard_in_order_of_arrival():
    world = MailWorld(composer.sequence("a", composer.parallel(GO, composer.sequence("b", GO))))
    for n in range(2):
        world.tell("go", n)

    world.complete("a")
    world.complete("b")

    assert world.outcome == Success({"value": [{"value": 0}, {"value": 1}]})


def test_messages_that_came_early_may_be_dropped():
    world = MailWorld(composer.sequence("a", receive("go", early="drop")))
    world.tell("go", "early")
    world.tell("other", 1)
    world.complete("a")
    assert world.undelivered == [4]

    world.tell("go", "late")

    assert world.outcome == Success({"value": "late"})
    assert [e["why"] for e in world.history if e["type"] == "MessageDropped"] == ["early", "closed"]


def test_a_wait_that_times_out_has_received_nothing():
    both = composer.do(receive(all_of("a", "b"), timeout=5), composer.select({}))
    world = MailWorld(composer.sequence(both, receive("a")))
    world.tell("a", 1)

    world.pass_time(5)

    assert world.outcome == Success({"value": 1})


def test_a_message_after_the_timeout_is_stale_for_it():
    world = MailWorld(
        composer.sequence(composer.do(receive("go", timeout=5), composer.select({})), "b")
    )
    world.pass_time(5)

    world.tell("go", 1)

    assert world.steps == ["b"]
    assert world.undelivered == [4]


def test_values_too_large_together_fail():
    limits = composer.Limits(value_bytes=100)
    world = MailWorld(receive(all_of("a", "b")), limits=limits)
    world.tell("a", "x" * 60)

    world.tell("b", "x" * 60)

    assert world.outcome.code == "LimitExceeded"


def test_waits_count_as_steps():
    world = MailWorld(composer.sequence(GO, GO), limits=composer.Limits(steps=1))

    world.tell("go")

    assert world.outcome.code == "LimitExceeded"


# --- several fibers -------------------------------------------------------------------------------


def test_a_message_wakes_the_fiber_that_began_to_wait_first():
    world = MailWorld(composer.parallel(composer.sequence("a", GO), GO))
    world.now = 10
    world.complete("a")

    world.tell("go", "first")
    world.tell("go", "second")

    assert world.outcome == Success({"value": [{"value": "second"}, {"value": "first"}]})


def test_of_fibers_that_began_at_once_the_first_by_id_hears():
    world = MailWorld(composer.parallel(GO, GO))

    world.tell("go", "first")
    world.tell("go", "second")

    assert world.outcome == Success({"value": [{"value": "first"}, {"value": "second"}]})


def test_a_fiber_that_it_does_not_satisfy_is_passed_over():
    world = MailWorld(composer.parallel(receive(all_of("go", "more")), GO))

    world.tell("go", 1)

    assert [fiber.id for fiber in world.execution.fibers.values() if fiber.id != "0"] == ["0/1.0"]


def test_the_loser_of_a_race_hears_nothing_more():
    world = MailWorld(
        composer.sequence(composer.race(receive("a"), receive("b")), "next", receive("b"))
    )
    world.tell("a", 1)
    world.tell("b", 2)

    world.complete("next")

    assert world.outcome == Success({"value": 2})


# --- ids, bounds, ends ----------------------------------------------------------------------------


def test_an_id_is_taken_once():
    world = MailWorld(composer.sequence(GO, GO))

    world.tell("go", 1, id="x")
    again = world.tell("go", 2, id="x")

    assert again.stale
    assert world.outcome is None


def test_what_nobody_heard_stands_in_the_history_as_dropped():
    world = MailWorld(composer.sequence("a"))
    world.tell("x")
    world.tell("y")

    world.complete("a")

    assert world.kinds()[-2:] == ["MessageDropped", "ExecutionSucceeded"]
    assert world.history[-2]["messages"] == [3, 4]
    assert not world.messages


@pytest.mark.parametrize("end", ["cancel", "terminate"])
def test_an_execution_that_waits_may_be_ended(end):
    world = MailWorld(GO)
    world.tell("x")

    getattr(world, end)()

    assert world.outcome.code == "Cancelled"
    assert not world.messages


def test_a_finalizer_may_wait_for_a_message():
    world = MailWorld(composer.ensure("a", GO))
    world.cancel()
    world.cancel()

    world.tell("go", 1)

    assert world.outcome.code == "Cancelled"


def test_it_can_be_told_with_its_start():
    world = MailWorld(GO, begin=False)
    message = Message(2, "go", "", 1)

    world.take(world.execution.begin({}, 0, told=(message,)))

    assert world.outcome == Success({"value": 1})
    assert world.kinds()[:3] == ["ExecutionStarted", "MessageReceived", "MessageConsumed"]


def test_an_inbox_is_full_unless_somebody_hears_at_once(monkeypatch):
    monkeypatch.setattr("xingqiao.composer.machine.listening.MAX_MESSAGES", 2)
    world = MailWorld(receive(all_of("go", "x")))
    empty = accepts(None, (), world.program, Message(1, "y", "", None))
    world.tell("x")
    world.tell("y")

    def takes(name):
        machine, message = world.execution, Message(9, name, "", None)
        return accepts(machine.inbox, machine.fibers.values(), machine.program, message)

    assert (empty, takes("y"), takes("go")) == (True, False, True)
    assert bounds.MAX_MESSAGES == 10_000


@pytest.mark.parametrize(("size", "room"), [(40, True), (41, False)])
def test_an_inbox_is_full_at_so_many_bytes(monkeypatch, size, room):
    monkeypatch.setattr("xingqiao.composer.machine.listening.MAX_INBOX_BYTES", 100)
    world = MailWorld(GO)
    world.take(world.execution.tell(Message(2, "x", "", None, 60), 0))

    def takes(name):
        machine, message = world.execution, Message(3, name, "", None, size)
        return accepts(machine.inbox, machine.fibers.values(), machine.program, message)

    assert (takes("x"), takes("go")) == (room, True)
    assert bounds.MAX_INBOX_BYTES == 16 << 20


# --- crashes and redrives -------------------------------------------------------------------------


def test_what_waits_survives_a_crash_in_order():
    world = MailWorld(composer.sequence("a", GO, GO))
    world.tell("go", 1, id="x")
    world.tell("go", 2)
    world.crash()
    assert world.tell("go", 3, id="x").stale

    world.complete("a")

    assert world.outcome == Success({"value": 2})


def test_a_fiber_that_waits_survives_a_crash():
    world = MailWorld(composer.parallel(composer.sequence("a", GO), receive("go", timeout=60)))
    world.now = 10
    world.complete("a")
    world.crash()

    world.tell("go", "first")

    assert world.history[-1]["fiber"] == "0/1.1"


def test_a_step_after_a_message_survives_a_crash():
    """What a step leads to can be told by the history, but not across a message that was heard."""
    world = MailWorld(composer.sequence("a", GO, "b", "c"))
    world.tell("go", 1)
    world.complete("a")
    world.crash()
    assert world.steps == ["b"]
    world.complete("b")
    world.crash()

    world.complete("c", {"done": True})

    assert world.outcome == Success({"done": True})


def test_a_redrive_goes_on_with_the_messages_that_were_there():
    world = MailWorld(composer.sequence(GO, "a", GO))
    world.tell("go", 1)
    world.tell("go", 2, id="x")
    world.fail("a")

    world.redrive()
    assert [*world.messages] == [5]
    assert world.tell("go", 3, id="x").stale
    world.complete("a")

    assert world.outcome == Success({"value": 2})


def test_a_redrive_after_a_timeout_waits_again():
    world = MailWorld(receive("go", timeout=5))
    world.pass_time(5)
    assert world.outcome.code == "Timeout"

    world.redrive()
    world.tell("go", 1)

    assert world.outcome == Success({"value": 1})


def test_a_redrive_tells_what_came_with_the_start_before_the_first_part():
    world = MailWorld(composer.sequence(receive("go", early="drop"), "a"), begin=False)
    world.take(world.execution.begin({}, 0, told=(Message(2, "go", "", "early"),)))
    world.tell("go", "late")
    world.fail("a")

    world.redrive()

    assert world.steps == ["a"]
    assert world.under_way["0", 2].params == {"value": "late"}


def test_a_redrive_may_end_it_by_a_message_that_came_after_the_timeout():
    world = MailWorld(composer.ensure(receive("go", timeout=5), composer.sequence("tidy")))
    world.pass_time(5)
    world.tell("go", 1)
    world.fail("tidy", error="broken")

    world.redrive()

    assert world.steps == ["tidy"]


# --- a step that tells ----------------------------------------------------------------------------


def test_tell_is_a_step():
    world = MailWorld(tell(path("$.to"), "go", {"n": path("$.n")}), {"to": "other", "n": 7})
    [(place, command)] = world.under_way.items()

    world.deliver("0", composer.Completed(command.turn, {"executionId": "other", "message": "m"}))

    assert place == ("0", 1)
    assert (command.tell.execution, command.tell.name, command.params) == ("other", "go", {"n": 7})
    assert command.tell.id == command.activation
    assert world.history[1]["tell"] == "go"
    assert world.outcome == Success({"executionId": "other", "message": "m"})


def test_a_step_that_tells_is_sent_again_after_a_crash_with_the_same_id():
    world = MailWorld(tell("other", "go"))
    [before] = world.invoked

    world.crash()

    assert world.invoked[-1].tell == before.tell


def test_all_attempts_of_a_step_of_a_saga_tell_with_the_same_id():
    part = composer.retry(1, tell("other", "go"))
    world = MailWorld(composer.saga(composer.step(part, no_undo="a message is told")))
    [first] = world.invoked

    world.deliver("0", composer.Failed(first.turn, Failure("Broken", "broken")))

    assert world.invoked[-1].tell.id == first.tell.id


@pytest.mark.parametrize(
    ("to", "params"), [(path("$.to"), {"to": 7}), (path("$.to"), {}), ("", {})]
)
def test_what_is_no_id_cannot_be_told(to, params):
    assert MailWorld(tell(to, "go"), params).outcome.code == "ExpressionError"


def test_a_payload_that_cannot_be_made_fails_the_step():
    big = [path("$.x")] * 3
    world = MailWorld(
        tell("other", "go", big), {"x": "x" * 60}, limits=composer.Limits(value_bytes=100)
    )

    assert world.outcome.code == "LimitExceeded"


# --- against a reference --------------------------------------------------------------------------

NAMES = ["a", "b"]
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("tell"), st.sampled_from(NAMES)),
        st.tuples(st.just("wait"), st.integers(0, 3)),
        st.just(("crash", 0)),
    ),
    max_size=30,
)


class Reference:
    """Four lines of control; each, when it is let go, waits for its name, and hears one message."""

    def __init__(self, names):
        self.names = names
        self.queues = {name: deque() for name in NAMES}
        self.waiting = []  # in order of beginning
        self.heard = {}

    def tell(self, name, payload):
        for member in self.waiting:
            if self.names[member] == name:
                self.waiting.remove(member)
                self.heard[member] = payload
                return
        self.queues[name].append(payload)

    def wait(self, member):
        queue = self.queues[self.names[member]]
        if queue:
            self.heard[member] = queue.popleft()
        else:
            self.waiting.append(member)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(NAMES), min_size=4, max_size=4), ACTS)
def test_any_interleaving_hears_what_the_reference_hears(names, acts):
    parts = [
        composer.sequence(f"go{n}", receive(name), f"heard{n}") for n, name in enumerate(names)
    ]
    world, reference = MailWorld(composer.parallel(*parts)), Reference(names)
    begun = set()
    for count, (act, what) in enumerate(acts):
        world.now += 1
        if act == "crash":
            world.crash()
        elif act == "tell":
            world.tell(what, count)
            reference.tell(what, count)
        elif what not in begun:
            begun.add(what)
            world.complete(f"go{what}")
            reference.wait(what)

    heard = {
        int(step.action[-1]): step.params["value"]
        for step in world.under_way.values()
        if step.action.startswith("/_/heard")
    }
    assert heard == reference.heard
    left = [payload for queue in reference.queues.values() for payload in queue]
    assert sorted(m.payload for m in world.execution.inbox or ()) == sorted(left)
