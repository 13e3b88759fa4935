"""Compositions and how they advance: the DSL, the program, the machine. No I/O.

Write `from xingqiao import composer` and build compositions with the functions below; see `composer.dsl.combinators`.
"""

from typing import TYPE_CHECKING, Never

from .cloudevents import (
    HOPS,
    MAX_ATTRIBUTES,
    MAX_EVENT_BYTES,
    RESERVED_EVENTS,
    attribute_flaw,
    reserved_attribute,
)
from .dialects import DIALECTS
from .dsl.classes import capture_class
from .dsl.combinators.actions import action, dynamic, function
from .dsl.combinators.chains import continue_as_new
from .dsl.combinators.children import child
from .dsl.combinators.concurrency import after, any, asynchronous, graph, map, parallel, race
from .dsl.combinators.control import (
    eca,
    empty,
    sequence,
    switch,
    task,
    then,
    wait,
    when,
    when_nosave,
)
from .dsl.combinators.data import (
    annotate,
    assign,
    forward,
    let,
    literal,
    mask,
    merge,
    retain,
    retain_catch,
    select,
    value,
)
from .dsl.combinators.errors import do, ensure, fallback, raise_error, retry, timeout
from .dsl.combinators.events import emit
from .dsl.combinators.limits import limit
from .dsl.combinators.loops import doloop, doloop_nosave, loop, loop_nosave, repeat, while_nosave
from .dsl.combinators.messages import all_of, any_of, receive, tell
from .dsl.combinators.sagas import saga, step
from .dsl.combinators.talking import queries
from .dsl.combinators.timeouts import within
from .dsl.combinators.transactions import (
    call,
    participant,
    read,
    semantic_lock,
    signal,
    transaction,
)
from .dsl.combinators.updates import on_update, until, updates
from .dsl.compiler import compile
from .dsl.composition import Composition
from .dsl.functions import ActionFunction, capture
from .dsl.grammar import parse
from .dsl.policies import AlwaysRevert, AlwaysRevertAll, ForEach, ParameterizedForEach, Times
from .dsl.schedules import Schedule, schedule
from .dsl.schema import composition_schema
from .dsl.slicing import Block, Outline, outline
from .errors import (
    CaptureError,
    CompositionError,
    Error,
    ExpressionError,
    InvalidNameError,
    LimitError,
    ProgramError,
)
from .expressions import Path, Predicate, Scope, Template, parse_predicate, path, var
from .freezing import changed, frozen
from .gates import UNBOUND, Bound, Gate, WaitingLine
from .languages import asl, forks, read_composer
from .languages.asl.running.task_tokens import task_token, token_place
from .machine.chains import Handover, handover, take_over
from .machine.changes import Changes
from .machine.children import CHILD_FAILED, child_failed, child_started
from .machine.commands import (
    Abandon,
    Acquire,
    Again,
    Annotate,
    Child,
    Command,
    Emit,
    Invoke,
    Spawn,
    Tell,
)
from .machine.conductor import Transition, advance, reissue
from .machine.conductor_action import CONDUCTING
from .machine.cursor import Context, Limits
from .machine.events import (
    Accepted,
    Acquired,
    Cancelled,
    Completed,
    Continued,
    Event,
    Failed,
    Heard,
    Heartbeat,
    Joined,
    LinedUp,
    Queued,
    Rebound,
    Resolved,
    Resumed,
    Taken,
    TimerFired,
)
from .machine.execution import Execution
from .machine.fiber import ROOT, Fiber
from .machine.frames import Deadline
from .machine.handling import is_over
from .machine.history import (
    ANNOTATED,
    ANNOTATION_REFUSED,
    EXECUTION_FAILED,
    MESSAGE_DROPPED,
    MESSAGE_RECEIVED,
    NOTHING,
    PAUSED,
    RESOLVED,
    RESUMED,
    STUCK,
    UPDATE_ACCEPTED,
    UPDATE_COMPLETED,
    UPDATE_FAILED,
    Entry,
)
from .machine.inbox import (
    MAX_INBOX_BYTES,
    MAX_MESSAGE_BYTES,
    MAX_MESSAGE_NAME,
    MAX_MESSAGES,
    Inbox,
    InboxChanges,
    Message,
    is_message_name,
)
from .machine.listening import accepts
from .machine.program import Program
from .machine.queries import QueryState, query_answer
from .machine.redrive import RedriveError, redrive
from .machine.reset import FIRST, LAST, ResetError, entry_of, reset
from .machine.retries import RetryPolicy
from .machine.sagas.compensations import Compensating, SagaStep, Undo
from .machine.serving import Settled, Update
from .machine.slots import Asked, asked
from .machine.stretches import Stretch
from .machine.timeouts import (
    RUN_TIMED_OUT,
    as_step,
    awaits_worker,
    deadlines,
    heartbeat_ms,
    told_again,
)
from .machine.transactions.operations import decided, decision
from .machine.updating import CLOSED, MAX_OPEN_UPDATES, MAX_UPDATES
from .machine.waits import Acquiring, Hearing, Invoking, Joining, Paused, Sleeping, Watching
from .names import Name, activation_id, check_part
from .values import (
    APPLICATION_ERROR,
    CANCELLED,
    JSON,
    LIMIT_EXCEEDED,
    MAX_DEPTH,
    TIMEOUT,
    Failure,
    Outcome,
    Success,
    boxed,
    classes_of,
    classes_told,
    copied,
    failure,
    flaw,
    measured,
    nests_deeper,
    outcome_from_json,
    outcome_to_json,
    overflow,
    truthy,
)
from .views.diagram import dot, mermaid
from .views.timelines import Line, timeline

