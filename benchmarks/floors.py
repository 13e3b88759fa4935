"""The floor: the limit that the machine's disk and SQLite set for every program, measured in the same run."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from pathlib import Path

ROUNDS = 400
BATCH = 50


def floor() -> dict[str, float]:
    """Measures commits of one row per second, and rows per second with 50 per commit, both synced (WAL, FULL)."""
    with tempfile.TemporaryDirectory() as directory:
        return {
            "commits_per_s": round(_rate(Path(directory) / "one", 1)),
            "rows_per_s": round(_rate(Path(directory) / "many", BATCH)),
        }


def _rate(path: Path, rows: int) -> float:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, body BLOB)")
    body = b"x" * 200
    began = time.perf_counter()
    for _ in range(ROUNDS):
        database.execute("BEGIN")
        database.executemany("INSERT INTO t (body) VALUES (?)", [(body,)] * rows)
        database.execute("COMMIT")
    rate = rows * ROUNDS / (time.perf_counter() - began)
    database.close()
    return rate
