"""The export of the combinators for errors.

A retry becomes AWS' Retry if that can express it, on a Parallel of one branch: the Retry of an action's Task
would not see that a result is an error. Else it becomes a loop that counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ....dsl.combinators import errors as rows
from ....dsl.combinators.actions import ACTION
from ....dsl.combinators.control import SEQUENCE
from ....values import NOT_MET, TIMEOUT
from .expressions import INPUT, condition, constant, dynamic, true
from .states import Label, Rule
from .writer import assigned, invoke, keep, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....dsl.composition import Composition
    from ....values import JSON
    from .writer import Kept, Writer

MANY: Final = 99_999_999  # of attempts and seconds, AWS' most
MAX_DELAY_S: Final = 31_622_400
ANY: Final = "*"
# AWS' names for the failures of compositions.
ALSO: Final = {
    "Timeout": "States.Timeout",
    "ExpressionError": "States.QueryEvaluationError",
    "LimitExceeded": "States.DataLimitExceeded",
}
ALL_OF_THEM: Final = "ApplicationError"
NO_CODE: Final = f"there is no one name for all errors of actions, which '{ALL_OF_THEM}' is"


def _known(w: Writer, node: Composition) -> tuple[str, ...]:
    """The names of the handled errors; empty for all errors."""
    errors: tuple[str, ...] = node.arguments["errors"]
    if ANY in errors:
        return ()
    if ALL_OF_THEM in errors:
        w.flaw(node, NO_CODE)
    return errors


def _named(errors: tuple[str, ...]) -> str:
    """A condition that is true if the error has this name, as `Failure.named` has it."""
    listed, error = constant(list(errors)), f"{INPUT}.error"
    calls = " or ".join(f"{error}.{name} in {listed}" for name in ("code", "name", "type"))
    return f'({error} in {listed} or $type({error}) = "object" and ({calls}))'


# --- catching ------------------------------------------------------------------------------------


def do(w: Writer, node: Composition) -> None:
    caught, mine, end = Label(), Label(), Label()
    errors = _known(w, node)
    with w.sheet.guarded(caught):
        w.part("body", node.arguments["body"])
    w.sheet.jump(end)
    w.sheet.place(caught)
    if errors:
        w.sheet.choice("Catch", Rule(_named(errors), mine), otherwise=w.sheet.target)
        w.sheet.place(mine)
    w.part("handler", node.arguments["handler"])
    w.sheet.place(end)


def retain_catch(w: Writer, node: Composition) -> None:
    kept, caught = keep(w, "Before Retain"), Label()
    with w.sheet.guarded(caught):
        w.parts(node)
    w.sheet.place(caught)
    w.sheet.state("Retain", "Pass", Output={"params": kept.output, "result": dynamic(INPUT)})
    w.sheet.clean = True


def eca(w: Writer, node: Composition) -> None:
    kept, unmet, end = keep(w, "Before Condition"), Label(), Label()
    with w.sheet.guarded(unmet):
        w.part("condition", node.arguments["condition"])
    field = f"{INPUT}.value"
    no = Rule(f"$exists({field}) and $not({true(field)})", unmet)
    w.sheet.choice("Condition", no, Output=kept.output)
    w.sheet.clean = kept.clean
    w.part("body", node.arguments["body"])
    w.sheet.jump(end)
    w.sheet.place(unmet)
    if node.arguments["otherwise"] is None:
        w.sheet.state("Otherwise", "Pass", Output={})
        w.sheet.clean = True
    else:
        w.sheet.state("Otherwise", "Pass", Output=kept.output)
        w.sheet.clean = kept.clean
        w.part("otherwise", node.arguments["otherwise"])
    w.sheet.place(end)


# --- trying again --------------------------------------------------------------------------------


def retry(w: Writer, node: Composition) -> None:
    if node.arguments["on_exhausted"] == "pause":
        w.flaw(node, "no state waits for an operator: leave out on_exhausted='pause'")
    if node.arguments["except_errors"]:
        w.flaw(node, "it cannot leave failures out: leave out 'except_errors', and name 'errors'")
    errors, retrier = _known(w, node), _retrier(node.arguments)
    outside = {name for scope in visible(w.sheet.scopes) for name in scope}
    if retrier is not None and outside.isdisjoint(assigned(node)):
        _retried_by_aws(w, node, {"ErrorEquals": _all_called(errors), **retrier})
    else:
        _retried_in_a_loop(w, node, errors)


def _retrier(args: Mapping[str, Any]) -> dict[str, JSON] | None:
    """The fields of AWS' Retry for the attempts and delays; None if Retry cannot express them."""
    delay, most, jitter = args["delay"], args["max_delay"], args["jitter"]
    capped = most is not None and args["backoff"] > 1 and most > delay
    if jitter not in (0, 1) or delay != int(delay) or (capped and most != int(most)):
        return None
    count = MANY if args["count"] is None else min(args["count"], MANY)
    return {
        "IntervalSeconds": min(int(delay), MANY),
        "MaxAttempts": count,
        "BackoffRate": args["backoff"] if most is None or most > delay else 1.0,
        **({"MaxDelaySeconds": min(int(most), MAX_DELAY_S)} if capped else {}),
        **({"JitterStrategy": "FULL"} if jitter else {}),
    }


