"""The coordinator of a two-phase commit: which messages its participants are sent, and what it decides.

It is a frame of a fiber, so it is durable as any fiber is, and pure: it is given the answers and says
what to send next. The decision is made by the transition that takes in the last vote; nobody is told
before that is committed. Aborts are presumed: of a transaction that is not found nobody has committed.

Declared transactions know their operations. Their participants are asked in the order of their keys,
each to do its operations and prepare at once, and the last one, if it writes and nobody only reads, to
decide as well (its yes is the commit): a transfer is three messages. Others do their work as they go,
and then all are asked to prepare together; a single writer is asked last, and decides. Participants that only read prepare by
letting go of their locks: by then all the locks there are to be are held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from ...freezing import changed, frozen
from ...values import Failure, Success, boxed
from ..causes import Cancellation, Expiry

if TYPE_CHECKING:
    from ...values import JSON, Outcome

ABORTED = "TransactionAborted"
CONFLICT = "TransactionConflict"
RETRYABLE = frozenset({CONFLICT, "TransactionLost", "TransactionExpired", "Locked"})
MAX_PARTICIPANTS = 100

Phase: TypeAlias = Literal[
    "working", "locking", "validating", "preparing", "deciding", "committing", "aborting"
]
DECIDED = ("committing", "aborting")
UNDISTURBED = ("deciding", *DECIDED)  # what stops it must wait until it has ended
NEVER_RAN = frozenset(
    {"InvalidRequest", "MalformedMessage", "NotFound", "Permission", "Throttled", "Unavailable"}
)


@frozen
class Member:
    """A participant.

    Args:
        actions: that it is reached by, for `prepare`, `commit` and `abort`; one for all if an entity.
        key: of an entity; None for a participant that is none.
        params: what a participant that is no entity is given with each message.
        calls: of a declared transaction: `{"index", "operation", "params", "read"?}`.
        count: of the operations it has been sent to work, so far.
        read: whether it has nothing to write.
        vote: its last: "", "asked", "yes", "read", "no", "committed", "done".
        results: of its calls.
    """

    actions: tuple[str, ...]
    key: str | None
    params: JSON = None
    calls: JSON = None
    count: int = 0
    read: bool = True
    vote: str = ""
    results: JSON = None

    def to_json(self) -> JSON:
        return [
            list(self.actions), self.key, self.params, self.calls, self.count, self.read, self.vote,
            self.results,
        ]  # fmt: skip

    @classmethod
    def from_json(cls, doc: JSON) -> Member:
        return cls(tuple(doc[0]), *doc[1:])


@frozen
class Coordinating:
    """A transaction under way; `to` is where its coordinator's code begins.

    `asked` are the members whose answers are awaited; `value` is the result of a transaction that
    worked as it went; `reason` why it aborts; `cause` what is to go on when it has ended.
    """

    to: int
    transaction: str
    started_ms: int
    deadline_ms: int
    order: str
    coordinator: str
    phase: Phase
    members: tuple[Member, ...] = ()
    asked: tuple[int, ...] = ()
    value: JSON = None
    reason: Failure | None = None
    cause: Cancellation | Expiry | None = None

    # --- a transaction that works as it goes -------------------------------------------------

    def enlisted(self, action: str, key: JSON, *, read: bool) -> Coordinating | None:
        """With one more operation of a participant; None when there are too many participants."""
        for at, member in enumerate(self.members):
            if (member.actions[0], member.key) == (action, key):
                more = changed(member, count=member.count + 1, read=member.read and read)
                return self._with(at, more)
        if len(self.members) >= MAX_PARTICIPANTS:
            return None
        new = Member((action,), key, count=1, read=read)
        return changed(self, members=(*self.members, new))

    def working(self, action: str, message: dict[str, JSON]) -> dict[str, JSON]:
        """The message that asks for the operation just enlisted."""
        number = next(
            member.count
            for member in self.members
            if (member.actions[0], member.key) == (action, message["key"])
        )
        return {**message, "transaction": self._about("work", number)}

    def worked(self, value: JSON) -> Coordinating:
        """All is done but to commit."""
        return changed(self, phase="preparing", value=value)

    # --- messages ----------------------------------------------------------------------------

    def next(self) -> tuple[Coordinating, list[dict[str, JSON]]]:
        """Itself, waiting for answers, and the messages that ask for them; none when it has ended."""
        match self.phase:
            case "locking":
                return self._lock_next()
            case "validating" | "preparing":
                return self._prepare()
            case "deciding":
                (last,) = self.asked
                return self, [self.message(last, "prepare_commit")]
            case "committing":
                return self._tell("commit", [m.vote == "yes" for m in self.members])
            case _:
                touched = [m.vote in ("asked", "yes") or (m.count > 0 and m.vote == "")
                           for m in self.members]  # fmt: skip
                return self._tell("abort", touched)

    def _lock_next(self) -> tuple[Coordinating, list[dict[str, JSON]]]:
        at = next((i for i, member in enumerate(self.members) if not self._locked(member)), None)
        if at is None:
            return self._validated()
        member, last = self.members[at], at == len(self.members) - 1
        kind = "prepare"
        if member.read and not last:
            kind = "work"
        elif last and not member.read and member.key is not None and not self._readers:
            kind = "prepare_commit"
        asked = self._asking([at])
        if kind == "work":
            asked = asked._with(at, changed(asked.members[at], count=1))  # noqa: SLF001
        if kind == "prepare_commit":
            asked = changed(asked, phase="deciding")
        return asked, [asked.message(at, kind)]

    @staticmethod
    def _locked(member: Member) -> bool:
        return member.vote != "" or member.count > 0

    @property
    def _readers(self) -> list[int]:
        """Those that have worked and not voted, and have nothing to write."""
        return [
            at for at, m in enumerate(self.members) if m.read and m.count > 0 and m.vote != "read"
        ]

    def _validated(self) -> tuple[Coordinating, list[dict[str, JSON]]]:
        """All locks are held: the readers are asked whether theirs still are."""
        if self._readers:
            return changed(self, phase="validating").next()
        return changed(self, phase="committing").next()

    def _prepare(self) -> tuple[Coordinating, list[dict[str, JSON]]]:
        readers = self._readers
        writers = [
            at for at, m in enumerate(self.members) if not m.read and m.count > 0 and not m.vote
        ]
        ask = readers if len(writers) == 1 else sorted([*readers, *writers])
        if ask:
            return self._asking(ask), [self.message(at, "prepare") for at in ask]
        if writers:
            return changed(self._asking(writers), phase="deciding").next()
        return changed(self, phase="committing").next()

    def _tell(self, kind: str, whom: list[bool]) -> tuple[Coordinating, list[dict[str, JSON]]]:
        told = [at for at, chosen in enumerate(whom) if chosen]
        return self._asking(told), [self.message(at, kind) for at in told]

    def _asking(self, members: list[int]) -> Coordinating:
        asked = set(members) if self.phase not in DECIDED else set[int]()
        return changed(
            self,
            asked=tuple(members),
            members=tuple(
                changed(member, vote="asked") if at in asked else member
                for at, member in enumerate(self.members)
            ),
        )

    def message(self, at: int, kind: str) -> dict[str, JSON]:
        """A message as what invokes an action by name."""
        member = self.members[at]
        params: dict[str, JSON] = {"transaction": self._about(kind, member.count)}
        name = member.actions[0]
        if member.key is None:
            name = member.actions[("prepare", "commit", "abort").index(kind)]
            params |= boxed(member.params)
        else:
            params["key"] = member.key
            fresh = kind == "work" or (kind.startswith("prepare") and not member.count)
            if fresh and member.calls is not None:
                params["operations"] = [
                    {name: value for name, value in call.items() if name != "index"}
                    for call in member.calls
                ]
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

    def absorbed(self, value: JSON) -> Coordinating:
        """With the answers to what it has asked: one, or several as a fork has collected them."""
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

    def _heard(self, at: int, answer: JSON) -> Coordinating:
        member = self.members[at]
        if self.phase in DECIDED:
            return self if "error" in answer else self._with(at, changed(member, vote="done"))
        if "error" in answer:  # one of several; it may have prepared all the same
            failed = self.reason or Failure("", answer["error"])
            return changed(self, reason=failed)
        if member.key is None:
            return self._with(at, changed(member, vote="yes", results=[boxed(answer)]))
        vote, results = answer.get("vote", ""), answer.get("results") or member.results
        heard = self._with(at, changed(member, vote=vote, results=results))
        if vote == "no":
            why = Failure(CONFLICT if answer.get("retryable") else "", answer.get("reason"))
            return changed(heard, reason=self.reason or why)
        return heard

    def _with(self, at: int, member: Member) -> Coordinating:
        return changed(self, members=(*self.members[:at], member, *self.members[at + 1 :]))

    def aborting(self, reason: Failure, cause: Cancellation | Expiry | None) -> Coordinating:
        """It will not commit, for this reason."""
        made = self
        if reason.code in NEVER_RAN and len(self.asked) == 1:
            (at,) = self.asked
            if self.members[at].key is not None:  # of others a part may have run
                made = self._with(at, changed(self.members[at], vote="no"))
        return changed(made, phase="aborting", reason=reason, cause=cause, asked=())

    # --- the end -----------------------------------------------------------------------------

    @property
    def decision(self) -> Literal["commit", "abort", "undecided"]:
        """For a participant that has been left in doubt."""
        if self.phase == "committing":
            return "commit"
        return "abort" if self.phase == "aborting" else "undecided"

    @property
    def lasting(self) -> Cancellation | None:
        """What goes on after it has committed: it has come too late to be a timeout."""
        return self.cause if isinstance(self.cause, Cancellation) else None

    def outcome(self) -> Outcome:
        """What it has come to, when it has ended."""
        if self.phase == "committing":
            return Success(self.value if self.value is not None else self._results())
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
        for member in self.members:
            for call, result in zip(member.calls, member.results or (), strict=True):
                found[call["index"]] = result
        return {"value": [found[index] for index in sorted(found)]}
