"""A toy language: it thinks, then rings a number, three times at most, and says so in its own words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xingqiao.composer.errors import OverlongError
from xingqiao.composer.freezing import changed, frozen
from xingqiao.composer.machine.commands import Invoke
from xingqiao.composer.machine.frames import OwnFrame
from xingqiao.composer.machine.instructions import OwnInstruction
from xingqiao.composer.machine.plain import PLAIN, Plain
from xingqiao.composer.values import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping

RINGS = 3
THOUGHT = 7  # steps of what it evaluates before it rings, and before it hangs up


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring(OwnInstruction):
    number: str
    path: str


@frozen
class Ringing(OwnFrame):
    at: int
    left: int

    def refreshed(self, now_ms):
        return changed(self, left=RINGS)


def command(cursor, i, turn):
    return Invoke(turn, cursor.activation_of(turn), cursor.value, action=f"/_/{i.number}")


def think(cursor):
    cursor.work += THOUGHT
    if cursor.at_once is not None and cursor.at_once < 0:
        raise OverlongError


def ring(cursor, i):
    think(cursor)
    frame = cursor.frames[-1] if cursor.frames else None
    if type(frame) is not Ringing:
        cursor.push(Ringing(cursor.pc - 1, RINGS))
    cursor.await_action(i.path, command(cursor, i, cursor.turn + 1))


def unanswered(cursor, frame, cause):
    if isinstance(cause, Failure):
        think(cursor)
    if not isinstance(cause, Failure) or frame.left == 1:
        cursor.note("HungUp")
        return cause
    cursor.note("RungAgain", {"left": frame.left - 1})
    cursor.push(changed(frame, left=frame.left - 1))
    cursor.pc, cursor.origin = frame.at, None
    return None


class Toy(Plain):
    name = "toy"
    operations: Mapping = {**PLAIN.operations, Ring: ring}
    commands: Mapping = {**PLAIN.commands, Ring: command}
    frames: Mapping = {Ringing: unanswered}


TOY = Toy()