def _all_called(errors: tuple[str, ...]) -> JSON:
    also = [ALSO[name] for name in errors if name in ALSO]
    return [*errors, *also] or ["States.ALL"]


def _retried_by_aws(w: Writer, node: Composition, retrier: JSON) -> None:
    outer = w.sheet.clean
    with w.branch(node) as branch:
        branch.clean = outer
        _attempted(w, node)
        clean, made = branch.clean, branch.definition()
    w.sheet.fallible(
        "Retry", "Parallel", Branches=[made], Retry=[retrier],
        Output=dynamic("$states.result[0]"),
    )  # fmt: skip
    w.sheet.clean = clean


def _attempted(w: Writer, node: Composition) -> None:
    w.parts(node)
    if node.arguments["until"] is not None:
        met = Label()
        w.sheet.choice("Until", Rule(condition(node.arguments["until"], w.variable), met))
        w.sheet.fail("Not met", NOT_MET, "retry: the result does not fulfil 'until'")
        w.sheet.place(met)


def _retried_in_a_loop(w: Writer, node: Composition, errors: tuple[str, ...]) -> None:
    args, attempt = node.arguments, w.sheet.names.variable("attempt")
    kept = keep(w, "Before Retry", **{attempt: 1})
    failed, again, end = Label(), Label(), Label()
    start = w.sheet.here()
    with w.sheet.guarded(failed):
        _attempted(w, node)
    w.sheet.jump(end)
    w.sheet.place(failed)
    tests = [_named(errors)] if errors else []
    if args["count"] is not None:
        tests.append(f"${attempt} <= {args['count']}")
    rule = Rule(" and ".join(tests) or "true", again)
    w.sheet.choice("Retry", rule, otherwise=w.sheet.target)
    w.sheet.place(again)
    _rest(w, args, attempt, kept)
    w.sheet.jump(start)
    w.sheet.place(end)


def _rest(w: Writer, args: Mapping[str, Any], attempt: str, kept: Kept) -> None:
    """Waits until the next attempt, on the same input."""
    counted: JSON = {attempt: dynamic(f"${attempt} + 1")}
    if not args["delay"]:
        w.sheet.state("Again", "Pass", Assign=counted, Output=kept.output)
        return
    delay = constant(args["delay"])
    if args["backoff"] != 1:
        delay = f"{delay} * $power({constant(args['backoff'])}, ${attempt} - 1)"
    if args["max_delay"] is not None:
        delay = f"$min([{delay}, {constant(args['max_delay'])}])"
    if args["jitter"]:
        delay = f"({delay}) * (1 - {constant(args['jitter'])} * $random())"
    at = dynamic(f"$fromMillis($millis() + $round(({delay}) * 1000))")
    w.sheet.state("Again", "Wait", Timestamp=at, Assign=counted, Output=kept.output)


# --- in time -------------------------------------------------------------------------------------


def timeout(w: Writer, node: Composition) -> None:
    seconds, action = node.arguments["seconds"], _only_action(node)
    if action is None:
        w.flaw(node, "only one Task, or the whole machine, has a timeout")
        w.parts(node)
        return
    if seconds != int(seconds):
        w.flaw(node, f"a timeout must be a whole number of seconds, not {seconds:g}")
    error: JSON = {"code": TIMEOUT, "message": f"not done within {seconds:g} seconds"}
    late: JSON = {"ErrorEquals": ["States.Timeout"], "Output": {"error": error}}
    caught: dict[str, JSON] = {} if w.sheet.handler is None else {"Catch": [late]}
    invoke(w, action, TimeoutSeconds=int(seconds), **caught)


def _only_action(node: Composition) -> Composition | None:
    """The action of a timeout around one action."""
    parts = node.arguments["components"]
    while len(parts) == 1 and parts[0].row is SEQUENCE:
        parts = parts[0].arguments["components"]
    return parts[0] if len(parts) == 1 and parts[0].row is ACTION else None


def whole_timeout(composition: Composition) -> int | None:
    """The seconds of a timeout around the whole composition, if a machine can have it."""
    if composition.row is not rows.TIMEOUT or _only_action(composition) is not None:
        return None
    seconds = composition.arguments["seconds"]
    return int(seconds) if seconds == int(seconds) else None
