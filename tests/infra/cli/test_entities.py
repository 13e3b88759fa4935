"""`xingqiao entity ...`, against a real server."""

from __future__ import annotations

import pytest

LOOKS = 1000  # each is a request, so that time passes
NOT_FOUND = ": The requested resource does not exist. (404)"
ACCOUNT = """
def main(args):
    state, given = args["state"] or {"n": 0}, args["params"]
    if args["operation"] == "add":
        state = {"n": state["n"] + given.get("n", 1)}
        return {"state": state, "result": state}
    if args["operation"] == "look":
        return {"result": {"n": state["n"], "given": given}}
    return {"error": {"code": "Unheard", "message": args["operation"]}}
"""


@pytest.fixture(scope="module", autouse=True)
def shared(server):
    """A type for tests of which each has keys of its own."""
    notes = [{"key": "entity", "value": True}]
    body = {"exec": {"kind": "python:3", "code": ACCOUNT}, "annotations": notes}
    with server.client() as client:
        assert client.put("/actions/en_shared", json=body).status_code == 200


@pytest.fixture
def account(xingqiao):
    """Does something with the entities of the type that is there."""
    return lambda verb, *arguments: xingqiao("entity", verb, "en_shared", *arguments)


@pytest.fixture
def entity(xingqiao, tmp_path):
    """Deploys an entity type, and gives a function that does something with it."""

    def deploy(type):
        file = tmp_path / "account.py"
        file.write_text(ACCOUNT)
        ended = xingqiao("action", "update", type, file, "-a", "entity", "true")
        assert ended.code == 0, ended.err
        return lambda verb, *arguments: xingqiao("entity", verb, type, *arguments)

    return deploy


def comes(read, expected):
    """Waits until something reads so."""
    for _ in range(LOOKS):
        ended = read()
        if ended.code == 0 and ended.json == expected:
            return
    raise AssertionError(f"it has not come to {expected}: {ended}")


def test_an_operation_is_called_and_its_result_is_shown(account):
    first = account("call", "called", "add", "-p", "n", "5")
    second = account("call", "called", "add", "--json")

    assert (first.code, first.out, first.err) == (0, '{\n  "n": 5\n}\n', "")
    assert (second.code, second.out) == (0, '{"n": 6}\n')


def test_parameters_are_taken_as_invoke_takes_them(account, tmp_path):
    file = tmp_path / "params.json"
    file.write_text('{"a": 1, "b": [true]}')

    told = account(
        "call", "params", "look", "-P", file, "-p", "a", "2", "-p", "text", "hello", "--read"
    )

    assert told.json == {"n": 0, "given": {"a": 2, "b": [True], "text": "hello"}}


def test_an_operation_that_fails_shows_its_error_and_exits_with_1(account):
    failed = account("call", "failing", "explode", "--json")
    liar = account("call", "failing", "add", "--read", "--json")

    assert (failed.code, failed.json) == (1, {"error": {"code": "Unheard", "message": "explode"}})
    assert (liar.code, liar.json["error"]["code"]) == (1, "BadOperation")
    assert (
        account("get", "failing").err.strip()
        == f"error: entities/en_shared/keys/failing{NOT_FOUND}"
    )


def test_an_operation_expects_a_version_and_is_done_once_by_its_token(account):
    once = [account("call", "careful", "add", "--token", "t", "--json").json for _ in range(2)]
    stale = account("call", "careful", "add", "--expected-version", "0", "--json")
    fresh = account("call", "careful", "add", "--expected-version", "1", "--json")

    assert once == [{"n": 1}] * 2
    assert (stale.code, stale.json["error"]["code"]) == (1, "VersionConflict")
    assert (fresh.code, fresh.json) == (0, {"n": 2})


@pytest.mark.parametrize(
    "key", ["a/b", "a b", "100%", "%2F", "星桥", "..", ".", "a?b#c", "a&b=c+d"]
)
def test_a_key_is_any_text(account, key):
    assert account("call", key, "add", "--json").json == {"n": 1}
    assert account("get", key, "--json").json["key"] == key
    assert account("delete", key).out == f"✓ en_shared {key} is deleted\n"
    keys = [doc["key"] for doc in account("list", "--limit", "0", "--json").json["entities"]]
    assert key not in keys


def test_a_type_may_be_one_of_a_package_or_named_in_full(xingqiao, entity):
    xingqiao("package", "create", "en_shop")
    account = entity("en_shop/account")

    account("call", "a", "add")

    found = xingqiao("entity", "get", "/_/en_shop/account", "a", "--json").json
    assert (found["entity"], found["state"]) == ("/guest/en_shop/account", {"n": 1})
    shown = xingqiao("entity", "get", "en_shop/account", "a")
    assert shown.json == found
    assert '\n  "key": "a",\n' in shown.out
    types = xingqiao("entity", "list").out.splitlines()
    assert types[0].split() == ["type", "version", "updated"]
    assert ["en_shop/account", "0.0.1"] in [line.split()[:2] for line in types[1:]]
    (last,) = xingqiao("entity", "list", "--limit", "1", "--json").json
    assert (last["namespace"], last["name"]) == ("guest/en_shop", "account")


