"""The semantics of compositions once more: a direct evaluation of the tree, in virtual time.

Written from what `composer.combinators` and Apache OpenWhisk Composer document, and sharing nothing
with the compiler or the machine but the tree, the expressions in it and the constants of `values`. A
combinator is a generator that returns its result, raises `Raised` when it fails, and yields what it
waits for; a thread of control is one such generator, so that calling is calling and unwinding is
unwinding. Nothing here can be stored or taken up again: that is what the machine is for.
"""

from __future__ import annotations

import heapq
import json
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from composer import Composition
from composer.expressions import Scope, path
from composer.names import Name
from composer.testing import Fail, Never, Slow
from composer.values import Failure, Success

MASK = object()
FOREVER = object()


class Raised(Exception):
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


class Stopped(Exception):
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
    """Virtual time, the fakes, and the threads of one execution."""

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
        root = Thread(self, scopes, ended.append)
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

    def ask(self, name, params, answer):
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
                inner = World(self.fakes, self.functions).run(answer, plain(params))
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

    # --- evaluation --------------------------------------------------------------------------

    def evaluate(self, node, value):
        if isinstance(node, tuple):
            return (yield from self.sequence(node, value))
        return (yield from getattr(self, f"_{node.type}")(value, **node.arguments))

    def sequence(self, parts, value):
        if not parts:
            return checked(value)
        for part in parts:
            value = yield from self.evaluate(part, value)
        return value

    _sequence = lambda self, value, components: self.sequence(components, value)

    def fill(self, template, value):
        return settled(template.fill(Scope(value, self.variables())))

    def holds(self, predicate, value):
        return settled(predicate.holds(Scope(value, self.variables())))

    def test(self, part, value):
        if part.type == "predicate":
            return self.holds(part.arguments["predicate"], value)
        made = yield from self.evaluate(part, value)
        return true(boxed(made).get("value"))

    # --- leaves

    def invoke(self, name, params):
        def request(thread):
            delay, answer = thread.world.ask(name, params, thread.world.fakes[name])
            resume = thread.wait()
            if answer is not FOREVER:
                thread.world.at(thread.world.now + delay, lambda: resume(answer))

        return checked((yield request))

    def _action(self, value, name, action):
        return (yield from self.invoke(name, value))

    def _function(self, value, function):
        runtime = function["exec"]
        scope = {}
        exec(runtime["code"], scope)
        main = scope[runtime["main"]]
        params, variables = plain(value), plain(self.variables())

        def answer(_):
            result = main(*[params, variables][: main.__code__.co_argcount])
            return params if result is None else result

        def request(thread):
            delay, result = thread.world.ask("function", value, answer)
            resume = thread.wait()
            thread.world.at(thread.world.now + delay, lambda: resume(result))

        result = yield request
        if unknown := self.assign(variables):
            raise own("ExpressionError", f"no enclosing let declares {unknown!r}")
        return checked(result)

    def _literal(self, _, value):
        return checked(value)
        yield

    def _select(self, value, template):
        return checked(self.fill(template, value))
        yield

    def _predicate(self, value, predicate):
        return {"value": self.holds(predicate, value)}
        yield

    def _assign(self, value, values):
        changes = {name: self.fill(template, value) for name, template in values.items()}
        if unknown := self.assign(changes):
            raise own("ExpressionError", f"assign: no enclosing let declares {unknown!r}")
        return value
        yield

    def _dynamic(self, value):
        wanted = boxed(value)
        params = wanted.get("params", {})
        name = wanted.get("name")
        if wanted.get("type") != "action" or type(name) is not str or type(params) is not dict:
            raise own(
                "ExpressionError",
                "dynamic: the value must be {'type': 'action', 'name': ..., 'params': {...}}",
            )
        return (yield from self.invoke(str(Name.parse(name)), params))

    def _raise(self, value, code, message):
        raise Raised("ApplicationError", {"code": code, "message": self.fill(message, value)})
        yield

    def _wait(self, value, seconds, until):
        assert until is None  # instants are for test_operations
        yield from self.sleep(self.fill(seconds, value))
        return value

    def sleep(self, seconds):
        def request(thread):
            resume = thread.wait()
            thread.world.at(thread.world.now + round(seconds * 1000), lambda: resume(None))

        yield request

    # --- one after the other

    def _if(self, value, test, consequent, alternate):
        held = yield from self.test(test, value)
        return (yield from self.evaluate(consequent if held else alternate, value))

    def _if_nosave(self, value, test, consequent, alternate):
        value = yield from self.evaluate(test, value)
        chosen = consequent if true(boxed(value).get("value")) else alternate
        return (yield from self.evaluate(chosen, value))

    def _while(self, value, test, body):
        while (yield from self.test(test, value)):
            value = yield from self.evaluate(body, value)
        return value

    def _while_nosave(self, value, test, body):
        while True:
            value = yield from self.evaluate(test, value)
            if not true(value.get("value")):
                return value
            value = yield from self.evaluate(body, value)

    def _dowhile(self, value, body, test):
        while True:
            value = yield from self.evaluate(body, value)
            if not (yield from self.test(test, value)):
                return value

    def _dowhile_nosave(self, value, body, test):
        while True:
            value = yield from self.evaluate(body, value)
            value = yield from self.evaluate(test, value)
            if not true(value.get("value")):
                return value

    def _repeat(self, value, count, components):
        for _ in range(count):
            value = yield from self.sequence(components, value)
        return value

    def _switch(self, value, on, cases, default):
        if on.type == "select" and on.arguments["template"].selector is not None:
            subject, scope = on.arguments["template"].selector, Scope(value, self.variables())
        else:
            made = yield from self.evaluate(on, value)
            subject, scope = path("$.value"), Scope(made, {})
        for case in cases:
            if settled((subject == case.equals).holds(scope)):
                return (yield from self.evaluate(case.body, value))
        if default is None:
            raise Raised(
                "ApplicationError",
                {"code": "NoChoice", "message": "switch: no case fits, and there is no default"},
            )
        return (yield from self.evaluate(default, value))

    def _eca(self, value, condition, body, otherwise):
        try:
            made = yield from self.evaluate(condition, value)
            met = "value" not in made or true(made["value"])
        except Raised:
            met = False
        if met:
            return (yield from self.evaluate(body, value))
        return {} if otherwise is None else (yield from self.evaluate(otherwise, value))

    # --- when things go wrong

    def _retry(
        self, value, count, components, delay, backoff, max_delay, jitter, errors, until,
        on_exhausted,
    ):  # fmt: skip
        attempt = 0
        while True:
            attempt += 1
            try:
                result = yield from self.sequence(components, value)
                if until is not None and not self.holds(until, result):
                    raise own("ConditionNotMet", "retry: the result does not fulfil 'until'")
            except Raised as failed:
                if not failed.named(errors):
                    raise
                if count is not None and attempt > count:
                    if on_exhausted == "raise":
                        raise
                    yield pause
                    attempt = 0
                elif wait := delay * backoff ** (attempt - 1):
                    yield from self.sleep(wait if max_delay is None else min(wait, max_delay))
            else:
                return result

    def _try(self, value, body, handler, errors):
        try:
            return (yield from self.evaluate(body, value))
        except Raised as failed:
            if not failed.named(errors):
                raise
            value = failed.value
        return (yield from self.evaluate(handler, value))

    def _finally(self, value, body, finalizer):
        shield = Shield()
        try:
            value = yield from self.evaluate(body, value)
        except Raised as failed:
            value = failed.value
        except Stopped as stopped:
            value, shield.held = stopped.value, stopped
        self.guards.append(shield)
        try:
            value = yield from self.evaluate(finalizer, value)
        except Raised:
            if shield.held is None:
                raise
        finally:
            self.guards.remove(shield)
        if shield.held is not None:
            raise shield.held
        return value

    def _timeout(self, value, seconds, components):
        span = Span(self.world.now + round(seconds * 1000))
        self.guards.append(span)
        self.world.at(span.ends, self.expire)
        try:
            return (yield from self.sequence(components, value))
        except Stopped as stopped:
            if stopped.span is not span:
                raise
            raise own("Timeout", f"not done within {seconds:g} seconds") from None
        finally:
            self.guards.remove(span)

    # --- data

    def _let(self, value, declarations, components):
        self.scopes.append(dict(declarations))
        try:
            return (yield from self.sequence(components, value))
        finally:
            self.scopes.pop()

    def _mask(self, value, components):
        self.scopes.append(MASK)
        try:
            return (yield from self.sequence(components, value))
        finally:
            self.scopes.pop()

    def _retain(self, value, components):
        result = yield from self.sequence(components, value)
        return {"params": value, "result": result}

    def _retain_catch(self, value, components):
        try:
            result = yield from self.sequence(components, value)
        except Raised as failed:
            result = failed.value
        return {"params": value, "result": result}

    def _merge(self, value, components):
        result = yield from self.sequence(components, value)
        return checked({**boxed(value), **result})

    def _forward(self, value, take, components, carry, into):
        carried = value if carry is None else self.fill(carry, value)
        result = yield from self.sequence(components, checked(self.fill(take, value)))
        return checked({**boxed(carried), **({into: result} if into else result)})

    # --- at the same time

    def fork(self, family):
        results = yield family.begin
        return results

    def _parallel(self, value, components, errors):
        plan = [(part, lambda: value) for part in components]
        results = yield from self.fork(Family(self, plan, errors=errors))
        return {"value": results}

    def _race(self, value, components):
        plan = [(part, lambda: value) for part in components]
        return (yield from self.fork(Family(self, plan, errors="race")))

    def _map(self, value, components, items, concurrency, errors):
        if items is None:
            items = value.get("value") if isinstance(value, dict) else None
        else:
            items = self.fill(items, value)
        items = [] if items is None else items
        if not isinstance(items, list):
            raise own("ExpressionError", f"map: 'items' must select a list, not {items!r:.100}")
        body = components
        plan = [(body, lambda item=item: boxed(item)) for item in items]
        results = yield from self.fork(
            Family(self, plan, errors=errors, most=concurrency or len(items))
        )
        return {"value": results}

    def _graph(self, value, tasks, errors):
        names = list(tasks)
        family = Family(
            self,
            [
                (task.body, lambda task=task: family.results_of(task.after) or value)
                for task in tasks.values()
            ],
            errors=errors,
            after={index: tasks[name].after for index, name in enumerate(names)},
            names=names,
        )
        results = yield from self.fork(family)
        return dict(zip(names, results, strict=True))

    def _async(self, value, components):
        def request(thread):
            part = World(thread.world.fakes)
            result = part.run(components, value, thread.scopes)
            thread.world.spawned.append(result)
            thread.go_on(None)

        yield request
        return {"method": "async", "activationId": "?", "sessionId": "?"}


def pause(thread):
    thread.wait()
    thread.world.paused.add(thread.waits)


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
                thread = Thread(self.parent.world, self.parent.scopes, ended)
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


def evaluate(composition, params, fakes, cancel_at=None):
    """Runs a composition; `fakes` are those of `composer.testing.simulate`."""
    fakes = {str(Name.parse(name)): fake for name, fake in fakes.items()}
    return World(fakes).run(composition, params, cancel_at=cancel_at)
