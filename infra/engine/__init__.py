"""The engine: drives the pure machine with real events, and makes what it decides durable."""

from .batch_records import BATCH
from .batches import PAGE_ACTION
from .calls import Beside, Invoked
from .checking import Findings, check
from .engine import Engine
from .executions import Executions, NamedExecution
from .hearing import Accepted
from .hooks import Attachment, Companion, Hooks
from .inbox.pending import Beginning
from .names import name_key, named_document
from .origins import Origin
from .prices import Prices, PricesError, priced, read_prices
from .programs import program_document
from .queries import Answer
from .records import Records
from .registry import MODIFIED
from .resets import Place
from .shared import Counters, EngineSettings, EventBounds, Pacing
from .threads import LARGE_BYTES, Threads
from .timers import Timers
from .unwaited import EVENT, Unwaited
from .waiters import Ended
from .watching import LogQuery

__all__ = [
    "BATCH",
    "EVENT",
    "LARGE_BYTES",
    "MODIFIED",
    "PAGE_ACTION",
    "Accepted",
    "Answer",
    "Attachment",
    "Beginning",
    "Beside",
    "Companion",
    "Counters",
    "Ended",
    "Engine",
    "EngineSettings",
    "EventBounds",
    "Executions",
    "Findings",
    "Hooks",
    "Invoked",
    "LogQuery",
    "NamedExecution",
    "Origin",
    "Pacing",
    "Place",
    "Prices",
    "PricesError",
    "Records",
    "Threads",
    "Timers",
    "Unwaited",
    "check",
    "name_key",
    "named_document",
    "priced",
    "program_document",
    "read_prices",
]
