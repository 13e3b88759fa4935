"""A Postgres database in transactions: the actions `prepare`, `commit` and `abort` of a participant.

Each takes `{"statements": [[SQL, arguments], ...], "transaction": {"id": ...}}`. `database` is where, as
a default parameter of the actions; without it DATABASE_URL says so. The server must have
`max_prepared_transactions` above 0, and the table `xingqiao_transactions` is made where it is missing.

They may be asked in any order and however often. To prepare runs the statements and hands them to the
server's PREPARE TRANSACTION: from then on they survive a restart, and hold their locks until they are
decided (`pg_prepared_xacts` shows them, by the transaction's id). What has ended is remembered in the
table: a commit by a row of the transaction itself, an abort by a tombstone, which refuses a prepare that
comes late. Rows that are older than any outage can be deleted.

Two parts of one transaction that say the same are taken for one: give them different `"part"`s.
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
STANDING = """
SELECT CASE
    WHEN EXISTS (
        SELECT FROM pg_prepared_xacts WHERE gid = %(part)s AND database = current_database()
    ) THEN 'prepared'
    ELSE (SELECT outcome FROM xingqiao_transactions WHERE part = %(part)s)
END
"""
LOCK_TIMEOUT = "5s"  # that one waits for rows of a transaction in doubt
TABLE_LOCK = 20_081_212  # any number that nobody else locks


async def prepare(params):
    """Runs the statements and promises to be able to commit them; an error refuses."""
    try:
        async with _session(params) as (db, part, standing):
            if standing == "aborted":
                return _error("Aborted", f"{part} was aborted before it was prepared")
            if standing is None:
                await _prepared(db, part, params["statements"])
    except psycopg.Error as error:
        return _error(type(error).__name__, str(error).partition("\n")[0])
    return {"prepared": part}


async def commit(params):
    """Commits what is prepared. Done as well when it has been done before."""
    async with _session(params) as (db, part, standing):
        if standing == "prepared":
            await db.execute(sql.SQL("COMMIT PREPARED {}").format(part))
        elif standing != "committed":
            return _error("NotPrepared", f"{part} cannot be committed: it is {standing}")
    return {"done": "commit"}


async def abort(params):
    """Rolls back what is prepared, or sees to it that it never will be."""
    async with _session(params) as (db, part, standing):
        if standing == "committed":
            return _error("Committed", f"{part} cannot be aborted: it is committed")
        if standing == "prepared":
            await db.execute(sql.SQL("ROLLBACK PREPARED {}").format(part))
        tombstone = (
            "INSERT INTO xingqiao_transactions VALUES (%s, 'aborted') ON CONFLICT DO NOTHING"
        )
        await db.execute(tombstone, [part])
    return {"done": "abort"}


async def _prepared(db, part, statements):
    """The row that remembers the commit is written by the transaction itself: it is there if that is."""
    await db.execute("BEGIN")
    await db.execute("INSERT INTO xingqiao_transactions VALUES (%s, 'committed')", [part])
    for statement, arguments in statements:
        await db.execute(statement, arguments)
    done = await db.execute(sql.SQL("PREPARE TRANSACTION {}").format(part))
    if done.statusmessage != "PREPARE TRANSACTION":
        raise psycopg.InternalError(f"{part}: a statement has ended the transaction")


@asynccontextmanager
async def _session(params):
    """A connection, the part's name there, and how it stands.

    Meanwhile nobody else deals with this part: one message after the other, also when the sender of the
    first does not wait for its answer any more.
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
        found = await db.execute(STANDING, {"part": part})
        yield db, part, (await found.fetchone())[0]


def _name(params):
    """The part's name on the server: the transaction's id, and what tells parts of it apart."""
    id = params["transaction"]["id"]
    said = json.dumps([id, params["statements"], params.get("part")], sort_keys=True)
    return f"{id[:100]}/{hashlib.sha256(said.encode()).hexdigest()[:16]}"


def _error(code, message):
    return {"error": {"code": code, "message": message}}
