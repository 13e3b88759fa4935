"""Postgres as a participant: the actions by themselves, and in transactions with an entity."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.kit.infra.servers import AUTH, DEADLINE_S, XINGQIAO, running
from xingqiao import composer
from xingqiao.actions import Query
from xingqiao.embedded import ActionError, embedded

EXAMPLE = Path(__file__).parents[2] / "examples" / "postgres"
PREPARED = 20  # transactions that a server of our own may have prepared
STARTS = 5  # attempts to find a port that stays free
BUYING = {"order": "o-1", "customer": "mei", "article": "lantern", "price": 12}


def loaded(name):
    spec = importlib.util.spec_from_file_location(f"xq_postgres_{name}", EXAMPLE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


participant, shop = loaded("participant"), loaded("purchase")


# --- a server ----------------------------------------------------------------------------------


class Own:
    """A server that these tests have started."""

    def __init__(self, binaries, directory, user):
        self.directory, self._binaries, self._user = directory, binaries, user
        self._run("initdb", "-A", "trust", "-U", "postgres", "-N", "-D", directory / "data")
        for left in reversed(range(STARTS)):
            with socket.socket() as found:
                found.bind(("127.0.0.1", 0))
                self.port = found.getsockname()[1]
            if self._control("start", "-o", self._options(), check=not left) == 0:
                break
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def _options(self):
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.directory,
            "max_prepared_transactions": PREPARED,
            "fsync": "off",
        }
        return " ".join(f"-c {name}={value}" for name, value in settings.items())

    def _control(self, verb, *more, check=True):
        data, log = self.directory / "data", self.directory / "log"
        return self._run("pg_ctl", "-w", "-D", data, "-l", log, *more, verb, check=check)

    def _run(self, program, *arguments, check=True):
        done = subprocess.run(
            [self._binaries / program, *arguments], cwd=self.directory, user=self._user,
            group=None if self._user is None else pwd.getpwuid(self._user).pw_gid,
            extra_groups=None if self._user is None else [], capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0 or not check, (done.stdout + done.stderr).decode()
        return done.returncode

    def restart(self, mode):
        self._control("restart", "-m", mode)

    def stop(self):
        self._control("stop", "-m", "immediate")


def missing(why):
    """There is no server to test with."""
    if os.environ.get("CI") == "true":
        pytest.fail(why)
    pytest.skip(why)


def binaries():
    """The directory of the newest server's programs; None without a server."""
    found = [*Path("/usr/lib/postgresql").glob("*/bin/initdb"), shutil.which("initdb")]
    homes = [Path(path).resolve().parent for path in found if path]
    homes = [home for home in homes if (home / "pg_ctl").exists()]
    return max(homes, key=lambda home: [int(n) for n in home.parts if n.isdigit()], default=None)


def servant():
    """An unprivileged user for the server, which refuses root; None if we are not root."""
    if os.getuid():
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_uid
    return missing("root may not run Postgres, and there is no user 'postgres' or 'nobody'")


@pytest.fixture(scope="module")
def own():
    home = binaries()
    if home is None:
        missing("Postgres is not installed (no initdb)")
    user = servant()
    with tempfile.TemporaryDirectory(prefix="xq-postgres-", ignore_cleanup_errors=True) as made:
        if user is not None:
            os.chown(made, user, -1)
        server = Own(home, Path(made), user)
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="module")
def url(request):
    """The server of DATABASE_URL if it prepares transactions, else one of our own."""
    given = os.environ.get("DATABASE_URL")
    if given:
        with suppress(psycopg.OperationalError), psycopg.connect(given, connect_timeout=5) as db:
            if int(db.execute("SHOW max_prepared_transactions").fetchone()[0]) > 0:
                return given
    return request.getfixturevalue("own").url