def test_entities_are_listed_by_key(entity):
    account = entity("en_listed")
    assert account("list").out == "no entities\n"
    for key in ("a", "a/1", "a/2", "b"):
        account("call", key, "add")

    table = account("list").out.splitlines()
    docs = account("list", "--docs", "--prefix", "a/", "--after", "a/1").out.splitlines()
    first = account("list", "--limit", "2")
    page = account("list", "--limit", "2", "--docs", "--json").json

    assert table[0].split() == ["key", "version", "updated", "flag"]
    assert [line.split()[:2] for line in table[1:]] == [
        ["a", "1"],
        ["a/1", "1"],
        ["a/2", "1"],
        ["b", "1"],
    ]
    assert docs[0].split() == ["key", "version", "updated", "flag", "state"]
    assert len(docs) == 2
    assert docs[1].startswith("a/2 ")
    assert docs[1].endswith('{"n": 1}')
    assert first.out.splitlines()[-1] == 'there may be more; continue with --after "a/1"'
    assert [doc["key"] for doc in page["entities"]] == ["a", "a/1"]
    assert (page["next"], page["entities"][0]["state"]) == ("a/1", {"n": 1})


def test_a_locked_entity_shows_by_whom_and_is_not_deleted(xingqiao, entity):
    account = entity("en_locked")
    body = ["-p", "key", "a", "-p", "operation", "$lock", "-p", "by", "an operator"]
    assert xingqiao("invoke", "en_locked", "-r", *body).json == {"flag": "an operator"}
    xingqiao("invoke", "en_locked", "-r", *body[:4], "add", "-p", "by", "an operator")

    refused = account("delete", "a")

    assert (refused.code, refused.json["error"]["code"]) == (1, "Locked")
    assert account("delete", "a", "--json").json["error"]["code"] == "Locked"
    assert account("list").out.splitlines()[1].endswith("an operator")


def test_a_deleted_one_is_gone(account, refused):
    account("call", "deleted", "add")

    assert account("delete", "deleted", "--json").json == {}

    assert refused("entity", "get", "en_shared", "deleted").endswith(f"/deleted{NOT_FOUND}")


def test_a_signal_is_not_waited_for(xingqiao, entity):
    account = entity("en_signalled")

    told = account("signal", "a", "add", "-p", "n", "4", "--token", "t")
    account("signal", "a", "add", "-p", "n", "4", "--token", "t")
    past = account("signal", "a", "add", "--until", "2001-02-03T04:05:06Z", "--json").json

    assert told.out.startswith("✓ en_signalled a is signalled: activation ")
    comes(lambda: account("call", "a", "look", "--read", "--json"), {"n": 5, "given": {}})
    comes(lambda: xingqiao("activation", "result", past["activationId"]), {"n": 5})


def test_a_signal_for_later_can_be_called_off(xingqiao, entity):
    account = entity("en_later")
    now_s = int(xingqiao("action", "get", "en_later", "updated").out) // 1000

    for when in (["--after", "3600"], ["--after", "1h"], ["--until", str(now_s + 3600)]):
        id = account("signal", "a", "add", *when, "--json").json["activationId"]
        assert xingqiao("execution", "get", id, "--json").json["fibers"][0]["waits"] == "timer"
        assert xingqiao("execution", "cancel", id).code == 0

    assert account("list", "--json").json == {"entities": []}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["signal", "en_shared", "a", "add", "--until", "soon"], "'soon' is not an instant"),
        (["signal", "en_shared", "a", "add", "--until", "9999-01-01"], "more than a year away"),
        (["signal", "en_shared", "a", "add", "--after", "31622401"], "is not in the range"),
        (["signal", "en_shared", "a", "add", "--after", "1", "--until", "2030-01-01"], "not both"),
        (
            ["signal", "en_shared", "a", "add", "--after", "1", "--token", "t"],
            "leave out 'token'",
        ),
        (
            ["call", "en_shared", "", "add"],
            "'key' must be a string of 1 to 512 printable characters",
        ),
        (["call", "en_shared", "a\tb", "add"], "'key' must be a string"),
        (["get", "en_shared", "k" * 513], "'key' must be a string"),
        (["call", "en_shared", "a", ""], "'operation' must be the name of an operation"),
        (["call", "en_shared", "a", "add", "--token", ""], "'token' must be a string"),
    ],
)
def test_what_the_server_refuses_is_told(xingqiao, refused, arguments, text):
    line = refused("entity", *arguments)

    assert text in line
    assert line.endswith("(400)")


@pytest.mark.parametrize("verb", [["list"], ["get", "k"], ["call", "k", "add"], ["delete", "k"]])
def test_what_is_no_entity_type_is_told(action, refused, verb):
    name, *rest = verb
    action("en_plain")

    for type in ("en_plain", "en_never", "en_never/at_all"):
        assert refused("entity", name, type, *rest).endswith(NOT_FOUND)
    assert refused("entity", name, "/whisk.system/en", *rest).endswith("(403)")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["list", "--prefix", "a"], "--prefix needs a TYPE: give the type of the entities as well"),
        (["list", "--after", "a"], "--after needs a TYPE: give the type of the entities as well"),
        (["list", "--docs"], "--docs needs a TYPE: give the type of the entities as well"),
        (["list", "t", "--limit", "201"], "201 is not in the range 0<=x<=200"),
        (["get", "t"], "Missing argument 'KEY'"),
        (["call", "t", "k"], "Missing argument 'OPERATION'"),
        (["call", "t", "k", "add", "-p", "n"], "Option '-p' requires 2 arguments"),
        (["call", "t", "k", "add", "-P", "none.json"], "--param-file: none.json"),
        (["call", "t", "k", "add", "--expected-version", "-1"], "-1 is not in the range x>=0"),
        (["call", "t", "k", "add", "--after", "5"], "No such option"),
        (["signal", "t", "k", "add", "--after", "-5"], "'-5' is too short: give at least 0s"),
        (["delete"], "Missing argument 'TYPE'"),
        (["fly"], "No such command 'fly'"),
    ],
)
@pytest.mark.usefixtures("xingqiao")
def test_misuse_exits_with_2(refused, arguments, text):
    assert text in refused("entity", *arguments, code=2)
