"""The world of the reference interpreter: virtual time, the fakes, and threads of control.

A thread is a generator that yields what it waits for; how it evaluates a tree is `reference`'s.
"""

from __future__ import annotations

import heapq
import json
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from xingqiao.composer import Composition
from xingqiao.composer.testing import Fail, Never, Slow
from xingqiao.composer.values import Failure, Success

MASK = object()
FOREVER = object()


class Raised(Exception):  # noqa: N818  it is a failure on its way, no mistake
    """A failure on its way to whoever takes it."""

    def __init__(self, code, error):
        super().__init__(code)
        self.code, self.error = code, error

    @property
    def value(self):
        return {"error": self.error}

    def named(self, names):
        own = self.error if isinstance(self.error, dict) else {}
        mine = {self.code} | {
            name
            for name in (self.error, own.get("code"), own.get("name"), own.get("type"))
            if isinstance(name, str)
        }
        return not names or "*" in names or bool(mine & set(names))


class Stopped(Exception):  # noqa: N818  a request
    """Asked to stop: by a cancellation, or because the time of an enclosing `timeout` is over."""

    def __init__(self, span=None):
        super().__init__()
        self.span = span

    @property
    def value(self):
        if self.span is None:
            return {"error": {"code": "Cancelled", "message": "cancelled"}}
        return {"error": {"code": "Timeout", "message": "an enclosing timeout has passed"}}


@dataclass(eq=False)
class Span:
    """A `timeout` that a thread is inside of."""

    ends: int
    over: bool = False


@dataclass(eq=False)
class Shield:
    """A finalizer that a thread is inside of; a request to stop is held until it is done."""

    held: Stopped | None = None


@dataclass
class Result:
    """How it went: with None for an outcome when it waits for what never comes."""

    outcome: Success | Failure | None
    calls: list
    spawned: list
    elapsed: float
    paused: bool


def own(code, message, **detail):
    return Raised(code, {"code": code, "message": message, **detail})


def boxed(value):
    return value if isinstance(value, dict) else {"value": value}


def checked(value):
    """What a step hands on: an object, or a failure if it has an `error`."""
    value = boxed(value)
    if "error" in value:
        raise Raised("ApplicationError", value["error"])
    return value


def true(value):
    return value not in (None, False, 0, "")


def settled(result):
    """What an expression came to; it answers with a Failure rather than raising one."""
    if isinstance(result, Failure):
        raise Raised(result.code, result.error)
    return result


def plain(value):
    return json.loads(json.dumps(value))


def outcome_of(end):
    """How a thread has ended, as a value."""
    match end:
        case Raised(code=code, error=error):
            return Failure(code, error)
        case Stopped(value=value):
            return Failure("Cancelled", value["error"])
    return end


# --- the world: time, and who is to go on --------------------------------------------------------


@dataclass
class World:
    """Virtual time, the fakes, and the threads of one execution, of a kind that evaluates."""

    thread: type
    fakes: dict
    functions: dict = field(default_factory=dict)
    now: int = 0
    calls: list = field(default_factory=list)
    spawned: list = field(default_factory=list)
    agenda: list = field(default_factory=list)
    ready: deque = field(default_factory=deque)
    order: Any = field(default_factory=count)
    turns: dict = field(default_factory=dict)
    paused: set = field(default_factory=set)

    def at(self, when, then):
        heapq.heappush(self.agenda, (max(when, self.now), next(self.order), then))

    def run(self, composition, params, scopes=(), cancel_at=None):
        ended = []
        root = self.thread(self, scopes, ended.append)
        root.begin(composition, params)
        cancel = None if cancel_at is None else round(cancel_at * 1000)
        while not ended:
            if self.ready:
                self.ready.popleft().start()
            elif cancel is not None and (not self.agenda or self.agenda[0][0] >= cancel):
                self.now, cancel = cancel, None
                root.stop(Stopped())
            elif self.agenda:
                self.now, _, then = heapq.heappop(self.agenda)
                then()
            else:
                break
        outcome = outcome_of(ended[0]) if ended else None
        return Result(
            outcome, self.calls, self.spawned, self.now / 1000, not ended and bool(self.paused)
        )

    def ask(self, name, params, answer):  # noqa: C901  one case a kind of fake
        """Runs a fake: how long it takes, and what it answers, or FOREVER."""
        self.calls.append((name, plain(params), self.now))
        delay = 0
        if isinstance(answer, list):
            turn = self.turns[name] = self.turns.get(name, -1) + 1
            answer = answer[turn]
        while True:
            if isinstance(answer, Slow):
                delay, answer = delay + round(answer.seconds * 1000), answer.answer
            elif isinstance(answer, Composition):
                inner = World(self.thread, self.fakes, self.functions).run(answer, plain(params))
                delay += round(inner.elapsed * 1000)
                answer = inner.outcome
                if isinstance(answer, Success):
                    return delay, answer.value
                if answer is None:
                    return delay, FOREVER
            elif callable(answer):
                try:
                    answer = answer(plain(params))
                except Fail as fail:
                    answer = fail
                except Exception as error:  # noqa: BLE001  any, as a worker
                    return delay, Raised("ApplicationError", f"{type(error).__name__}: {error}")
            elif isinstance(answer, Never):
                return delay, FOREVER
            elif isinstance(answer, (Fail, Failure)):
                return delay, Raised(answer.code, answer.error)
            else:
                return delay, answer


