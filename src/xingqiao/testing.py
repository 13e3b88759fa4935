"""Compositions in your tests: run with faked actions, in virtual time, with crashes where you want them."""

from .composer.testing import (
    Fail,
    Invocation,
    Never,
    Run,
    Simulation,
    SimulationError,
    Slow,
    Told,
    simulate,
)

__all__ = [
    "Fail",
    "Invocation",
    "Never",
    "Run",
    "Simulation",
    "SimulationError",
    "Slow",
    "Told",
    "simulate",
]
