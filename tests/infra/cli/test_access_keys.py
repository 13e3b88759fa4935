"""`xingqiao access-key` on a real server."""

from __future__ import annotations

import re

import httpx
import pytest

from tests.kit.infra.servers import AUTH, DEADLINE_S, starting


@pytest.fixture
def operator_file(server):
    return server.data / "operator"


def credentials(ended):
    """The credentials that a command has shown."""
    return re.search(r"export XINGQIAO_AUTH=(\S+)", ended.out)[1]


def test_a_key_is_created_used_rotated_and_revoked(xingqiao, tmp_path):
    file = tmp_path / "hello.py"
    file.write_text("def main(params):\n    return params\n")
    made = xingqiao("access-key", "create", "ci", "--role", "deploy")
    auth = credentials(made)

    assert (made.code, made.err) == (0, "")
    assert made.out.startswith("✓ credentials of the key ci (deploy), shown only once:\n")
    assert xingqiao("action", "update", "ak_hello", file, "--auth", auth).code == 0
    refused = xingqiao("access-key", "list", "--auth", auth)
    assert (refused.code, refused.err) == (
        4, "error: The key 'ci' has the role 'deploy'; this needs 'admin'. (403)\n",
    )  # fmt: skip

    rotated = xingqiao("access-key", "rotate", "ci", "--grace", "2h")
    assert "the old credentials work until 20" in rotated.out
    for valid in (auth, credentials(rotated)):
        assert xingqiao("action", "list", "--auth", valid).code == 0
    again = xingqiao("access-key", "rotate", "ci", "--grace", "0")
    assert "old credentials" not in again.out
    for gone in (auth, credentials(rotated)):
        assert xingqiao("action", "list", "--auth", gone).code == 4

    assert xingqiao("access-key", "revoke", "ci", "--yes").out == "✓ the key ci is revoked\n"
    assert xingqiao("action", "list", "--auth", credentials(again)).code == 4


def test_the_list_has_no_secret(xingqiao):
    made = xingqiao("access-key", "create", "ak_list", "--role", "read", "--json").json

    listed = xingqiao("access-key", "list")
    documents = {key["name"]: key for key in xingqiao("access-key", "list", "--json").json}

    assert re.search(r"^admin +admin ", listed.out, flags=re.MULTILINE)
    assert re.search(r"^ak_list +read ", listed.out, flags=re.MULTILINE)
    assert documents["ak_list"] == {name: made[name] for name in documents["ak_list"]}
    assert made["auth"].partition(":")[2] not in listed.out
    assert made["createdBy"] == "guest/admin"


def test_a_revoked_key_ends_on_a_connection_that_is_open(xingqiao, server):
    auth = credentials(xingqiao("access-key", "create", "ak_open", "--role", "read"))

    with server.client(tuple(auth.split(":"))) as client:
        assert client.get("/actions").status_code == 200
        assert xingqiao("access-key", "revoke", "ak_open", "--yes").code == 0
        assert client.get("/actions").status_code == 401


def test_the_operator_names_the_namespace(xingqiao, operator_file):
    operator = ("--auth-file", operator_file)
    given = ("access-key", "create", "ak_op", "--role", "read")
    made = xingqiao(*given, "--namespace", "guest", *operator, "--json").json

    assert made["createdBy"] == "whisk.system/admin"
    names = [key["name"] for key in xingqiao("access-key", "list", "--json").json]
    assert "ak_op" in names
    assert xingqiao("access-key", "list", "--namespace", "whisk.system").code == 4


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("create", "a"), 2, "Missing option '--role'"),
        (("create", "a", "--role", "boss"), 2, "'boss' is not one of 'read', 'invoke'"),
        (("create", "a/b", "--role", "read"), 5, "does not exist"),
        (("create", "-a", "--role", "read"), 2, "No such option"),
        (("create", "a b", "--role", "read"), 1, "The name 'a b' cannot be used for a key"),
        (("rotate", "admin", "--grace", "31d"), 1, "must be 0 to 2592000 seconds, not 2.6784e+06"),
        (("rotate", "admin", "--grace", "soon"), 2, "'soon' is not a duration"),
        (("rotate", "none"), 5, "The namespace has no key 'none'"),
        (("revoke", "none", "--yes"), 5, "The namespace has no key 'none'"),
        (("revoke", "admin", "--yes"), 1, "is the namespace's own and cannot be revoked"),
    ],
)
def test_an_impossible_request_is_refused_and_says_why(xingqiao, arguments, code, why):
    ended = xingqiao("access-key", *arguments)

    assert (ended.code, ended.out, why in ended.err) == (code, "", True), ended


def test_a_killed_server_has_the_keys_that_it_had(tmp_path):
    with starting(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as start:
        server = start()
        with server.client() as client:
            made = client.put("/keys/ci", json={"role": "read"}).json()
            gone = client.put("/keys/gone", json={"role": "read"}).json()
            rotated = client.post("/keys/ci/rotate", json={"graceSeconds": 600}).json()
            assert client.delete("/keys/gone").status_code == 200
        server.stop(9)
        server = start()
        for auth, status in ((made, 200), (rotated, 200), (gone, 401)):
            given = tuple(auth["auth"].split(":"))
            answer = httpx.get(f"{server.url}/api/v1/namespaces", auth=given, timeout=DEADLINE_S)
            assert answer.status_code == status
        with server.client() as client:
            entries = client.get("/audit").json()["entries"]
    assert [(entry["verb"], entry["resource"]) for entry in entries] == [
        ("revoke", "keys/gone"), ("rotate", "keys/ci"), ("create", "keys/gone"), ("create", "keys/ci"),
    ]  # fmt: skip
