"""Exit codes of the command, as `xingqiao --help` documents them."""

from __future__ import annotations

FAILED, MISUSED, UNREACHED, NOT_ALLOWED, MISSING, TIMED_OUT = range(1, 7)
INTERRUPTED = 130
