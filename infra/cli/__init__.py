"""The command line `xingqiao`: a client of the HTTP API; `serve` and `run` start the engine itself."""

from .main import main

__all__ = ["main"]
