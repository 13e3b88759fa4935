"""A Postgres database as a participant: the actions `prepare`, `commit` and `abort`.

Each action takes `{"statements": [[SQL, arguments], ...], "transaction": {"id": ...}}`. The default
parameter `database` of the actions is the URL of the database; without it, DATABASE_URL is used.
The database server must have `max_prepared_transactions` above 0. The actions create the table
`xingqiao_transactions` if it is missing.

The actions may be invoked in any order and any number of times. `prepare` runs the statements,
followed by PREPARE TRANSACTION. From then on, the changes survive a restart and hold their locks
until the decision (`pg_prepared_xacts` shows them with the transaction's id). The table records
each ended transaction: a commit as a row that the transaction itself inserts, and an abort as a
tombstone, which refuses a late `prepare`. You can delete rows that are older than any outage.

Two parts of one transaction with the same statements count as one part. To keep them apart, give
each a different `"part"`.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import asynccontextmanager

import psycopg
from psycopg import sql

TABLE = """
CREATE TABLE IF NOT EXISTS xingqiao_transactions (
    part text PRIMARY KEY,
    outcome text NOT NULL,
    ended_at timestamptz NOT NULL DEFAULT now()
)
"""
STATE = """
SELECT CASE
    WHEN EXISTS (
        SELECT FROM pg_prepared_xacts WHERE gid = %(part)s AND database = current_database()
    ) THEN 'prepared'
    ELSE (SELECT outcome FROM xingqiao_transactions WHERE part = %(part)s)
END
"""
LOCK_TIMEOUT = "5s"  # bounds the wait for rows that a transaction in doubt has locked
TABLE_LOCK = 20_081_212  # an arbitrary number that no other program locks


async def prepare(params):
    """Runs the statements and promises to be able to commit them. An error is a refusal."""
    try:
        async with _session(params) as (db, part, state):
            if state == "aborted":
                return _error("Aborted", f"{part} was aborted before it was prepared")
            if state is None:
                await _prepare(db, part, params["statements"])
    except psycopg.Error as error:
        return _error(type(error).__name__, str(error).partition("\n")[0])
    return {"prepared": part}


async def commit(params):
    """Commits the prepared statements. Succeeds again if they are committed already."""
    async with _session(params) as (db, part, state):
        if state == "prepared":
            await db.execute(sql.SQL("COMMIT PREPARED {}").format(part))
        elif state != "committed":
            return _error("NotPrepared", f"{part} cannot be committed: it is {state}")
    return {"done": "commit"}


async def abort(params):
    """Rolls back the prepared statements, or prevents a later `prepare`."""
    async with _session(params) as (db, part, state):
        if state == "committed":
            return _error("Committed", f"{part} cannot be aborted: it is committed")
        if state == "prepared":
            await db.execute(sql.SQL("ROLLBACK PREPARED {}").format(part))
        tombstone = (
            "INSERT INTO xingqiao_transactions VALUES (%s, 'aborted') ON CONFLICT DO NOTHING"
        )
        await db.execute(tombstone, [part])
    return {"done": "abort"}


async def _prepare(db, part, statements):
    """Prepares the statements, and in the same transaction the row that records their commit."""
    await db.execute("BEGIN")
    await db.execute("INSERT INTO xingqiao_transactions VALUES (%s, 'committed')", [part])
    for statement, arguments in statements:
        await db.execute(statement, arguments)
    done = await db.execute(sql.SQL("PREPARE TRANSACTION {}").format(part))
    if done.statusmessage != "PREPARE TRANSACTION":
        raise psycopg.InternalError(f"{part}: a statement ended the transaction")


@asynccontextmanager
async def _session(params):
    """Yields a connection, the part's name in the database, and the part's state.

    An advisory lock serializes all messages for this part, even if the sender of an earlier
    message no longer waits for the response.
    """
    part = _name(params)
    database = params.get("database") or os.environ["DATABASE_URL"]
    connecting = psycopg.AsyncConnection.connect(database, autocommit=True, connect_timeout=5)
    async with await connecting as db:
        await db.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
        await db.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [part])
        found = await db.execute("SELECT to_regclass('xingqiao_transactions')")
        if (await found.fetchone())[0] is None:
            async with db.transaction():
                await db.execute("SELECT pg_advisory_xact_lock(%s)", [TABLE_LOCK])
                await db.execute(TABLE)
        found = await db.execute(STATE, {"part": part})
        yield db, part, (await found.fetchone())[0]


def _name(params):
    """Returns the part's name in the database: the transaction's id and a digest of the part."""
    id = params["transaction"]["id"]
    said = json.dumps([id, params["statements"], params.get("part")], sort_keys=True)
    return f"{id[:100]}/{hashlib.sha256(said.encode()).hexdigest()[:16]}"


def _error(code, message):
    return {"error": {"code": code, "message": message}}
