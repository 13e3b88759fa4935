"""Runs the parts of a program that may have many results, without Python's stack.

Such a part is a generator, a *frame*. It yields either a result, or another frame of which it wants
the next result: the frame then waits, and gets that result (or END) as the value of the `yield`. To
return a frame is a call in tail position: the other takes the place of the one that returns it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from types import CodeType, GeneratorType
from typing import Any, Final, TypeAlias, TypeVar

from .budget import TOO_DEEP, Budget
from .errors import BudgetError, EvaluationError

Frame: TypeAlias = Generator[Any, Any, Any]
Env: TypeAlias = tuple[Any, ...]  # the budget, the context; then variables and closures
Run: TypeAlias = Callable[[Any, Env], Any]
_Made = TypeVar("_Made", bound=Callable[..., Any])

END: Final = object()
_CATCHING: Final[set[CodeType]] = set()


class BreakError(Exception):
    """`break $name`: ends the label whose mark it has."""

    def __init__(self, mark: object) -> None:
        self.mark = mark


class Frames(list[Any]):
    """Frames that a frame keeps in a variable of its own, so that `release` finds them."""


def catching(frame: _Made) -> _Made:
    """Marks a kind of frame into which errors are thrown; all other frames just end at an error."""
    _CATCHING.add(frame.__code__)
    return frame


class Context:
    """The context of an evaluation, and the frames that took the place of others."""

    __slots__ = ("given", "now", "tails")

    def __init__(self, now: float | None, given: Mapping[str, Any]) -> None:
        self.now = now
        self.given = given
        self.tails: dict[Frame, Frame] = {}


def results(  # noqa: C901, PLR0912 - a call in this loop costs as much as a step
    frame: Frame, budget: Budget, tails: dict[Frame, Frame]
) -> Iterator[Any]:
    """The results of a frame, each computed when it is asked for.

    A frame that waits knows its child as the child began (the *handle*); `tails` has the frame that
    is in the child's place now.

    Raises:
        EvaluationError: the program failed.
        BudgetError: it went over a bound.
    """
    handle = frame
    waiting: list[tuple[Frame, Frame]] = []
    sent: Any = None
    resume: Callable[[Any], Any] = frame.send
    try:
        while True:
            budget.left -= 1
            if budget.left < 0:
                raise budget.overlong()
            try:
                result = resume(sent)
            except StopIteration as stop:
                if stop.value is not None:
                    frame, sent = stop.value, None
                    tails[handle] = frame
                elif waiting:
                    tails.pop(handle, None)
                    (frame, handle), sent = waiting.pop(), END
                else:
                    return
                resume = frame.send
                continue
            except (EvaluationError, BreakError) as error:
                frame, handle = _catcher(frame, handle, waiting, tails, error)
                resume, sent = frame.throw, error.with_traceback(None)
                continue
            if type(result) is GeneratorType:
                waiting.append((frame, handle))
                if len(waiting) > budget.depth:
                    raise BudgetError(TOO_DEEP.format(budget.depth))
                handle = result
                frame, sent = tails.get(result, result), None
            elif waiting:
                (frame, handle), sent = waiting.pop(), result
            else:
                yield result
                sent = None
            resume = frame.send
    except RecursionError:
        raise BudgetError(TOO_DEEP.format(budget.depth)) from None
    finally:
        release(frame, tails)
        while waiting:
            release(waiting.pop()[0], tails)


def _catcher(
    failed: Frame,
    handle: Frame,
    waiting: list[tuple[Frame, Frame]],
    tails: dict[Frame, Frame],
    error: Exception,
) -> tuple[Frame, Frame]:
    """The frame that an error is thrown into, and its handle. Raises the error if no frame catches it."""
    frame = failed
    while waiting:
        release(frame, tails)
        tails.pop(handle, None)
        frame, handle = waiting.pop()
        if frame.gi_code in _CATCHING:  # type: ignore[attr-defined]
            return frame, handle
    raise error


def release(frame: Frame, tails: dict[Frame, Frame]) -> None:
    """Closes a frame and all frames below it, the deepest first.

    Left to themselves, the frames would close each other, one inside the other, on Python's stack.
    """
    opened: list[Any] = []
    found: list[Any] = [frame]
    while found:
        inner = found.pop()
        if inner in tails:
            found.append(tails.pop(inner))
        if inner.gi_frame is not None:
            opened.append(inner)
            for value in inner.gi_frame.f_locals.values():
                if type(value) is GeneratorType:
                    found.append(value)
                elif type(value) is Frames:
                    found.extend(part for part in value if part is not None)
    for inner in reversed(opened):
        inner.close()


def once(run: Run) -> Run:
    """The frame of a part that has exactly one result."""

    def frame(value: Any, env: Env) -> Frame:
        yield run(value, env)

    return frame
