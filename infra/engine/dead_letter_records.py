"""Dead letters: calls that nobody waits for, and that failed for good by no fault of their action.

Nobody hears of such a failure, so it is kept: what was called with what, why it failed, and how often it
was tried. A letter is committed together with the end of the failed call. An error that the action itself
answers, or a result that the server rejects, makes no dead letter: the activation has it. A task of a queue
that no worker has taken or answered in time makes one. Events of
Lambda are the exception: any failure of one makes a letter, as with AWS' dead-letter queues.
"""

from __future__ import annotations

import logging
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import orjson

from ...actions import (
    CRASHED,
    FAILURES,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LOST,
    NOT_FOUND,
    PERMISSION,
    THROTTLED,
    UNAVAILABLE,
    Document,
    NotFoundError,
)
from ...composer import CANCELLED, LIMIT_EXCEEDED, TIMEOUT, Failure, frozen
from ...transactions import LOCKED, NEWER_STATE, RETRYABLE
from .unwaited import EVENT, Unwaited

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...actions import MayHaveRun
    from ...composer import JSON
    from .live import LiveExecution
    from .shared import Parts
    from .tick import Tick

log = logging.getLogger(__name__)

LETTER = "dead-letter"  # documents, by namespace and id
CONTENT = "dead-letter-content"  # the parameters and the error of each: they may be large
TEXT = 500  # characters of an error that are shown in lists

GIVEN_UP: Final = frozenset({
    CRASHED, INTERNAL_ERROR, INVALID_REQUEST, LIMIT_EXCEEDED, LOCKED, LOST, NEWER_STATE, NOT_FOUND, PERMISSION,
    THROTTLED, UNAVAILABLE, *RETRYABLE,
})  # fmt: skip
"""Codes of failures that are not the action's own answer."""


@frozen
class DeadLetter:
    """A dead letter.

    Args:
        id: its own.
        namespace: that the call was made in.
        at_ms: when it was given up.
        target: the full name of the action; of the trigger, if an alarm or a CloudEvent could not fire it.
        how: `signal`, `invoke`, `trigger`, `event`, `schedule`, `alarm` or `cloudevent`.
        rule: that called, if one did.
        activation: of the call; None when it was refused before it began.
        execution: whether that is an execution, which can be redriven; else it is a single action.
        code: of the failure.
        message: the beginning of its text.
        may_have_run: `no`, `yes` or `unknown`: whether the action may have run.
        attempts: how often it has been tried.
        owner: the namespace whose action it was, by whatever name it was called; "" when it was refused
            before it began.
    """

    id: str
    namespace: str
    at_ms: int
    target: str
    how: str
    rule: str
    activation: str | None
    execution: bool
    code: str
    message: str
    may_have_run: str
    attempts: int
    owner: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.id}"

    @property
    def unwaited(self) -> Unwaited:
        """The call that tries it again."""
        return Unwaited(self.how, self.rule, self.attempts + 1)

    @classmethod
    def from_json(cls, doc: dict[str, Any]) -> DeadLetter:
        """Reads what `to_json` wrote, and what versions before 2026-11-22 wrote: `ran` was its old name."""
        known = {"may_have_run": doc.get("ran"), **doc}
        return cls(**{name: known[name] for name in _FIELDS if name in known})

    def to_json(self) -> dict[str, JSON]:
        return {name: getattr(self, name) for name in _FIELDS}

    def shown(self) -> dict[str, JSON]:
        """The letter as its namespace sees it, without the members that it lacks."""
        doc: dict[str, JSON] = {
            "id": self.id,
            "at": self.at_ms,
            "kind": self.how,
            "target": self.target,
            "rule": self.rule,
            "executionId" if self.execution else "activationId": self.activation,
            "code": self.code,
            "message": self.message,
            "mayHaveRun": self.may_have_run,
            "attempts": self.attempts,
        }
        return {name: value for name, value in doc.items() if value not in (None, "")}


_FIELDS = (
    "id", "namespace", "at_ms", "target", "how", "rule", "activation", "execution", "code", "message",
    "may_have_run", "attempts", "owner",
)  # fmt: skip


