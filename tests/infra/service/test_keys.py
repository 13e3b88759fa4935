"""What the files of a store show, where its key comes from, and what becomes of the store without it."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import sys
from contextlib import closing
from hashlib import sha256

import orjson
import pytest
from cryptography.fernet import Fernet

from tests.kit.stores.tables import TABLE, dynamodb
from xingqiao import composer
from xingqiao.actions import Action as ActionEntity
from xingqiao.actions import Call, Document, Query, Write
from xingqiao.composer import Name
from xingqiao.infra.access.namespaces import new_credentials
from xingqiao.infra.service.app import open_service
from xingqiao.infra.service.embedded_engine import Embedded
from xingqiao.infra.service.keys import given_keys, rotate
from xingqiao.infra.service.vault import VaultError
from xingqiao.infra.settings import Settings
from xingqiao.infra.stores import (
    DynamoStore,
    SealError,
    SqliteStore,
    StoreError,
    is_sealed,
    new_key,
)

BOUND, SECRET, RESULT = "a-bound-parameter", "the-secret-of-guest", "what-came-of-it"
USER, KEY = "23bc46b1-71f6-4ed5-8c54-816aa4f8c502", "the-key-of-guest"
GUEST = f"{USER}:{KEY}"


@composer.action
def show(params):
    return {"seen": params.get("token"), "made": RESULT}


def settings(data, **given):
    return Settings(data=data, isolation="process", prewarmed=0, **given)


async def lived(service):
    """A namespace, a secret, and actions with bound parameters that have run."""
    await service.namespaces.create("guest", {}, GUEST)
    await service.secrets.put("guest", "cloud", {"type": "bearer", "token": SECRET}, lambda _: None)
    embedded = Embedded(service.engine)
    embedded.register(show)
    parts = composer.sequence("show", "show")
    bound = [{"key": "token", "value": BOUND}]
    exec_ = {"kind": "composition", "composition": parts.to_json()}
    name = Name.parse("bound").within("guest")
    document = {"exec": exec_, "parameters": bound}
    await service.engine.registry.put(ActionEntity, name, document, overwrite=True)
    call = Call(name=name, params={}, namespace="guest")
    return (await service.engine.invoke(call, wait_s=60)).activation


def stored(data):
    """The bytes of every file of a folder but those that are keys themselves."""
    return b"".join(
        file.read_bytes() for file in sorted(data.rglob("*"))
        if file.is_file() and file.name not in {"key", "operator"}
    )  # fmt: skip


def shown(data):
    found = stored(data)
    return [text for text in (BOUND, KEY, SECRET, RESULT) if text.encode() in found]


def bodies(data):
    with closing(sqlite3.connect(data / "xingqiao.db")) as db:
        rows = [
            body
            for table in (
                "executions",
                "fibers",
                "large_values",
                "documents WHERE kind != 'commits'",  # the store's own: a random id
            )
            for (body,) in db.execute(f"SELECT body FROM {table}")
        ]
        journal = db.execute("SELECT bodies, activations, history FROM journal")
        return rows + [
            bodies[entry[-2] : entry[-2] + entry[-1]]
            for bodies, *columns in journal
            for entries in columns
            for entry in json.loads(entries or "[]")
        ]


async def history(service, id):
    return await Embedded(service.engine).history(id)


# --- what the files show ------------------------------------------------------------------------


async def test_the_files_of_a_store_show_nothing_while_it_is_used_and_after(tmp_path):
    async with open_service(settings(tmp_path)) as service:
        id = await lived(service)
        assert (tmp_path / "xingqiao.db-wal").stat().st_size
        assert shown(tmp_path) == []
        assert (await history(service, id))[0]["value"] == {"token": BOUND}
    assert shown(tmp_path) == []
    assert all(map(is_sealed, bodies(tmp_path)))


async def test_a_store_that_was_written_in_clear_is_sealed_at_the_next_start(tmp_path, monkeypatch):
    async def unsealed(store, _):
        return store

    with monkeypatch.context() as before:
        before.setattr("xingqiao.infra.service.app.sealed", unsealed)
        async with open_service(settings(tmp_path)) as service:
            id = await lived(service)
            entries = await history(service, id)
    assert shown(tmp_path) == [BOUND, KEY, SECRET, RESULT]

    async with open_service(settings(tmp_path)) as service:
        assert shown(tmp_path) == []
        assert await history(service, id) == entries
        assert service.secrets.find("guest", "cloud") == {"type": "bearer", "token": SECRET}
        assert service.namespaces.authenticated(USER, KEY) == "guest"
    assert shown(tmp_path) == []
    assert all(map(is_sealed, bodies(tmp_path)))


def sealed_field(key, name, doc, field):
    """A document as older versions stored it when they had a key."""
    text = json.dumps({"of": name, field: doc[field]}).encode()
    return {**doc, field: {"sealed": Fernet(key).encrypt(text).decode()}}


async def sealed_by_field(data, key, *, name="guest/old"):
    secret = {"parameters": [SECRET], "updated": 1}
    user = {"name": "guest", "key_hash": sha256(KEY.encode()).hexdigest(), "limits": {}}
    documents = [
        ("credential", "guest/old", sealed_field(key, name, secret, "parameters")),
        ("namespace", USER, sealed_field(key, USER, {**user, "credentials": KEY}, "credentials")),
    ]
    async with SqliteStore(data) as store:
        made = [Document(kind=kind, key=of, body=orjson.dumps(doc)) for kind, of, doc in documents]
        await store.commit([Write(documents=made)])


async def test_fields_that_were_sealed_by_themselves_are_read_with_their_key(tmp_path):
    key, newer = Fernet.generate_key().decode(), new_key()
    await sealed_by_field(tmp_path, key)
    for keys in (key, f"{newer},{key}", newer):
        async with open_service(settings(tmp_path, parameter_keys=keys)) as service:
            assert service.secrets.find("guest", "old") == SECRET
            assert service.namespaces.signer(USER) == ("guest", KEY)


async def test_fields_that_were_sealed_with_a_key_that_is_not_here_are_an_error(tmp_path):
    key = Fernet.generate_key().decode()
    await sealed_by_field(tmp_path, key)
    with pytest.raises(
        VaultError, match="is missing in XINGQIAO_PARAMETER_KEYS: add the earlier key to it"
    ):
        async with open_service(settings(tmp_path)):
            pass
    async with open_service(settings(tmp_path, parameter_keys=key)) as service:
        assert service.secrets.find("guest", "old") == SECRET


async def test_a_field_that_was_sealed_for_another_is_not_taken(tmp_path):
    key = Fernet.generate_key().decode()
    await sealed_by_field(tmp_path, key, name="guest/another")
    with pytest.raises(VaultError, match="of guest/old belong to guest/another"):
        async with open_service(settings(tmp_path, parameter_keys=key)):
            pass


async def test_a_start_that_was_cut_off_while_it_sealed_is_gone_on_with(tmp_path, monkeypatch):
    async def unsealed(store, _):
        return store

    with monkeypatch.context() as before:
        before.setattr("xingqiao.infra.service.app.sealed", unsealed)
        async with open_service(settings(tmp_path)) as service:
            id = await lived(service)

    async def cut_off(self, change):
        changed = 0

        def some(place, body):
            nonlocal changed
            changed += 1
            return change(place, body) if changed < 4 else None

        await rewrite(self, some)
        raise StoreError("the machine lost power")

    rewrite = SqliteStore.rewrite
    with monkeypatch.context() as cut:
        cut.setattr(SqliteStore, "rewrite", cut_off)
        with pytest.raises(StoreError, match="lost power"):
            async with open_service(settings(tmp_path)):
                pass
    assert {*map(is_sealed, bodies(tmp_path))} == {True, False}
    async with open_service(settings(tmp_path)) as service:
        assert (await history(service, id))[0]["value"] == {"token": BOUND}
    assert all(map(is_sealed, bodies(tmp_path)))


# --- who may read the files ---------------------------------------------------------------------


def modes(data):
    return {
        file.name: file.stat().st_mode & 0o777 for file in data.iterdir() if file.is_file()
    }  # fmt: skip


FILES = {
    "key", "lock", "views.db", "views.db-shm", "views.db-wal", "xingqiao.commits", "xingqiao.db",
    "xingqiao.db-shm", "xingqiao.db-wal",
}  # fmt: skip


@pytest.fixture
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
async def test_files_are_their_owners_alone_in_a_folder_that_is_open_to_all(tmp_path):
    tmp_path.chmod(0o755)
    async with open_service(settings(tmp_path)) as service:
        await lived(service)
        assert modes(tmp_path) == dict.fromkeys(FILES, 0o600)


@pytest.mark.usefixtures("open_umask")
async def test_files_that_others_could_read_are_closed_to_them_and_the_log_says_so(
    tmp_path, caplog
):
    async with open_service(settings(tmp_path)):
        pass
    assert caplog.text.count("open to other users") == 0
    (tmp_path / "operator").write_text("operator:its-key\n")
    for file in tmp_path.iterdir():
        file.chmod(0o644)
    async with open_service(settings(tmp_path)):
        assert modes(tmp_path) == dict.fromkeys({*FILES, "operator"}, 0o600)
    for name in ("key", "lock", "operator", "views.db", "xingqiao.db"):
        assert (
            f"{tmp_path / name} was open to other users: its mode was 644, and is 600 now"
            in caplog.text
        )


# --- without the key ----------------------------------------------------------------------------


async def test_a_sealed_store_without_its_key_does_not_start_and_no_key_is_made(tmp_path):
    async with open_service(settings(tmp_path)) as service:
        await lived(service)
    (tmp_path / "key").rename(tmp_path / "away")
    for given, why in (
        ({}, "its key is missing"),
        ({"parameter_keys": new_key()}, "none of the given keys"),
    ):
        with pytest.raises(SealError, match=why) as refused:
            async with open_service(settings(tmp_path, **given)):
                pass
        assert str(tmp_path / "key") in str(refused.value)
        assert "no new key is made" in str(refused.value)
        assert not (tmp_path / "key").exists()
    (tmp_path / "away").rename(tmp_path / "key")
    async with open_service(settings(tmp_path)) as service:
        assert service.secrets.find("guest", "cloud")["token"] == SECRET


@pytest.mark.parametrize("text", ["", "\n", "not a key\n", "QUJD\n"])
async def test_a_damaged_key_file_is_named(tmp_path, text):
    async with open_service(settings(tmp_path)):
        pass
    (tmp_path / "key").write_text(text)
    with pytest.raises(SealError, match=r"key is damaged \(each line must be a key\)"):
        async with open_service(settings(tmp_path)):
            pass


async def test_a_malformed_key_of_the_environment_is_refused(tmp_path):
    for key in ("short", "é" * 44, "A" * 43, "A" * 45, "A" * 48):
        with pytest.raises(SealError, match="32 bytes in url-safe base64"):
            async with open_service(settings(tmp_path, parameter_keys=key)):
                pass


async def test_a_body_that_lies_in_another_place_is_not_taken_for_that_places(tmp_path):
    async with open_service(settings(tmp_path)) as service:
        await service.namespaces.create("guest", {}, GUEST)
        await service.namespaces.create("other", {}, new_credentials())
    with closing(sqlite3.connect(tmp_path / "xingqiao.db")) as db, db:
        db.execute(
            "UPDATE documents SET body = (SELECT body FROM documents WHERE kind = 'namespace' AND key = ?) "
            "WHERE kind = 'namespace'",
            (USER,),
        )
    with pytest.raises(SealError, match="was changed, or belongs to another place"):
        async with open_service(settings(tmp_path)):
            pass


# --- keys from elsewhere ------------------------------------------------------------------------


async def test_a_command_can_have_the_key(tmp_path):
    key = new_key()
    command = f"{sys.executable} -c 'print(\"{key}\")'"
    async with open_service(settings(tmp_path, key_command=command)) as service:
        id = await lived(service)
    assert not (tmp_path / "key").exists()
    async with open_service(settings(tmp_path, parameter_keys=key)) as service:
        assert (await history(service, id))[0]["value"] == {"token": BOUND}


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("no-such-command-here", "cannot be run"),
        ("'", "cannot be run"),
        (f"{sys.executable} -c ''", "printed no key"),
        (
            f"{sys.executable} -c 'import sys; sys.exit(\"denied by policy\")'",
            "exit code 1: denied by",
        ),
        (
            f"{sys.executable} -c 'import sys; sys.exit(3)'",
            "exit code 3: its standard error is empty",
        ),
    ],
)
def test_a_command_that_has_no_key_is_an_error(command, why):
    with pytest.raises(SealError, match=why):
        given_keys(Settings(key_command=command))


def test_keys_of_the_command_come_first():
    command = f"{sys.executable} -c 'print(1, 2)'"
    assert given_keys(Settings(key_command=command, parameter_keys="3, 4")) == ["1", "2", "3", "4"]


async def test_a_new_first_key_of_the_environment_seals_everything_anew(tmp_path):
    old, new = new_key(), new_key()
    async with open_service(settings(tmp_path, parameter_keys=old)) as service:
        id = await lived(service)
    async with open_service(settings(tmp_path, parameter_keys=f"{new},{old}")):
        pass
    async with open_service(settings(tmp_path, parameter_keys=new)) as service:
        assert (await history(service, id))[0]["value"] == {"token": BOUND}


# --- rotation -----------------------------------------------------------------------------------


async def test_rotation_seals_everything_with_a_new_key_and_drops_the_old(tmp_path):
    async with open_service(settings(tmp_path)) as service:
        id = await lived(service)
    old, before = (tmp_path / "key").read_text().split(), set(bodies(tmp_path))
    async with SqliteStore(tmp_path) as store:
        assert await rotate(store, settings(tmp_path)) > 10
    (new,) = (tmp_path / "key").read_text().split()
    assert new not in old
    assert not before & set(bodies(tmp_path))
    left = stored(tmp_path)
    assert not any(body in left for body in before)
    async with open_service(settings(tmp_path)) as service:
        assert (await history(service, id))[0]["value"] == {"token": BOUND}
    (tmp_path / "key").write_text(old[0])
    with pytest.raises(SealError, match="none of the given keys"):
        async with open_service(settings(tmp_path)):
            pass


async def test_a_rotation_that_was_cut_off_leaves_both_keys(tmp_path, monkeypatch):
    async with open_service(settings(tmp_path)) as service:
        id = await lived(service)

    async def full(*_):
        raise StoreError("the disk is full")

    with monkeypatch.context() as cut:
        cut.setattr(SqliteStore, "rewrite", full)
        async with SqliteStore(tmp_path) as store:
            with pytest.raises(StoreError, match="is full"):
                await rotate(store, settings(tmp_path))
    assert len((tmp_path / "key").read_text().split()) == 2
    async with open_service(settings(tmp_path)) as service:
        assert (await history(service, id))[0]["value"] == {"token": BOUND}


async def test_keys_that_come_from_elsewhere_are_rotated_there(tmp_path):
    async with SqliteStore(tmp_path) as store:
        for given in ({"parameter_keys": new_key()}, {"key_command": "true"}):
            with pytest.raises(SealError, match="put a new key before the others"):
                await rotate(store, settings(tmp_path, **given))


async def test_without_its_key_a_store_is_not_rotated(tmp_path):
    async with open_service(settings(tmp_path)):
        pass
    (tmp_path / "key").unlink()
    async with SqliteStore(tmp_path) as store:
        with pytest.raises(SealError, match="its key is missing"):
            await rotate(store, settings(tmp_path))
    assert not (tmp_path / "key").exists()


# --- tables -------------------------------------------------------------------------------------


@pytest.fixture
def region(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setattr(
        "xingqiao.infra.stores.dynamodb.store.THREADS", 1
    )  # moto's tables are no threads' friends
    with dynamodb():
        yield


def items():
    import boto3

    found = boto3.client("dynamodb", region_name="eu-west-1").scan(TableName=TABLE)["Items"]
    return [item["body"]["B"] for item in found if "body" in item]


@pytest.mark.usefixtures("region")
async def test_a_table_is_sealed_when_there_is_a_key_and_says_so_when_there_is_none(
    tmp_path, caplog
):
    with caplog.at_level(logging.WARNING):
        async with open_service(settings(tmp_path, dynamodb=TABLE)) as service:
            assert type(service.store) is DynamoStore
            id = await lived(service)
            entries = await history(service, id)
    assert "is not encrypted: every reader of the table" in caplog.text
    assert not (tmp_path / "key").exists()  # it would be lost with the machine
    assert any(BOUND.encode() in body for body in items())

    key = new_key()
    async with open_service(settings(tmp_path, dynamodb=TABLE, parameter_keys=key)) as service:
        assert await history(service, id) == entries
        assert service.secrets.find("guest", "cloud")["token"] == SECRET
        query = Query(namespace="guest")
        assert {
            record["activationId"]
            for record in await service.engine.records.activations(query, whole=True)
        } >= {id}
    assert items()
    assert all(map(is_sealed, items()))
    with pytest.raises(SealError, match=f"table {TABLE} is encrypted, and its key is missing"):
        async with open_service(settings(None, dynamodb=TABLE)):
            pass