class Database:
    """A schema of its own on a server, with two lanterns in stock."""

    def __init__(self, url, schema):
        self.url = make_conninfo(url, options=f"-csearch_path={schema} -clock_timeout=10s")
        self.ask(f"CREATE SCHEMA {schema}")
        for statement in shop.TABLES.split(";")[:-1]:
            self.ask(statement)
        self.ask("INSERT INTO articles VALUES ('lantern', 2)")

    def ask(self, statement, *arguments):
        """The rows that a statement of its own finds."""
        with psycopg.connect(self.url, autocommit=True) as db:
            done = db.execute(statement, arguments)
            return done.fetchall() if done.description else []

    @property
    def sold(self):
        """The orders that there are; that the stock agrees with them is seen to."""
        orders = [row[0] for row in self.ask("SELECT id FROM orders ORDER BY id")]
        ((stock,),) = self.ask("SELECT stock FROM articles WHERE name = 'lantern'")
        assert stock == 2 - len(orders)
        return orders

    def prepared(self, transaction):
        """The number of parts of a transaction that are in doubt."""
        asked = "SELECT count(*) FROM pg_prepared_xacts WHERE starts_with(gid, %s)"
        return self.ask(asked, f"{transaction}/")[0][0]


@pytest.fixture
def database(url, monkeypatch):
    schema = f"xq_{secrets.token_hex(8)}"
    made = Database(url, schema)
    monkeypatch.setenv("DATABASE_URL", made.url)
    yield made
    made.ask(f"DROP SCHEMA {schema} CASCADE")


# --- the actions -------------------------------------------------------------------------------


def message(*statements, id=None):
    """The parameters of the three actions, by default an order of one lantern."""
    default = [
        ["UPDATE articles SET stock = stock - 1 WHERE name = %s", ["lantern"]],
        ["INSERT INTO orders VALUES (%s, 'mei', 'lantern', 12)", ["o-1"]],
    ]
    id = id or f"tx-{secrets.token_hex(16)}"
    return {"statements": list(statements) or default, "transaction": {"id": id}}


async def test_what_is_prepared_is_seen_when_it_is_committed(database):
    asked = message()

    await participant.prepare(asked)
    before = database.sold, database.prepared(asked["transaction"]["id"])
    await participant.commit(asked)

    assert before == ([], 1)
    assert database.sold == ["o-1"]
    assert database.prepared(asked["transaction"]["id"]) == 0


@pytest.mark.parametrize(
    ("phases", "refused", "sold"),
    [
        ("prepare prepare commit", [], True),
        ("prepare commit commit", [], True),
        ("prepare commit prepare commit", [], True),
        ("prepare abort", [], False),
        ("prepare abort abort", [], False),
        ("abort abort", [], False),
        ("abort prepare", ["prepare"], False),
        ("abort prepare prepare abort", ["prepare", "prepare"], False),
        ("prepare abort prepare", ["prepare"], False),
        ("commit", ["commit"], False),
        ("abort commit", ["commit"], False),
        ("prepare commit abort", ["abort"], True),
    ],
)
async def test_messages_may_come_again_and_in_any_order(database, phases, refused, sold):
    asked = message()

    answers = [(phase, await getattr(participant, phase)(asked)) for phase in phases.split()]

    assert [phase for phase, answer in answers if "error" in answer] == refused
    assert database.sold == (["o-1"] if sold else [])
    assert database.prepared(asked["transaction"]["id"]) == 0


async def test_a_prepare_that_meets_an_abort_leaves_nothing_prepared(database):
    messages = [message(id=f"tx-race-{secrets.token_hex(8)}") for _ in range(10)]
    phases = [
        phase
        for asked in messages
        for phase in (participant.prepare(asked), participant.abort(asked))
    ]

    answers = await asyncio.gather(*phases)

    assert all(answer == {"done": "abort"} for answer in answers[1::2])
    assert not any(database.prepared(asked["transaction"]["id"]) for asked in messages)
    assert database.sold == []


@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_what_is_prepared_survives_a_restart_of_the_server(own, monkeypatch, mode):
    made = Database(own.url, f"xq_{secrets.token_hex(8)}")
    monkeypatch.setenv("DATABASE_URL", made.url)
    kept, dropped = message(), message(["INSERT INTO articles VALUES (%s, 1)", ["sail"]])
    await participant.prepare(kept)
    await participant.prepare(dropped)

    own.restart(mode)

    assert await participant.commit(kept) == {"done": "commit"}
    assert await participant.abort(dropped) == {"done": "abort"}
    assert made.sold == ["o-1"]
    assert made.ask("SELECT name FROM articles") == [("lantern",)]