__all__ = [
    "ANNOTATED",
    "ANNOTATION_REFUSED",
    "APPLICATION_ERROR",
    "CANCELLED",
    "CHILD_FAILED",
    "CLOSED",
    "CONDUCTING",
    "DIALECTS",
    "EXECUTION_FAILED",
    "FIRST",
    "HOPS",
    "JSON",
    "LAST",
    "LIMIT_EXCEEDED",
    "MAX_ATTRIBUTES",
    "MAX_DEPTH",
    "MAX_EVENT_BYTES",
    "MAX_INBOX_BYTES",
    "MAX_MESSAGES",
    "MAX_MESSAGE_BYTES",
    "MAX_MESSAGE_NAME",
    "MAX_OPEN_UPDATES",
    "MAX_UPDATES",
    "MESSAGE_DROPPED",
    "MESSAGE_RECEIVED",
    "NOTHING",
    "PAUSED",
    "RESERVED_EVENTS",
    "RESOLVED",
    "RESUMED",
    "ROOT",
    "RUN_TIMED_OUT",
    "STUCK",
    "TIMEOUT",
    "UNBOUND",
    "UPDATE_ACCEPTED",
    "UPDATE_COMPLETED",
    "UPDATE_FAILED",
    "Abandon",
    "Accepted",
    "Acquire",
    "Acquired",
    "Acquiring",
    "ActionFunction",
    "Again",
    "AlwaysRevert",
    "AlwaysRevertAll",
    "Annotate",
    "Asked",
    "Block",
    "Bound",
    "Cancelled",
    "CaptureError",
    "Changes",
    "Child",
    "Command",
    "Compensating",
    "Completed",
    "Composition",
    "CompositionError",
    "Context",
    "Continued",
    "Deadline",
    "Emit",
    "Entry",
    "Error",
    "Event",
    "Execution",
    "ExpressionError",
    "Failed",
    "Failure",
    "Fiber",
    "ForEach",
    "Gate",
    "Handover",
    "Heard",
    "Hearing",
    "Heartbeat",
    "Inbox",
    "InboxChanges",
    "InvalidNameError",
    "Invoke",
    "Invoking",
    "Joined",
    "Joining",
    "LimitError",
    "Limits",
    "Line",
    "LinedUp",
    "Message",
    "Name",
    "Outcome",
    "Outline",
    "ParameterizedForEach",
    "Path",
    "Paused",
    "Predicate",
    "Program",
    "ProgramError",
    "QueryState",
    "Queued",
    "Rebound",
    "RedriveError",
    "ResetError",
    "Resolved",
    "Resumed",
    "RetryPolicy",
    "SagaStep",
    "Schedule",
    "Scope",
    "Settled",
    "Sleeping",
    "Spawn",
    "Stretch",
    "Success",
    "Taken",
    "Tell",
    "Template",
    "TimerFired",
    "Times",
    "Transition",
    "Undo",
    "Update",
    "WaitingLine",
    "Watching",
    "accepts",
    "action",
    "activation_id",
    "advance",
    "after",
    "all_of",
    "annotate",
    "any",
    "any_of",
    "as_step",
    "asked",
    "asl",
    "assign",
    "asynchronous",
    "attribute_flaw",
    "awaits_worker",
    "boxed",
    "call",
    "capture",
    "capture_class",
    "changed",
    "check_part",
    "child",
    "child_failed",
    "child_started",
    "classes_of",
    "classes_told",
    "compile",
    "composition_schema",
    "continue_as_new",
    "copied",
    "deadlines",
    "decided",
    "decision",
    "do",
    "doloop",
    "doloop_nosave",
    "dot",
    "dynamic",
    "eca",
    "emit",
    "empty",
    "ensure",
    "entry_of",
    "failure",
    "fallback",
    "flaw",
    "forks",
    "forward",
    "frozen",
    "function",
    "graph",
    "handover",
    "heartbeat_ms",
    "is_message_name",
    "is_over",
    "let",
    "limit",
    "literal",
    "loop",
    "loop_nosave",
    "map",
    "mask",
    "measured",
    "merge",
    "mermaid",
    "nests_deeper",
    "on_update",
    "outcome_from_json",
    "outcome_to_json",
    "outline",
    "overflow",
    "parallel",
    "parse",
    "parse_predicate",
    "participant",
    "path",
    "queries",
    "query_answer",
    "race",
    "raise_error",
    "read",
    "read_composer",
    "receive",
    "redrive",
    "reissue",
    "repeat",
    "reserved_attribute",
    "reset",
    "retain",
    "retain_catch",
    "retry",
    "saga",
    "schedule",
    "select",
    "semantic_lock",
    "sequence",
    "signal",
    "step",
    "switch",
    "take_over",
    "task",
    "task_token",
    "tell",
    "then",
    "timeline",
    "timeout",
    "token_place",
    "told_again",
    "transaction",
    "truthy",
    "until",
    "updates",
    "value",
    "var",
    "wait",
    "when",
    "when_nosave",
    "while_nosave",
    "within",
]

if not TYPE_CHECKING:  # a type checker would take every name for an attribute

    def __getattr__(name: str) -> Never:
        from .dsl.hints import no_attribute  # noqa: PLC0415  only errors need it

        raise no_attribute(name, __name__, __all__)
