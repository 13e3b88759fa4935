"""The engine: drives the pure machine with real events, and makes what it decides durable."""

from .engine import Engine, Invoked
from .parts import Counters, EngineSettings
from .records import Records
from .timers import Timers
from .waiters import Ended

__all__ = ["Counters", "Ended", "Engine", "EngineSettings", "Invoked", "Records", "Timers"]
