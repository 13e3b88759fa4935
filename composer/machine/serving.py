"""Updates as the main line of an execution sees them: what it declares, its frames, and the wait for a change.

An update changes variables of the main line while that waits, perhaps for a step. A restart asks for the step
again, and must ask for the same: so the `Served` frame keeps the variables that the step was asked with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..freezing import changed, frozen
from ..values import Failure
from . import history
from .commands import CloseUpdates
from .cursor import Context, Cursor, Limits, popped
from .fiber import NOWHERE, ROOT, Fiber
from .frames import Served, Serving, Variables
from .update_instructions import Close, Serve, Until
from .waits import Invoking, Joining, Watching

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..values import JSON, Outcome
    from .cursor import Reaction
    from .frames import Frame

BOTTOM = 2  # frames at the bottom of a root fiber, among which the Served frame is


@frozen
class Update:
    """A request to change an execution: its id, its name and its payload."""

    id: str
    name: str
    payload: JSON


@frozen
class Settled:
    """An update that has ended: its id, its name and its outcome, whose value is the answer."""

    id: str
    name: str
    outcome: Outcome


# --- instructions --------------------------------------------------------------------------------


def _serve(cursor: Cursor, i: Serve) -> Reaction:
    at, served = cursor.pc - 1, served_by(cursor.frames)
    if served is not None and at not in served.opened:
        cursor.replace(served, changed(served, opened=(*served.opened, at)))
    cursor.push(Serving(at))
    cursor.note(history.UPDATES_OPENED, {"path": i.path, "names": list(i.targets)})
    cursor.pc = i.to
    return None


def _close(cursor: Cursor, _: Close) -> Reaction:
    popped(cursor, Serving)
    cursor.commands.append(CloseUpdates(len(cursor.frames)))
    return None


def _until(cursor: Cursor, i: Until) -> Reaction:
    held = i.predicate.holds(cursor.scope())
    if type(held) is Failure:
        return held
    if not held and cursor.count_steps():
        cursor.turn += 1
        cursor.wait = Watching(cursor.now_ms)
    return None


SERVING: dict[type[Any], Callable[[Cursor, Any], Reaction]] = {
    Serve: _serve,
    Close: _close,
    Until: _until,
}


# --- the frame near the bottom -------------------------------------------------------------------


def served_by(frames: Sequence[Frame]) -> Served | None:
    """The Served frame of a root fiber; None if its program has no updates, or for another fiber."""
    return next((frame for frame in frames[:BOTTOM] if type(frame) is Served), None)


# --- variables that change while a step is under way ---------------------------------------------


def assigned(root: Fiber, frames: tuple[Frame, ...]) -> Fiber:
    """The root fiber with other frames at its bottom, whose variables an update has changed."""
    served = served_by(root.frames)
    if served is not None and type(root.wait) in (Invoking, Joining):
        kept = dict(served.before) if served.turn == root.turn else {}
        for depth, (old, new) in enumerate(zip(root.frames, frames, strict=False)):
            if type(old) is Variables and old is not new:
                kept.setdefault(depth, old.variables)
        noted = changed(served, turn=root.turn, before=tuple(sorted(kept.items(), key=_depth)))
        frames = tuple(noted if frame is served else frame for frame in frames)
    return changed(root, frames=(*frames, *root.frames[len(frames) :]))


def as_asked(fiber: Fiber) -> Fiber:
    """The fiber with the variables that it had when it asked for what it waits for."""
    return changed(fiber, frames=_as_asked(fiber.frames, fiber.turn))


def own_changes(
    frames: tuple[Frame, ...], turn: int, left: dict[str, JSON]
) -> dict[str, JSON] | None:
    """The variables that an inline function has changed, of those that it left.

    It was given those of the moment when it was asked for: what updates have changed since is not undone.
    """
    before = _as_asked(frames, turn)
    if before is frames:
        return left
    given = Cursor(Fiber(ROOT, NOWHERE, None, before), (), Context("", 0, Limits())).variables()
    return {
        name: value for name, value in left.items() if name not in given or given[name] != value
    } or None


def _as_asked(frames: tuple[Frame, ...], turn: int) -> tuple[Frame, ...]:
    served = served_by(frames)
    if served is None or served.turn != turn or not served.before:
        return frames
    made = list(frames)
    for depth, variables in served.before:
        made[depth] = Variables(variables)
    return tuple(made)


def _depth(item: tuple[int, dict[str, JSON]]) -> int:
    return item[0]