@pytest.mark.parametrize(
    ("statement", "arguments", "code"),
    [
        ("UPDATE articles SET stock = stock - %s", [3], "CheckViolation"),
        ("INSERT INTO orders VALUES ('o', 'mei', %s, 1)", ["kraken"], "ForeignKeyViolation"),
        ("INSERT INTO nowhere VALUES (%s)", [1], "UndefinedTable"),
        ("ROLLBACK", [], "InternalError"),
    ],
)
async def test_what_the_server_refuses_is_not_prepared(database, statement, arguments, code):
    asked = message([statement, arguments])

    answer = await participant.prepare(asked)

    assert answer["error"]["code"] == code
    assert database.prepared(asked["transaction"]["id"]) == 0
    assert await participant.abort(asked) == {"done": "abort"}


async def test_parts_of_one_transaction_are_told_apart(database):
    one = message(["INSERT INTO articles VALUES (%s, 1)", ["sail"]])
    other = message(["INSERT INTO articles VALUES (%s, 1)", ["rope"]], id=one["transaction"]["id"])

    for phase in (participant.prepare, participant.commit):
        await phase(one)
        await phase(other)

    assert sorted(database.ask("SELECT name FROM articles")) == [("lantern",), ("rope",), ("sail",)]


# --- together with an entity ---------------------------------------------------------------------


@asynccontextmanager
async def opened(directory=None, **replaced):
    """An engine with the purchase, its actions in this process."""
    async with embedded(directory) as xingqiao:
        for phase in ("prepare", "commit", "abort"):
            function = replaced.get(phase, getattr(participant, phase))
            xingqiao.register(composer.action(function, name=f"pg_{phase}"))
        await xingqiao.deploy("purchase", shop.purchase)
        yield xingqiao


async def account(xingqiao, operation, **params):
    asked = {"key": "mei", "operation": operation, "params": params}
    return await xingqiao.invoke("Account", asked)


async def balance(xingqiao):
    return (await account(xingqiao, "$get"))["state"]["balance"]


async def test_a_purchase_is_made_on_both_sides(database):
    async with opened() as xingqiao:
        await account(xingqiao, "deposit", amount=100)

        made = await xingqiao.invoke("purchase", BUYING)

        assert made["value"][0] == {"balance": 88}
        assert await balance(xingqiao) == 88
    assert database.sold == ["o-1"]


async def test_a_constraint_of_the_database_aborts_the_entity_s_part(database):
    async with opened() as xingqiao:
        await account(xingqiao, "deposit", amount=100)
        for order in ("o-1", "o-2"):
            await xingqiao.invoke("purchase", {**BUYING, "order": order})

        with pytest.raises(ActionError) as refused:
            await xingqiao.invoke("purchase", {**BUYING, "order": "o-3"})

        assert refused.value.failure.code == "TransactionAborted"
        assert refused.value.failure.error["reason"]["code"] == "CheckViolation"
        assert await balance(xingqiao) == 76
    assert database.sold == ["o-1", "o-2"]


async def test_an_account_that_has_too_little_keeps_the_database_as_it_is(database):
    async with opened() as xingqiao:
        await account(xingqiao, "deposit", amount=5)

        with pytest.raises(ActionError) as refused:
            await xingqiao.invoke("purchase", BUYING)

        assert "there are only 5" in refused.value.failure.error["reason"]["message"]
        assert await balance(xingqiao) == 5
    assert database.sold == []


async def test_a_commit_whose_answer_is_lost_is_asked_again(database):
    asked = []

    async def commit(params):
        answer = await participant.commit(params)
        asked.append(params["transaction"]["id"])
        if len(asked) == 1:
            raise ConnectionError("the answer is lost")
        return answer

    async with opened(commit=commit) as xingqiao:
        await account(xingqiao, "deposit", amount=100)

        await xingqiao.invoke("purchase", BUYING)

        assert await balance(xingqiao) == 88
    assert len(asked) == 2
    assert len(set(asked)) == 1
    assert database.sold == ["o-1"]


