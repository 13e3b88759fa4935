"""The command line: `xingqiao`. A thin face of the HTTP API, and of the engine for `serve` and `run`."""

from .main import main

__all__ = ["main"]
