"""Compositions in your tests: run with faked actions, in virtual time, with crashes where you want them."""

from .composer.testing import (
    Beats,
    Fail,
    Invocation,
    Never,
    Run,
    Simulation,
    SimulationError,
    Slow,
    Waits,
    simulate,
)

__all__ = [
    "Beats",
    "Fail",
    "Invocation",
    "Never",
    "Run",
    "Simulation",
    "SimulationError",
    "Slow",
    "Waits",
    "simulate",
]
