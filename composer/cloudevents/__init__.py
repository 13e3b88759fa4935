"""CloudEvents: their attributes, and the filters that they pass or not."""

from .attributes import (
    DATA,
    DATA_BASE64,
    HOPS,
    MAX_ATTRIBUTES,
    MAX_EVENT_BYTES,
    REQUIRED,
    RESERVED_EVENTS,
    VERSION,
    attribute_flaw,
    emission_flaw,
    reserved_attribute,
    timestamp,
)
from .event import CloudEvent
from .filters import EventFilter, read_event_filter
from .predicates import (
    EventPredicate,
    check_bounds,
    malformed,
    read_event_path,
    read_event_predicate,
    read_event_template,
)

__all__ = [
    "DATA",
    "DATA_BASE64",
    "HOPS",
    "MAX_ATTRIBUTES",
    "MAX_EVENT_BYTES",
    "REQUIRED",
    "RESERVED_EVENTS",
    "VERSION",
    "CloudEvent",
    "EventFilter",
    "EventPredicate",
    "attribute_flaw",
    "check_bounds",
    "emission_flaw",
    "malformed",
    "read_event_filter",
    "read_event_path",
    "read_event_predicate",
    "read_event_template",
    "reserved_attribute",
    "timestamp",
]