async def test_an_engine_that_stops_between_prepare_and_commit_commits_afterwards(
    database, tmp_path
):
    reached = asyncio.Event()

    async def never(_):
        reached.set()
        await asyncio.Event().wait()

    async with opened(tmp_path, commit=never) as xingqiao:
        await account(xingqiao, "deposit", amount=100)
        id = (await xingqiao.start("purchase", BUYING)).id
        await reached.wait()

    async with opened(tmp_path) as xingqiao:
        await xingqiao.engine.wait("guest", id, DEADLINE_S)

        assert await balance(xingqiao) == 88
    assert database.sold == ["o-1"]


CRASHING = """
import asyncio, json, os, sys
from pathlib import Path

directory, phase, when, example, buying = map(json.loads, sys.argv[1:])
sys.path.append(example)
from xingqiao import composer; import participant, purchase
from xingqiao.infra.service.embedded_engine import embedded

async def crash(params):
    if when == "after":
        await getattr(participant, phase)(params)
    os._exit(9)

async def main():
    async with embedded(Path(directory)) as xingqiao:
        for name in ("prepare", "commit", "abort"):
            function = crash if name == phase else getattr(participant, name)
            xingqiao.register(composer.action(function, name=f"pg_{name}"))
        await xingqiao.deploy("purchase", purchase.purchase)
        deposit = {"key": "mei", "operation": "deposit", "params": {"amount": 100}}
        await xingqiao.invoke("Account", deposit)
        await xingqiao.invoke("purchase", buying)

asyncio.run(main())
"""


@pytest.fixture
def crashed(database, tmp_path):
    """Runs a purchase in a process that ends before or after a phase; returns its directory."""

    def run(phase, when, buying):
        arguments = [str(tmp_path), phase, when, str(EXAMPLE), buying]
        command = [sys.executable, "-c", CRASHING, *map(json.dumps, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 9, done.stderr
        return tmp_path

    return run


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("phase", "article", "ends"),
    [
        ("prepare", "lantern", (88, ["o-1"])),
        ("commit", "lantern", (88, ["o-1"])),
        ("prepare", "kraken", (100, [])),
        ("abort", "kraken", (100, [])),
    ],
)
async def test_a_crash_ends_in_the_same_decision_on_both_sides(
    database, crashed, phase, when, article, ends
):
    directory = crashed(phase, when, {**BUYING, "article": article})

    async with embedded(directory) as xingqiao:
        for name in ("prepare", "commit", "abort"):
            xingqiao.register(composer.action(getattr(participant, name), name=f"pg_{name}"))
        xingqiao.register(shop.Account)
        (found,) = await xingqiao.engine.records.executions(
            Query(namespace="guest", name="purchase", limit=10)
        )
        assert await xingqiao.engine.wait("guest", found["executionId"], DEADLINE_S)

        history = await xingqiao.history(found["executionId"])
        assert (await balance(xingqiao), database.sold) == ends
    (transaction,) = {entry["transaction"] for entry in history if "transaction" in entry}
    assert database.prepared(transaction) == 0


# --- deployed ------------------------------------------------------------------------------------


def test_it_is_deployed_as_its_description_says(database, tmp_path):
    def xingqiao(*arguments):
        command = [XINGQIAO, *arguments, "--url", server.url, "--auth", AUTH]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    with running(tmp_path / "data", "--auth", AUTH) as server:
        for phase in ("prepare", "commit", "abort"):
            xingqiao(
                "action", "create", f"pg_{phase}", EXAMPLE / "participant.py", "--main", phase,
                "--param", "database", database.url, "--requirement", "psycopg[binary]>=3.2,<4",
            )  # fmt: skip
        xingqiao("deploy", EXAMPLE / "purchase.py")
        with server.client() as client:
            deposit = {"operation": "deposit", "params": {"amount": 100}}
            client.post("/entities/Account/keys/mei", json=deposit)
            made = client.post("/actions/purchase", params={"blocking": "true"}, json=BUYING)
            left = client.get("/entities/Account/keys/mei").json()

    assert made.status_code == 200, made.text
    assert left["state"] == {"balance": 88}
    assert database.sold == ["o-1"]
