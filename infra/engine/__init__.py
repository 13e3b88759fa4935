"""The engine: drives the pure machine with real events, and makes what it decides durable."""

from .aside import LARGE_BYTES, Aside
from .checking import Findings, check
from .contexts import role_of
from .engine import Engine, Invoked
from .executions import Executions, MachineExecution
from .inbox.pending import Beginning
from .prices import Prices, PricesError, priced, read_prices
from .programs import program_document
from .records import Records
from .registry import MODIFIED, Beside
from .shared import Counters, EngineSettings
from .timers import Timers
from .unwaited import EVENT, Unwaited
from .waiters import Ended

__all__ = [
    "EVENT",
    "LARGE_BYTES",
    "MODIFIED",
    "Aside",
    "Beginning",
    "Beside",
    "Counters",
    "Ended",
    "Engine",
    "EngineSettings",
    "Executions",
    "Findings",
    "Invoked",
    "MachineExecution",
    "Prices",
    "PricesError",
    "Records",
    "Timers",
    "Unwaited",
    "check",
    "priced",
    "program_document",
    "read_prices",
    "role_of",
]
