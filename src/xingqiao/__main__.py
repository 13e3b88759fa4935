"""The command line, as `xingqiao` and as `python -m xingqiao`."""

from __future__ import annotations

from .infra.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
