"""The coordinator of a two-phase commit: the messages to its participants, and its decision.

The coordinator is a frame of a fiber, so it is as durable as any fiber, and it is pure: given the answers,
it returns the next messages. The transition that receives the last vote makes the decision; no participant
is told before that transition is committed. Aborts are presumed: a transaction that is not found has not
committed anywhere.

A declared transaction knows its operations. Its participants are asked in the order of their keys, each to
do its operations and prepare at once. The last one, if it writes and no participant only reads, also decides
(its yes is the commit), so a transfer takes three messages. Other transactions work as they go, and then ask
all participants to prepare together; a single writer is asked last, and decides. A participant that only
reads prepares by releasing its locks: by then every lock of the transaction is held.

All of this is for participants that are apart. If all are entities of the coordinator's own store, one message
asks for the whole transaction: the store's host locks in the same order, performs the operations, and commits
all participants together with the answer. It does so or it declines; in both cases no participant is in doubt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ...freezing import changed, frozen
from ...values import JSON, Failure, Success, boxed
from ..stored import Part
from ..unwind_reasons import Cancellation, Interruption, reason_from_json, reason_to_json
from .participants import Participant

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from ...values import Outcome
    from ..stored import Document

ABORTED = "TransactionAborted"
CONFLICT = "TransactionConflict"
RETRYABLE = frozenset({CONFLICT, "TransactionLost", "TransactionExpired", "Locked"})
MAX_PARTICIPANTS = 100
TRANSACT = "transact"  # the kind of message that asks for a whole transaction
DECLINED = "apart"  # the vote of a host that leaves the transaction to the protocol

Phase: TypeAlias = Literal[
    "working",
    "transacting",
    "locking",
    "validating",
    "preparing",
    "deciding",
    "committing",
    "aborting",
]
DECIDED = ("committing", "aborting")
UNDISTURBED = ("deciding", *DECIDED)  # an interruption must wait until the transaction has ended
NEVER_RAN = frozenset(
    {"InvalidRequest", "MalformedMessage", "NotFound", "Permission", "Throttled", "Unavailable"}
)

Answer: TypeAlias = dict[str, Any]
"""The answer of a participant: `inspect` has made every result of a step an object."""


@frozen
class Coordinating(Part):
    """A transaction under way; `to` is where its coordinator's code begins.

    `asked` are the indexes of the participants whose answers are awaited; `value` is the result of a
    transaction that worked as it went; `reason` is the failure for which it aborts; `unwind_reason` is what
    goes on when it has ended.
    """

    to: int
    transaction: str
    started_ms: int
    deadline_ms: int
    order: str
    coordinator: str
    phase: Phase
    participants: tuple[Participant, ...] = ()
    asked: tuple[int, ...] = ()
    value: JSON = None
    reason: Failure | None = None
    unwind_reason: Interruption | None = None

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:  # noqa: ARG002
        reason = self.reason
        return {
            "to": self.to, "transaction": self.transaction, "started_ms": self.started_ms,
            "deadline_ms": self.deadline_ms, "order": self.order, "coordinator": self.coordinator,
            "phase": self.phase,
            "members": [participant.to_json() for participant in self.participants],
            "asked": list(self.asked),
            "value": self.value,
            "reason": None if reason is None else [reason.code, reason.error],
            "cause": reason_to_json(self.unwind_reason),
        }  # fmt: skip

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:  # noqa: ARG003
        made = dict(doc)
        reason = made["reason"]
        made |= {
            "participants": tuple(map(Participant.from_json, made.pop("members"))),
            "asked": tuple(made["asked"]),
            "reason": None if reason is None else Failure(*reason),
            "unwind_reason": reason_from_json(made.pop("cause")),
        }
        return cls(**made)

    # --- a transaction that works as it goes -------------------------------------------------

    def enlisted(self, action: str, key: str, *, read: bool) -> Coordinating | None:
        """The transaction with one more operation of a participant; None when it has too many participants."""
        for at, participant in enumerate(self.participants):
            if (participant.actions[0], participant.key) == (action, key):
                more = changed(
                    participant, count=participant.count + 1, read=participant.read and read
                )
                return self._with(at, more)
        if len(self.participants) >= MAX_PARTICIPANTS:
            return None
        new = Participant((action,), key, count=1, read=read)
        return changed(self, participants=(*self.participants, new))

    def working(self, action: str, message: dict[str, JSON]) -> dict[str, JSON]:
        """The message that asks for the operation just enlisted."""
        number = next(
            participant.count
            for participant in self.participants
            if (participant.actions[0], participant.key) == (action, message["key"])
        )
        return {**message, "transaction": self._about("work", number)}

    def worked(self, value: JSON, *, one_store: bool) -> Coordinating:
        """The transaction after its work, before it commits."""
        made = changed(self, phase="preparing", value=value)
        return made.together() if one_store else made

    # --- a transaction of one store ----------------------------------------------------------

    def together(self) -> Coordinating:
        """The transaction, to be performed by the host of its store if all participants are entities.

        One participant alone decides by itself in one message, so nothing need be done together.
        """
        if len(self.participants) < 2:  # noqa: PLR2004
            return self
        for participant in self.participants:
            if participant.key is None:
                return self
        return changed(self, phase="transacting")

    def whole(self) -> dict[str, JSON]:
        """The message that asks for the whole transaction; its action is the first participant's."""
        shares: list[JSON] = [participant.share for participant in self.participants]
        return {"transaction": self._about(TRANSACT, 0), "participants": shares}

    def _transacted(self, answer: Answer) -> Coordinating:
        """The transaction after the answer of its host: committed, refused, or declined.

        Any other answer is a vote: a server of an earlier version has asked the first participant for it.
        """
        vote, answers = answer.get("vote"), answer.get("participants")
        if answers is not None:
            told = zip(self.participants, answers, strict=True)
            ended = tuple(changed(one, vote=vote, results=results) for one, results in told)
            return changed(self, phase="committing", participants=ended)
        if vote == "no":
            ended = tuple(changed(one, vote="no") for one in self.participants)
            return changed(self, phase="aborting", participants=ended, reason=_refusal(answer))
        declared = self.participants[0].calls is not None
        apart = changed(self, phase="locking" if declared else "preparing")
        return apart if vote == DECLINED else apart.next()[0].absorbed(answer)

    # --- messages ----------------------------------------------------------------------------

    def next(self) -> tuple[Coordinating, list[dict[str, JSON]]]:
        """The transaction, waiting for answers, and its next messages; no messages when it has ended."""
        match self.phase:
            case "locking":
                return self._lock_next()
            case "validating" | "preparing":
                return self._prepare()
            case "deciding":
                (last,) = self.asked
                return self, [self.message(last, "prepare_commit")]
            case "committing":
                return self._tell("commit", [m.vote == "yes" for m in self.participants])
            case _:
                touched = [m.vote in ("asked", "yes") or (m.count > 0 and m.vote == "")
                           for m in self.participants]  # fmt: skip
                return self._tell("abort", touched)

    def _lock_next(self) -> tuple[Coordinating, list[dict[str, JSON]]]:
        at = next(
            (i for i, participant in enumerate(self.participants) if not self._locked(participant)),
            None,
        )
        if at is None:
            return self._validated()
        participant, last = self.participants[at], at == len(self.participants) - 1
        kind = "prepare"
        if participant.read and not last:
            kind = "work"
        elif last and not participant.read and participant.key is not None and not self._readers:
            kind = "prepare_commit"
        asked = self._asking([at])
        if kind == "work":
            asked = asked._with(at, changed(asked.participants[at], count=1))  # noqa: SLF001
        if kind == "prepare_commit":
            asked = changed(asked, phase="deciding")
        return asked, [asked.message(at, kind)]

    @staticmethod
    def _locked(participant: Participant) -> bool:
        return participant.vote != "" or participant.count > 0

    @property
    def _readers(self) -> list[int]:
        """The participants that have worked, have not voted and have nothing to write."""
        return [
            at
            for at, m in enumerate(self.participants)
            if m.read and m.count > 0 and m.vote != "read"
        ]

    def _validated(self) -> tuple[Coordinating, list[dict[str, JSON]]]:
        """All locks are held: the readers are asked to confirm theirs."""
        if self._readers:
            return changed(self, phase="validating").next()
        return changed(self, phase="committing").next()

    def _prepare(self) -> tuple[Coordinating, list[dict[str, JSON]]]:
        readers = self._readers
        writers = [
            at
            for at, m in enumerate(self.participants)
            if not m.read and m.count > 0 and not m.vote
        ]
        ask = readers if len(writers) == 1 else sorted([*readers, *writers])
        if ask:
            return self._asking(ask), [self.message(at, "prepare") for at in ask]
        if writers:
            return changed(self._asking(writers), phase="deciding").next()
        return changed(self, phase="committing").next()

    def _tell(self, kind: str, whom: list[bool]) -> tuple[Coordinating, list[dict[str, JSON]]]:
        told = [at for at, chosen in enumerate(whom) if chosen]
        if not told:
            return self, []
        return self._asking(told), [self.message(at, kind) for at in told]

    def _asking(self, chosen: list[int]) -> Coordinating:
        asked = set(chosen) if self.phase not in DECIDED else set[int]()
        return changed(
            self,
            asked=tuple(chosen),
            participants=tuple(
                changed(participant, vote="asked") if at in asked else participant
                for at, participant in enumerate(self.participants)
            ),
        )

    def message(self, at: int, kind: str) -> dict[str, JSON]:
        """A message to a participant, in the form that invokes an action by name."""
        participant = self.participants[at]
        params: dict[str, JSON] = {"transaction": self._about(kind, participant.count)}
        name = participant.actions[0]
        if participant.key is None:
            name = participant.actions[("prepare", "commit", "abort").index(kind)]
            params |= boxed(participant.params)
        else:
            params["key"] = participant.key
            fresh = kind == "work" or (kind.startswith("prepare") and not participant.count)
            if fresh and participant.calls is not None:
                params["operations"] = [call.request for call in participant.calls]
        return {"type": "action", "name": name, "params": params}

    def _about(self, kind: str, number: int) -> dict[str, JSON]:
        return {
            "id": self.transaction,
            "kind": kind,
            "number": number,
            "started": self.started_ms,
            "deadline": self.deadline_ms,
            "order": self.order,
            "coordinator": self.coordinator,
        }

    # --- answers -----------------------------------------------------------------------------

    def absorbed(self, value: Answer) -> Coordinating:
        """The transaction with the answers to its messages: one, or several as a fork has collected them."""
        if self.phase == "transacting":
            return self._transacted(value)
        answers = value["value"] if len(self.asked) > 1 else [value]
        made = self
        for at, answer in zip(self.asked, answers, strict=True):
            made = made._heard(at, answer)
        phase = made.phase
        if phase not in DECIDED and made.reason is not None:
            phase = "aborting"
        elif phase == "deciding":
            phase = "committing"
        return changed(made, phase=phase, asked=())

    def _heard(self, at: int, answer: Answer) -> Coordinating:
        participant = self.participants[at]
        if self.phase in DECIDED:
            return self if "error" in answer else self._with(at, changed(participant, vote="done"))
        if "error" in answer:  # one of several; it may have prepared all the same
            failed = self.reason or Failure("", answer["error"])
            return changed(self, reason=failed)
        if participant.key is None:
            return self._with(at, changed(participant, vote="yes", results=[answer]))
        vote, results = answer.get("vote", ""), answer.get("results") or participant.results
        heard = self._with(at, changed(participant, vote=vote, results=results))
        if vote == "no":
            return changed(heard, reason=self.reason or _refusal(answer))
        return heard

    def _with(self, at: int, participant: Participant) -> Coordinating:
        return changed(
            self, participants=(*self.participants[:at], participant, *self.participants[at + 1 :])
        )

    def aborting(self, reason: Failure, unwind_reason: Interruption | None) -> Coordinating:
        """The transaction after it has been decided to abort, for this reason."""
        made = self
        if reason.code in NEVER_RAN and len(self.asked) == 1:
            (at,) = self.asked
            if self.participants[at].key is not None:  # of others a part may have run
                made = self._with(at, changed(self.participants[at], vote="no"))
        return changed(made, phase="aborting", reason=reason, unwind_reason=unwind_reason, asked=())

    # --- the end -----------------------------------------------------------------------------

    @property
    def decision(self) -> Literal["commit", "abort", "undecided"]:
        """The decision, for a participant that is in doubt."""
        if self.phase == "committing":
            return "commit"
        return "abort" if self.phase == "aborting" else "undecided"

    @property
    def lasting(self) -> Cancellation | None:
        """The unwind reason that goes on after a commit: a cancellation only, because a timeout comes too late."""
        return self.unwind_reason if isinstance(self.unwind_reason, Cancellation) else None

    def outcome(self) -> Outcome:
        """The outcome of the transaction, when it has ended."""
        if self.phase == "committing":
            return Success(boxed(self.value) if self.value is not None else self._results())
        reason = self.reason or Failure("", None)
        retryable = reason.code in RETRYABLE
        error: JSON = {
            "code": ABORTED,
            "message": "the transaction has been aborted: nothing of it is done",
            "reason": reason.error,
            "retryable": retryable,
            "transaction": self.transaction,
        }
        return Failure(CONFLICT if retryable else ABORTED, error)

    def _results(self) -> dict[str, JSON]:
        found: dict[int, JSON] = {}
        for participant in self.participants:
            for call, result in zip(
                participant.calls or (), participant.results or (), strict=True
            ):
                found[call.index] = result
        return {"value": [found[index] for index in sorted(found)]}


def _refusal(answer: Answer) -> Failure:
    return Failure(CONFLICT if answer.get("retryable") else "", answer.get("reason"))
