"""The records that conductors store and send to one another: as values here, as JSON in tables and queues.

`from_json` reads the JSON that `to_json` wrote, in this version or in an earlier one: nobody else writes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....composer import JSON

Written: TypeAlias = "Mapping[str, Any]"
"""JSON that a conductor or a wrapper wrote: its keys and types are known."""

_TOKEN = re.compile(r"([0-9a-f]{32})-(\d{1,12})-([0-9._]{1,200})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """The wait of a fiber that an answer resumes.

    turn: counts the fiber's waits: an answer to an earlier turn is stale.
    """

    execution: str
    fiber: str
    turn: int

    @classmethod
    def from_json(cls, doc: Written) -> Token:
        return cls(execution=doc["execution"], fiber=doc["fiber"], turn=doc["turn"])

    @classmethod
    def from_text(cls, text: str) -> Token | None:
        """Reads what `action_message.completion_token` wrote; None for any other text."""
        if (found := _TOKEN.fullmatch(text)) is None:
            return None
        return cls(execution=found[1], fiber=found[3].replace("_", "/"), turn=int(found[2]))

    def to_json(self) -> dict[str, JSON]:
        return {"execution": self.execution, "fiber": self.fiber, "turn": self.turn}


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The properties of an execution that never change.

    composition: the full name, `/_/name`.
    program: the hash of its program.
    reply: the wait to answer at the end; None if nobody waits.
    depth: the number of executions above this one.
    given: a digest of the parameters, if the id stands for a caller's idempotency key.
    """

    composition: str
    program: str
    started_ms: int
    reply: Token | None
    depth: int
    given: str | None = None

    @classmethod
    def from_json(cls, doc: Written) -> About:
        reply = doc["reply"]
        return cls(
            composition=doc["composition"],
            program=doc["program"],
            started_ms=doc["started_ms"],
            reply=None if reply is None else Token.from_json(reply),
            depth=doc["depth"],
            given=doc.get("given"),
        )

    def to_json(self) -> dict[str, JSON]:
        doc: dict[str, JSON] = {
            "composition": self.composition,
            "program": self.program,
            "started_ms": self.started_ms,
            "reply": None if self.reply is None else self.reply.to_json(),
            "depth": self.depth,
        }
        return doc if self.given is None else {**doc, "given": self.given}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A fiber in the table.

    fiber: as `Fiber.to_json` writes it.
    asked_ms: when its present turn began.
    tries: how often the action of this turn was invoked.
    """

    fiber: dict[str, JSON]
    asked_ms: int
    tries: int

    @classmethod
    def from_json(cls, doc: Written) -> Row:
        return cls(fiber=doc["fiber"], asked_ms=doc["asked"], tries=doc["tries"])

    def to_json(self) -> dict[str, JSON]:
        return {"fiber": self.fiber, "asked": self.asked_ms, "tries": self.tries}

    @property
    def turn(self) -> int:
        """The turn of the fiber."""
        turn = self.fiber["turn"]
        assert isinstance(turn, int)  # noqa: S101  `Fiber.to_json` wrote it
        return turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """The whole state of an execution with one fiber, on its way with an invocation and back."""

    version: int
    about: dict[str, JSON]
    row: dict[str, JSON]

    @classmethod
    def from_json(cls, doc: Written) -> Carried:
        return cls(version=doc["version"], about=doc["about"], row=doc["row"])

    def to_json(self) -> dict[str, JSON]:
        return {"version": self.version, "about": self.about, "row": self.row}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsent:
    """The messages that may not have been sent, and the time of the commit that stored them."""

    at_ms: int
    sends: list[JSON]

    @classmethod
    def from_json(cls, doc: Written) -> Unsent:
        return cls(at_ms=doc["at"], sends=doc["sends"])

    def to_json(self) -> dict[str, JSON]:
        return {"at": self.at_ms, "sends": self.sends}


# --- messages ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a composition that begins by itself: a fiber, and the hash of its program."""

    program: str
    fiber: dict[str, JSON]


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """Begins an execution.

    begins: the parameters of the composition, or a part of it.
    reply, depth, given: see `About`.
    """

    execution: str
    composition: str
    begins: JSON | Part
    depth: int
    reply: Token | None = None
    given: str | None = None

    @classmethod
    def from_json(cls, doc: Written) -> Begin:
        is_part, reply = "fiber" in doc, doc.get("reply")
        return cls(
            execution=doc["execution"],
            composition=doc["composition"],
            begins=Part(program=doc["program"], fiber=doc["fiber"]) if is_part else doc["params"],
            depth=doc["depth"],
            reply=None if reply is None else Token.from_json(reply),
        )

    def to_json(self) -> dict[str, JSON]:
        doc: dict[str, JSON] = {
            "is": "begin", "execution": self.execution, "composition": self.composition,
        }  # fmt: skip
        if isinstance(self.begins, Part):
            doc |= {"program": self.begins.program, "fiber": self.begins.fiber}
        else:
            doc["params"] = self.begins
        if self.reply is not None:
            doc["reply"] = self.reply.to_json()
        return {**doc, "depth": self.depth}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An action or a nested execution has ended.

    outcome: of an action, as its wrapper sent it: not checked yet.
    """

    token: Token
    outcome: JSON
    carried: Carried | None = None

    @classmethod
    def from_json(cls, doc: Written) -> Answered:
        carried = doc.get("carried")
        return cls(
            token=Token.from_json(doc["token"]),
            outcome=doc["outcome"],
            carried=None if carried is None else Carried.from_json(carried),
        )

    def to_json(self) -> dict[str, JSON]:
        doc: dict[str, JSON] = {"is": "completed", "token": self.token.to_json()}
        if self.carried is not None:
            doc["carried"] = self.carried.to_json()
        return {**doc, "outcome": self.outcome}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerDue:
    """The timer of a fiber is due at this instant."""

    execution: str
    fiber: str
    at_ms: int

    @classmethod
    def from_json(cls, doc: Written) -> TimerDue:
        return cls(execution=doc["execution"], fiber=doc["fiber"], at_ms=doc["at"])

    def to_json(self) -> dict[str, JSON]:
        return {"is": "timer", "execution": self.execution, "fiber": self.fiber, "at": self.at_ms}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoOn:
    """An execution has more work than fits in the life of one conductor."""

    execution: str

    def to_json(self) -> dict[str, JSON]:
        return {"is": "again", "execution": self.execution}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Nobody waits for an execution any more."""

    execution: str

    def to_json(self) -> dict[str, JSON]:
        return {"is": "cancel", "execution": self.execution}


@dataclass(frozen=True, slots=True, kw_only=True)
class Relay:
    """An action is to be invoked again with a message of its own: it polls for a run on another cloud."""

    message: dict[str, JSON]

    def to_json(self) -> dict[str, JSON]:
        return {"is": "relay", "message": self.message}


Message: TypeAlias = Begin | Answered | TimerDue | GoOn | Cancel | Relay


def message_of(doc: Written) -> Message | None:
    """The message that JSON holds; None if this version does not know its kind."""
    match doc["is"]:
        case "begin":
            return Begin.from_json(doc)
        case "completed":
            return Answered.from_json(doc)
        case "timer":
            return TimerDue.from_json(doc)
        case "again":
            return GoOn(execution=doc["execution"])
        case "cancel":
            return Cancel(execution=doc["execution"])
        case "relay":
            return Relay(message=doc["message"])
        case _:
            return None
