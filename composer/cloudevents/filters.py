"""Filters: which CloudEvents fire a trigger, or are heard by a composition.

The dialects `exact`, `prefix`, `suffix`, `all`, `any` and `not` of CloudEvents Subscriptions, and `data`: a predicate
over the whole CloudEvent. https://github.com/cloudevents/spec/blob/main/subscriptions/spec.md, section 3.2.4
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ..expressions import Scope
from .predicates import check_bounds, malformed, read_event_predicate

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..values import JSON
    from .event import CloudEvent

    Fits: TypeAlias = Callable[[CloudEvent], bool]


@dataclass(frozen=True, slots=True)
class EventFilter:
    """A filter. Make it with `read_event_filter`.

    Args:
        doc: its JSON form.
        types: the only types of CloudEvents that can fit; None if those of any type can.
        test: the filter, compiled.
    """

    doc: dict[str, JSON]
    types: frozenset[str] | None = field(compare=False)
    test: Fits = field(compare=False, repr=False)

    def fits(self, event: CloudEvent) -> bool:
        """True if the CloudEvent passes. A predicate that cannot be evaluated lets nothing pass."""
        return self.test(event)

    def to_json(self) -> dict[str, JSON]:
        return self.doc


def read_event_filter(doc: JSON, place: str = "filter") -> EventFilter:
    """Reads a filter: an object with one dialect, such as `{"exact": {"type": "order.placed"}}`.

    Raises:
        ExpressionError: it is not a filter. The text names the member, from `place` on.
    """
    check_bounds(doc, place)
    return _read(doc, place)


def _read(doc: Any, place: str) -> EventFilter:
    if not isinstance(doc, dict) or len(doc) != 1:
        raise malformed(
            place,
            f"must be an object with one of {', '.join(_DIALECTS)}, not {doc!r:.200}: "
            "put several filters into 'all' or 'any'",
        )
    [(dialect, given)] = doc.items()
    if dialect not in _DIALECTS:
        raise malformed(
            place, f"has the dialect {dialect!r:.100}: use one of {', '.join(_DIALECTS)}"
        )
    types, test = _DIALECTS[dialect](given, f"{place}.{dialect}")
    return EventFilter(doc, types, test)


# --- dialects ----------------------------------------------------------------------------------

_Parts: TypeAlias = "tuple[frozenset[str] | None, Fits]"


def _exact(given: Any, place: str) -> _Parts:
    wanted = _attributes(given, place)
    types = frozenset([wanted["type"]]) if "type" in wanted else None
    return types, _comparing(wanted, str.__eq__)


def _prefix(given: Any, place: str) -> _Parts:
    return None, _comparing(_attributes(given, place), str.startswith)


def _suffix(given: Any, place: str) -> _Parts:
    return None, _comparing(_attributes(given, place), str.endswith)


def _attributes(given: Any, place: str) -> dict[str, str]:
    if not isinstance(given, dict) or not given:
        raise malformed(place, f"must be an object of attributes and texts, not {given!r:.200}")
    for name, text in given.items():
        if not isinstance(text, str) or not text:
            raise malformed(
                f"{place}.{name:.100}", f"must be a string that is not empty, not {text!r:.100}"
            )
    return given


def _comparing(wanted: dict[str, str], compare: Callable[[str, str], bool]) -> Fits:
    pairs = tuple(wanted.items())

    def fits(event: CloudEvent) -> bool:
        given = event.attributes
        return all(name in given and compare(_text(given[name]), text) for name, text in pairs)

    return fits


def _text(value: JSON) -> str:
    """An attribute as a string: booleans and integers have one form (CloudEvents, section 3.1)."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _all(given: Any, place: str) -> _Parts:
    filters = _several(given, place)
    types: frozenset[str] | None = None
    for each in filters:
        if each.types is not None:
            types = each.types if types is None else types & each.types
    return types, lambda event: all(each.fits(event) for each in filters)


def _any(given: Any, place: str) -> _Parts:
    filters = _several(given, place)
    known = [each.types for each in filters if each.types is not None]
    types = frozenset[str]().union(*known) if len(known) == len(filters) else None
    return types, lambda event: any(each.fits(event) for each in filters)


def _several(given: Any, place: str) -> list[EventFilter]:
    if not isinstance(given, list) or not given:
        raise malformed(place, f"must be a list of filters that is not empty, not {given!r:.200}")
    return [_read(each, f"{place}[{index}]") for index, each in enumerate(given)]


def _not(given: Any, place: str) -> _Parts:
    inner = _read(given, place)
    return None, lambda event: not inner.fits(event)


def _data(given: Any, place: str) -> _Parts:
    predicate = read_event_predicate(given, place)
    return None, lambda event: predicate.holds(Scope(event.to_json(), {}))


_DIALECTS: dict[str, Callable[[Any, str], _Parts]] = {
    "exact": _exact,
    "prefix": _prefix,
    "suffix": _suffix,
    "all": _all,
    "any": _any,
    "not": _not,
    "data": _data,
}
