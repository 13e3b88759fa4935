"""Predicates over a CloudEvent: those of compositions, with paths that cost next to nothing to follow."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from ..errors import ExpressionError
from ..expressions import Template, parse_predicate, path
from ..values import flaw, measured

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..expressions import Path, Predicate, Scope
    from ..values import JSON

MAX_BYTES = 8 << 10  # of a filter or a condition, as JSON
MAX_LEVELS = 32
MAX_COMPARED = (
    16 << 10
)  # bytes of a value that is compared with another one, or matched with a pattern


@dataclass(frozen=True, slots=True)
class EventPredicate:
    """A predicate that each CloudEvent is tested with. Make it with `read_event_predicate`.

    Args:
        predicate: as compositions have it.
        weighed: paths to the values that take long to compare when they are large.
    """

    predicate: Predicate
    weighed: tuple[Path, ...]

    def holds(self, scope: Scope) -> bool:
        """True if it holds. It does not if it cannot be evaluated, or would compare a value that is too large."""
        values: Any = (path.select(scope.value) for path in self.weighed)
        if any(measured(value, MAX_COMPARED) > MAX_COMPARED for value in values):
            return False
        return self.predicate.holds(scope) is True


def check_bounds(doc: JSON, field: str) -> None:
    """Checks that a filter or a condition is small: each CloudEvent is compared with all of it.

    Raises:
        ExpressionError: it is too large or too deep.
    """
    if why := flaw(doc, depth=MAX_LEVELS):
        raise malformed(field, f"must be JSON of at most {MAX_LEVELS} levels: {why}")
    size = len(json.dumps(doc, ensure_ascii=False).encode())
    if size > MAX_BYTES:
        raise malformed(field, f"must be JSON of at most {MAX_BYTES} bytes, not {size}")


def read_event_predicate(doc: Any, field: str, roots: Sequence[str] = ()) -> EventPredicate:
    """Reads a predicate that each CloudEvent is tested with. If there are `roots`, its paths begin with one of them.

    Raises:
        ExpressionError: it is not a predicate, or has a path that can lead to several places, or a variable.
    """
    try:
        predicate = parse_predicate(doc)
        for selector in _selectors(doc):
            _check_selector(selector, field, roots)
    except ExpressionError as error:
        raise malformed(field, f"is not a predicate: {error}") from None
    weighed = {text: path(text).path for text in _weighed(doc)}
    return EventPredicate(predicate, tuple(weighed.values()))


def read_event_path(doc: Any, field: str, roots: Sequence[str] = ()) -> Path:
    """Reads a path to one place, such as `$.event.data.order`.

    Raises:
        ExpressionError: it is not such a path.
    """
    try:
        return _check_selector({"path": doc}, field, roots)
    except ExpressionError as error:
        raise malformed(field, f"is not a path: {error}") from None


def read_event_template(doc: JSON, field: str, roots: Sequence[str] = ()) -> Template:
    """Reads a template that is filled in from a CloudEvent.

    Raises:
        ExpressionError: it is not a template, or has a path that can lead to several places, or a variable.
    """
    try:
        template = Template.from_json(doc)
        for selector in _places(doc):
            _check_selector({key[1:]: part for key, part in selector.items()}, field, roots)
    except ExpressionError as error:
        raise malformed(field, f"is not a template: {error}") from None
    return template


def malformed(field: str, why: str) -> ExpressionError:
    """The error for a member of a definition; `field` is its place, such as `filter.all[0].exact`."""
    return ExpressionError(f"'{field}' {why}")


def _check_selector(selector: dict[str, Any], field: str, roots: Sequence[str]) -> Path:
    if "var" in selector:
        raise malformed(field, f"has the variable {selector['var']!r:.100}: use a path instead")
    found = path(selector["path"]).path
    if found.steps is None:
        raise malformed(
            field,
            f"has the path {found.text!r:.100}, which can select several values: "
            "use one without wildcards, slices, filters and '..'",
        )
    if roots and (not found.steps or found.steps[0] not in roots):
        beginnings = " or ".join(f"$.{root}" for root in roots)
        raise malformed(field, f"has the path {found.text!r:.100}: begin it with {beginnings}")
    return found


def _selectors(doc: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The selectors of a predicate that `parse_predicate` has accepted."""
    for part in (doc.get("left"), doc.get("right"), doc.get("of")):
        for each in part if isinstance(part, list) else [part]:
            if isinstance(each, dict) and "op" in each:
                yield from _selectors(each)
            elif _is_selector(each):
                yield each


def _weighed(doc: Any) -> Iterator[str]:
    """The paths of the comparisons of two places, and of the patterns, in a predicate that was accepted."""
    sides = [side["path"] for side in (doc.get("left"), doc.get("right")) if _is_selector(side)]
    if len(sides) > 1:
        yield from sides
    if "pattern" in doc:
        yield doc["of"]["path"]
    inner = doc.get("of")
    for each in inner if isinstance(inner, list) else [inner]:
        if isinstance(each, dict) and "op" in each:
            yield from _weighed(each)


def _is_selector(part: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(part, dict) and "path" in part and "value" not in part


def _places(doc: JSON) -> Iterator[dict[str, Any]]:
    """The selectors of a template that `Template.from_json` has accepted."""
    if isinstance(doc, dict) and "$path" in doc:
        yield doc
    elif isinstance(doc, dict):
        literal = doc.keys() == {"$literal"} and isinstance(doc["$literal"], dict)
        for member in (doc["$literal"] if literal else doc).values():  # type: ignore[union-attr]
            yield from _places(member)
    elif isinstance(doc, list):
        for item in doc:
            yield from _places(item)