class DeadLetterRecords:
    """Keeps dead letters, so many of each namespace; then the oldest goes. `told` is called with each."""

    def __init__(self, parts: Parts, tick: Tick, told: Callable[[DeadLetter], None]) -> None:
        self._parts, self._tick, self._told = parts, tick, told
        self._kept: dict[str, dict[str, DeadLetter]] = {}  # by namespace and id, the oldest first

    async def load(self) -> None:
        """Reads the letters from the store, without their parameters."""
        async for document in self._parts.store.documents(LETTER):
            letter = DeadLetter.from_json(orjson.loads(document.body or b""))
            self._kept.setdefault(letter.namespace, {})[letter.id] = letter

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))

    # --- they come ---------------------------------------------------------------------------

    def ended(self, run: LiveExecution, failed: Failure) -> None:
        """Keeps a call that failed, if nobody waits for it and the failure is not the action's own answer."""
        unwaited = run.origin.unwaited
        if unwaited is None or failed.code == CANCELLED:
            return
        if failed.code not in GIVEN_UP and unwaited.how != EVENT and not _left(failed):
            return
        unwaited = unwaited.tried(run.execution.generation)
        action = run.origin.action.listed_as
        letter = self._letter(run.origin.namespace, str(action), unwaited, failed)
        letter["activation"], letter["execution"] = run.id, not run.origin.solo
        letter["owner"] = run.origin.owner
        self._keep(DeadLetter(**letter), run.given, failed.error)

    def refused(
        self, namespace: str, target: str, unwaited: Unwaited, params: JSON, why: str
    ) -> None:
        """Keeps a call that could not even begin."""
        self.failed(namespace, target, unwaited, params, Failure(UNAVAILABLE, why))

    def failed(
        self, namespace: str, target: str, unwaited: Unwaited, params: JSON, failed: Failure
    ) -> None:
        """Keeps a call that could not even begin, with its failure; after an internal error it may have run."""
        letter = self._letter(namespace, target, unwaited, failed)
        if failed.code != INTERNAL_ERROR:
            letter["may_have_run"] = "no"
        self._keep(DeadLetter(**letter), params, failed.error)

    def _letter(
        self, namespace: str, target: str, unwaited: Unwaited, failed: Failure
    ) -> dict[str, Any]:
        now_ms = self._parts.clock.now_ms()
        return {
            "id": self._parts.ids.execution_id(now_ms),
            "namespace": namespace,
            "at_ms": now_ms,
            "target": target,
            "how": unwaited.how,
            "rule": unwaited.rule,
            "activation": None,
            "execution": False,
            "code": failed.code,
            "message": _text(failed.error)[:TEXT],
            "may_have_run": _may_have_run(failed),
            "attempts": unwaited.attempts,
        }

    def _keep(self, letter: DeadLetter, params: JSON, error: JSON) -> None:
        log.warning(
            "dead letter %s of namespace %s: %s failed by %s after %d attempts",
            letter.id, letter.namespace, letter.target, letter.code, letter.attempts,
        )  # fmt: skip
        self._parts.counters.letters += 1
        gathering = self._tick.gathering
        gathering.write.documents += [
            Document(kind=LETTER, key=letter.key, body=orjson.dumps(letter.to_json())),
            Document(kind=CONTENT, key=letter.key, body=orjson.dumps([params, error])),
        ]
        gathering.effects.append(partial(self._kept_now, letter))

    def _kept_now(self, letter: DeadLetter) -> None:
        """Shows a letter that is durable. The oldest go, if there are too many."""
        kept = self._kept.setdefault(letter.namespace, {})
        kept[letter.id] = letter
        surplus = [*islice(kept, max(0, len(kept) - self._parts.settings.letters))]
        if surplus:
            log.warning("namespace %s has too many dead letters: the oldest go", letter.namespace)
            self._parts.counters.letters_dropped += len(surplus)
        for id in surplus:
            self.remove(letter.namespace, id)
        self._told(letter)

    # --- they are seen, and go -----------------------------------------------------------------

    def listed(self, namespace: str) -> list[DeadLetter]:
        """The letters of a namespace, the newest first."""
        return list(reversed(self._kept.get(namespace, {}).values()))

    def found(self, namespace: str, id: str) -> DeadLetter:
        """A letter of a namespace.

        Raises:
            NotFoundError: when there is none of this id there.
        """
        letter = self._kept.get(namespace, {}).get(id)
        if letter is None:
            raise NotFoundError
        return letter

    async def content(self, letter: DeadLetter) -> tuple[JSON, JSON]:
        """The parameters of the call and the whole error. An execution's input is in its history.

        Raises:
            NotFoundError: when it has gone meanwhile.
        """
        async for document in self._parts.store.documents(CONTENT, letter.key, limit=1):
            params, error = orjson.loads(document.body or b"")
            return params, error
        raise NotFoundError

    def remove(self, namespace: str, id: str) -> None:
        """Removes a letter with the next commit; it is not seen any more from now on."""
        letter = self._kept[namespace].pop(id)
        if not self._kept[namespace]:
            del self._kept[namespace]
        self._tick.gathering.write.documents += [
            Document(kind=kind, key=letter.key, body=None) for kind in (LETTER, CONTENT)
        ]
        self._tick.wake()


def _left(failed: Failure) -> bool:
    """True if no worker has taken the task of a queue, or none has answered it, in all its attempts."""
    return failed.code == TIMEOUT and isinstance(failed.error, dict) and "timeout" in failed.error


def _may_have_run(failed: Failure) -> MayHaveRun:
    if _left(failed) and failed.error["timeout"] == "to_start":  # type: ignore[call-overload,index]
        return "no"
    kind = FAILURES.get(failed.code)
    return "unknown" if kind is None else kind.may_have_run


def _text(error: JSON) -> str:
    """The text of an error: its message, if it has one."""
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else orjson.dumps(error).decode()