class Thread:
    """One sequential thread of control."""

    def __init__(self, world, scopes, ended):
        self.world, self.ended = world, ended
        self.scopes = [scope if scope is MASK else dict(scope) for scope in scopes]
        self.guards = []
        self.waits = None  # a token of what it waits for; for a fork, its Family
        self.alive = True

    def begin(self, node, value):
        self.steps = self.evaluate(node, value)
        self.world.ready.append(self)

    def start(self):
        if self.alive and self.waits is None:
            self.go_on(None)

    def go_on(self, result):
        """Resumes it with what it waited for, or with what is raised there."""
        self.waits = None
        try:
            if isinstance(result, Exception):
                request = self.steps.throw(result)
            else:
                request = self.steps.send(result)
        except StopIteration as stop:
            self.end(stop.value)
        except Raised as failed:
            self.end(failed)
        except Stopped as stopped:
            self.end(stopped)
        else:
            request(self)

    def end(self, result):
        self.alive = False
        try:
            self.ended(Success(checked(result)) if not isinstance(result, Exception) else result)
        except Raised as failed:
            self.ended(failed)

    def wait(self):
        """A function that resumes it, unless it has stopped waiting by then."""
        token = self.waits = object()

        def resume(result):
            if self.waits is token:
                self.go_on(result)

        return resume

    def stop(self, stopped):
        """Asks it to stop, as far as its guards let it."""
        inside = self.guards[self.guards.index(stopped.span) :] if stopped.span else self.guards
        shield = next((guard for guard in inside if isinstance(guard, Shield)), None)
        if shield is not None:
            shield.held = self.stronger(shield.held, stopped)
        elif isinstance(self.waits, Family):
            self.waits.stop(self.stronger(self.waits.stopped, stopped))
        elif self.waits is None:  # it never ran
            self.steps.close()
            self.end(stopped)
        else:
            self.world.paused.discard(self.waits)
            self.go_on(stopped)

    def stronger(self, held, new):
        """Of two requests the one that reaches further out."""
        if held is None or new.span is None:
            return new
        if held.span is None:
            return held
        return min(held, new, key=lambda stopped: self.guards.index(stopped.span))

    def expire(self):
        """Looks whether a span's time is over; of several the outermost counts."""
        for guard in self.guards:
            if isinstance(guard, Span) and not guard.over and guard.ends <= self.world.now:
                guard.over = True
                self.stop(Stopped(guard))
                return

    # --- variables ---------------------------------------------------------------------------

    def visible(self):
        """Scopes that no mask hides, the innermost first."""
        masks, found = 0, []
        for scope in reversed(self.scopes):
            if scope is MASK:
                masks += 1
            elif masks:
                masks -= 1
            else:
                found.append(scope)
        return found

    def variables(self):
        merged = {}
        for scope in self.visible():
            for name, value in scope.items():
                merged.setdefault(name, value)
        return merged

    def assign(self, changes):
        """Sets variables; returns the first name that is not declared."""
        for name, value in changes.items():
            scope = next((scope for scope in self.visible() if name in scope), None)
            if scope is None:
                return name
            scope[name] = value
        return None


class Family:
    """The threads of one fork, and what becomes of them."""

    def __init__(self, parent, plan, errors, most=None, after=None, names=()):
        self.parent, self.plan, self.errors = parent, plan, errors
        self.after, self.names = after or {}, names
        self.most = len(plan) if most is None else most
        self.ends = {}
        self.threads = {}  # under way
        self.decided = None
        self.stopped = None

    def begin(self, parent):
        parent.waits = self
        self.admit()
        self.close()

    def results_of(self, names):
        return {name: self.ends[self.names.index(name)].value for name in names}

    def admit(self):
        for index, (part, value) in enumerate(self.plan):
            if index in self.ends or index in self.threads or len(self.threads) >= self.most:
                continue
            needs = [self.names.index(name) for name in self.after.get(index, ())]
            if all(isinstance(self.ends.get(need), Success) for need in needs):
                ended = lambda end, index=index: self.end(index, end)
                thread = type(self.parent)(self.parent.world, self.parent.scopes, ended)
                self.threads[index] = thread
                thread.begin(part, value())

    def end(self, index, end):
        del self.threads[index]
        self.ends[index] = end
        if self.decided is None and self.stopped is None:
            wanted = Success if self.errors == "race" else Raised
            if self.errors in ("race", "fail") and isinstance(end, wanted):
                self.decided = end
                self.cancel()
            else:
                self.admit()
        self.close()

    def stop(self, stopped):
        self.stopped = stopped
        self.cancel()

    def cancel(self):
        for thread in list(self.threads.values()):
            if thread.alive:
                thread.stop(Stopped())

    def close(self):
        """Hands the parent what it waits for once nobody is under way."""
        if self.threads or self.parent.waits is not self:
            return
        self.parent.go_on(self.stopped or self.outcome())

    def outcome(self):
        if self.decided is not None:
            return self.decided.value if self.errors == "race" else self.decided
        if self.errors == "race":
            if not self.plan:
                return own("AllFailed", "there was nothing to race")
            errors = [self.ends[index].error for index in range(len(self.plan))]
            return own("AllFailed", f"all {len(self.plan)} branches failed", errors=errors)
        if self.errors != "collect":
            for index in sorted(self.ends):
                if isinstance(self.ends[index], Raised):
                    return self.ends[index]
        return [self.ends[index].value for index in range(len(self.plan))]
