"""Whether a fire of a trigger invokes the action of a rule, and what the rule remembers of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..composer import Failure, Scope, measured
from .conditions import CONTEXT, EVENT, MAX_CONTEXT_BYTES, MAX_MEMBER, key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..composer import JSON, Path
    from .conditions import Join
    from .documents import Stored
    from .model import Rule

MAX_RESULTS_BYTES = 256 << 10  # of a join, about; the data of larger ones is not kept
GIVEN = "__ow_context"  # the parameter that tells an action of the join that is complete


@dataclass(frozen=True, slots=True)
class Place:
    """The context of a rule that a fire belongs to: its key, and the value that separates it from others."""

    key: str
    value: JSON = None


WHOLE = Place("whole")


@dataclass(frozen=True, slots=True)
class RuleState:
    """What a rule remembers at one place, besides the members of its join.

    Args:
        context: as the last fire left it.
        value: the value of the place.
        counted: the fires since the last invocation, if the rule counts.
        fired_ms: the instant of the last invocation, if the rule throttles.
        done: True once the join is complete.
    """

    context: dict[str, JSON]
    value: JSON = None
    counted: int = 0
    fired_ms: int | None = None
    done: bool = False

    def to_json(self) -> dict[str, JSON]:
        return {
            "context": self.context,
            "value": self.value,
            "counted": self.counted,
            "fired_ms": self.fired_ms,
            "done": self.done,
        }

    @classmethod
    def from_json(cls, doc: Stored) -> RuleState:
        """Reads what `to_json` wrote."""
        return cls(**doc)


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a join that has come.

    Args:
        value: the member.
        size: about how many bytes its data has.
        data: of the CloudEvent; None if the data of the join is too large to be kept.
    """

    value: JSON
    size: int
    data: JSON

    def to_json(self) -> dict[str, JSON]:
        return {"value": self.value, "size": self.size, "data": self.data}

    @classmethod
    def from_json(cls, doc: Stored) -> Member:
        """Reads what `to_json` wrote, whatever was added to it."""
        return cls(doc["value"], doc["size"], doc["data"])


@dataclass(slots=True)
class Members:
    """The members of a join that have come.

    Args:
        by_key: in the order in which they came.
        size: about how many bytes the data of all of them has.
    """

    by_key: dict[str, Member] = field(default_factory=dict)
    size: int = 0

    def add(self, key: str, member: Member) -> None:
        self.by_key[key] = member
        self.size += member.size


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a fire does to a rule.

    Args:
        fires: True if the action is invoked.
        after: the state after it.
        joined: the member that has come with it, by key; None if none has.
        params: parameters that are added to those of the fire.
        why: why the fire could not be judged; None if it could.
    """

    fires: bool
    after: RuleState
    joined: tuple[str, Member] | None = None
    params: dict[str, JSON] = field(default_factory=dict)
    why: str | None = None


def place_of(rule: Rule, event: dict[str, JSON]) -> Place | str:
    """The place that a fire belongs to, or why there is none."""
    condition = rule.condition
    if condition is None or condition.by is None:
        return WHOLE
    value: Any = condition.by.select({EVENT: event})
    key = key_of(value)
    return _nameless("by", condition.by) if key is None else Place(key, value)


def begun(rule: Rule, place: Place = WHOLE) -> RuleState:
    """The state in which a rule begins."""
    return RuleState(rule.context, place.value)


def judge(
    rule: Rule,
    state: RuleState,
    members: Members,
    event: dict[str, JSON],
    now_ms: int,
) -> Verdict:
    """Judges a fire.

    Args:
        rule: the rule.
        state: at the place of the fire.
        members: of its join that have come before.
        event: the JSON format of the CloudEvent, or `{"data": payload}`.
        now_ms: the instant.
    """
    condition = rule.condition
    if state.done and (condition is None or condition.join is None):  # it joined before an update
        state = replace(state, done=False)
    scope = Scope({EVENT: event, CONTEXT: state.context}, {}, MAX_CONTEXT_BYTES)
    stays = Verdict(fires=False, after=state)
    if state.done or (
        condition is not None and condition.where is not None and not condition.where.holds(scope)
    ):
        return stays
    after = _assigned(rule, state, scope)
    if isinstance(after, str):
        return replace(stays, why=after)
    if condition is None:
        return Verdict(fires=True, after=after)
    if condition.join is not None:
        return _joined(condition.join, stays, after, members, event)
    if condition.count is not None:
        fires = after.counted + 1 >= condition.count
        return Verdict(fires, replace(after, counted=0 if fires else after.counted + 1))
    if condition.throttle_ms is not None:
        if after.fired_ms is not None and now_ms - after.fired_ms < condition.throttle_ms:
            return Verdict(fires=False, after=after)
        return Verdict(fires=True, after=replace(after, fired_ms=now_ms))
    return Verdict(fires=True, after=after)


def lapsed(rule: Rule, state: RuleState, now_ms: int) -> bool:
    """True if a state may be forgotten for want of room: later fires of its place seldom come."""
    condition = rule.condition
    if condition is not None and condition.throttle_ms is not None and not rule.assign:
        return state.fired_ms is not None and now_ms - state.fired_ms >= condition.throttle_ms
    return state.done


def _assigned(rule: Rule, state: RuleState, scope: Scope) -> RuleState | str:
    """The state after a fire, with the context that it assigns; or why there is none."""
    if rule.assign is None:
        return state
    context: Any = rule.assign.template.fill(scope)
    if isinstance(context, Failure):
        return f"assign: {context.error}"
    return replace(state, context=context)


def _joined(
    join: Join,
    stays: Verdict,
    after: RuleState,
    members: Members,
    event: dict[str, JSON],
) -> Verdict:
    value: Any = join.member.select({EVENT: event})
    key = key_of(value)
    if key is None:
        return replace(stays, why=_nameless("join.member", join.member))
    if key in members.by_key or (join.of is not None and key not in join.of):
        return stays
    data = event.get("data", event.get("data_base64"))
    size = measured(data, MAX_RESULTS_BYTES)
    kept = members.size + size <= MAX_RESULTS_BYTES
    member = Member(value, size, data if kept else None)
    waits = Verdict(fires=False, after=after, joined=(key, member))
    if len(members.by_key) + 1 < join.size:
        return waits
    all_of_it = {**members.by_key, key: member}
    order = list(all_of_it if join.of is None else join.of)
    if any(key not in all_of_it for key in order):  # some came for the list before an update
        return waits
    given = _given([all_of_it[key] for key in order], kept=kept)
    return Verdict(
        fires=True, after=replace(after, done=True), joined=(key, member), params={GIVEN: given}
    )


def _given(members: Sequence[Member], *, kept: bool) -> dict[str, JSON]:
    results: list[JSON] | None = [member.data for member in members] if kept else None
    return {"members": [member.value for member in members], "results": results}


def _nameless(member: str, path: Path) -> str:
    return (
        f"condition.{member}: {path.text} must lead to a string, number or boolean "
        f"of at most {MAX_MEMBER} characters"
    )
