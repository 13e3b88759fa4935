"""The semantics of compositions once more: a direct evaluation of the tree, in virtual time.

Written from what `composer.dsl.combinators` and Apache OpenWhisk Composer document, and sharing nothing
with the compiler or the machine but the tree, the expressions in it and the constants of `values`. A
combinator is a generator that returns its result, raises `Raised` when it fails, and yields what it
waits for, so that calling is calling and unwinding is unwinding. Nothing here can be stored or taken up
again: that is what the machine is for.
"""

from __future__ import annotations

from tests.kit.composer.reference_world import (
    FOREVER,
    MASK,
    Family,
    Raised,
    Shield,
    Span,
    Stopped,
    Thread,
    World,
    boxed,
    checked,
    own,
    plain,
    settled,
    true,
)
from xingqiao.composer.expressions import Scope, path
from xingqiao.composer.names import Name


class Evaluation(Thread):
    """A thread that evaluates a tree: one method a combinator."""

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
        self, value, count, components, delay, backoff, max_delay, jitter, errors, except_errors, until,
        on_exhausted, limits=(),
    ):  # fmt: skip
        attempt = 0
        while True:
            attempt += 1
            try:
                result = yield from self.limited(limits, components, value)
                if until is not None and not self.holds(until, result):
                    raise own("ConditionNotMet", "retry: the result does not fulfil 'until'")
            except Raised as failed:
                if not failed.named(errors) or (except_errors and failed.named(except_errors)):
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
        late = own("Timeout", f"not done within {seconds:g} seconds")
        return (yield from self.limited([(seconds, late)], components, value))

    def _within(self, value, components, to_start, to_end, in_all, heartbeat):
        outer = [(in_all, "all attempts together have not ended within", "in_all")]
        inner = [
            (to_end, "the attempt has not ended within", "to_end"),
            (heartbeat, "no heartbeat within", "heartbeat"),
        ]
        outer, inner = (
            [
                (seconds, own("Timeout", f"{text} {seconds:g} seconds", timeout=bound))
                for seconds, text, bound in bounds
                if seconds is not None
            ]
            for bounds in (outer, inner)
        )
        if len(components) == 1 and components[0].type == "retry":
            return (yield from self.limited(outer, components, value, inner))
        return (yield from self.limited([*outer, *inner], components, value))

    def limited(self, limits, components, value, inner=None):
        if not limits:
            if inner is None:
                return (yield from self.sequence(components, value))
            return (yield from self._retry(value, **components[0].arguments, limits=inner))
        seconds, late = limits[0]
        span = Span(self.world.now + round(seconds * 1000))
        self.guards.append(span)
        self.world.at(span.ends, self.expire)
        try:
            return (yield from self.limited(limits[1:], components, value, inner))
        except Stopped as stopped:
            if stopped.span is not span:
                raise
            raise late from None
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
            part = World(Evaluation, thread.world.fakes)
            result = part.run(components, value, thread.scopes)
            thread.world.spawned.append(result)
            thread.go_on(None)

        yield request
        return {"method": "async", "activationId": "?", "sessionId": "?"}


def pause(thread):
    thread.wait()
    thread.world.paused.add(thread.waits)


def evaluate(composition, params, fakes, cancel_at=None):
    """Runs a composition; `fakes` are those of `composer.testing.simulate`."""
    fakes = {str(Name.parse(name)): fake for name, fake in fakes.items()}
    return World(Evaluation, fakes).run(composition, params, cancel_at=cancel_at)
