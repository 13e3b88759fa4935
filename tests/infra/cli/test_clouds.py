"""`xingqiao adapter ...`, `secret ...` and `execution cost`, against real servers: one is the other's cloud."""

from __future__ import annotations

import json

import pytest

from tests.kit.infra.servers import AUTH, running
from xingqiao import composer

HELLO = "def main(params):\n    return {'hello': params.get('name')}\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """As in conftest, but it may reach other servers on this machine."""
    data = tmp_path_factory.mktemp("server")
    allow = {"XINGQIAO_EGRESS_ALLOW": "127.0.0.0/8", "PATH": "/usr/bin:/bin"}
    with running(data, "--auth", AUTH, "--isolation", "none", environment=allow) as made:
        yield made


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """An OpenWhisk host with one action."""
    with running(tmp_path_factory.mktemp("host"), "--auth", AUTH, "--isolation", "none") as made:
        with made.client() as client:
            client.put("/actions/hello", json={"exec": {"kind": "python:3", "code": HELLO}})
        yield made


@pytest.fixture
def secret(xingqiao, tmp_path):
    """Sets a secret from a file."""

    def put(name, text):
        file = tmp_path / "secret"
        file.write_text(text if isinstance(text, str) else json.dumps(text))
        return xingqiao("secret", "set", name, "--file", file)

    return put


@pytest.fixture
def far(xingqiao, host, secret, tmp_path):
    """Deploys an action that runs on the host."""

    def deploy(name, function="hello", credentials="host"):
        secret("host", AUTH)
        file = tmp_path / f"{name}.py"
        file.write_text(
            "from xingqiao import composer\n"
            f"{name} = composer.action({name!r}, kind='openwhisk:action', function={function!r}, "
            f"host={host.url!r}, credentials={credentials!r})\n"
        )
        ended = xingqiao("deploy", file)
        assert ended.code == 0, ended.err
        assert "(openwhisk:action)" in ended.out
        return name

    return deploy


def test_a_file_that_only_says_where_actions_run_is_deployed_and_they_run_there(xingqiao, far):
    ended = xingqiao("invoke", far("greeter"), "--result", "-p", "name", "you")

    assert (ended.code, ended.json) == (0, {"hello": "you"})


def test_kinds_are_listed_with_what_is_missing(xingqiao):
    kinds = {doc["kind"]: doc["status"] for doc in xingqiao("adapter", "list", "--json").json}
    table = xingqiao("adapter", "list").out

    assert kinds["openwhisk:action"] == "available"
    assert {"aws:lambda", "azure:function", "gcp:function", "http", "cloudevents"} <= set(kinds)
    assert "openwhisk:action  available" in table


def test_functions_are_checked_without_running_them(xingqiao, far):
    far("there")
    far("gone", function="nowhere")
    far("nobody", credentials="unheard-of")

    good = xingqiao("adapter", "check", "there")
    some = xingqiao("adapter", "check", "there", "gone", "nobody", "--json")
    everything = xingqiao("adapter", "check")

    assert (good.code, good.out) == (0, "✓ there (openwhisk:action): the action is there\n")
    assert some.code == everything.code == 1
    assert [(doc["ok"], doc.get("code")) for doc in some.json] == [
        (True, None), (False, "NotFound"), (False, "Permission"),
    ]  # fmt: skip
    assert "✗ gone (openwhisk:action): it answers 404" in everything.out
    assert "namespace 'guest' has no secret 'unheard-of'" in everything.out


def test_what_runs_here_cannot_be_checked(action, refused, xingqiao):
    action("near")

    assert "it runs here: it is of kind 'python:3'" in refused("adapter", "check", "near").replace(
        "/guest/near runs here", "it runs here"
    )


def test_secrets_are_set_listed_and_deleted_and_never_shown(xingqiao, secret):
    assert secret("crm", {"type": "bearer", "token": "t0p-s3cret"}).code == 0
    listed = xingqiao("secret", "list")
    shown = xingqiao("secret", "list", "--json").json

    assert "crm" in listed.out
    assert "t0p-s3cret" not in listed.out
    assert {doc["name"]: doc["type"] for doc in shown}["crm"] == "bearer"
    assert xingqiao("secret", "delete", "crm").out == "✓ secret 'crm' is deleted\n"
    assert "crm" not in xingqiao("secret", "list").out


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        ("", 2, "the secret is empty"),
        ("{broken", 2, "the secret starts with '{' but is not valid JSON"),
        ('{"type": "magic"}', 1, "has a 'type' of basic, bearer"),
        ('{"type": "bearer"}', 1, "a secret of type 'bearer' needs 'token'"),
    ],
)
def test_a_secret_that_is_none_is_refused(secret, text, code, why):
    ended = secret("bad", text)

    assert ended.code == code
    assert why in ended.err


def test_a_secret_is_read_from_standard_input(xingqiao, monkeypatch):
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("id:key\n"))

    assert xingqiao("secret", "set", "piped").out == "✓ secret 'piped' is set\n"


def test_no_secret_can_be_called_as_what_the_server_runs_with(secret):
    assert "'ambient' stands for" in secret("ambient", "id:key").err


def test_a_secret_that_is_not_there_cannot_be_deleted(refused, xingqiao):
    assert refused("secret", "delete", "nobodys").startswith("secrets/nobodys: ")


def test_costs_are_shown_by_cloud_with_nested_compositions(xingqiao, far, action, composition):
    far("costly")
    action("local")
    composition("inner", composer.sequence("costly", "local"))
    composition("outer", composer.sequence("local", "inner", composer.wait(0.2)))
    record = xingqiao("invoke", "outer", "-b", "--json").json

    told = xingqiao("execution", "cost", record["activationId"], "--json").json
    shown = xingqiao("execution", "cost", record["activationId"]).out

    shares = {share["cloud"]: share for share in told["clouds"]}
    assert {cloud: share["steps"] for cloud, share in shares.items()} == {"here": 2, "openwhisk": 1}
    assert shares["openwhisk"]["untold"] == 0
    assert told["elapsed"] >= told["waited"] >= 200
    assert told["conductor"] < told["elapsed"]
    for word in ("openwhisk", "here", "conductor", "waiting", "0.000 ms"):
        assert word in shown


def test_costs_are_shown_in_money_by_the_prices_given(
    xingqiao, refused, far, composition, tmp_path
):
    composition("paid", composer.sequence(far("dear")))
    id = xingqiao("invoke", "paid", "-b", "--json").json["activationId"]
    prices = tmp_path / "prices.toml"
    prices.write_text(
        'date = "today"\ncurrency = "USD"\n[services."openwhisk:action"]\nrequest = 0.25\n'
    )

    listed = xingqiao("execution", "cost", id).out
    own = xingqiao("execution", "cost", id, "--prices", str(prices))
    told = xingqiao("execution", "cost", id, "--prices", str(prices), "--json").json["money"]

    assert "the price of 'openwhisk:action' (not in the price table)" in " ".join(listed.split())
    assert "0.250000000" in own.out
    assert (told["total"], told["date"], told["complete"]) == (0.25, "today", True)
    missing = refused("execution", "cost", id, "--prices", str(tmp_path / "none"), code=2)
    assert f"{tmp_path / 'none'} cannot be read: No such file or directory" in missing
    prices.write_text("date = 1")
    assert "date must be a string" in refused(
        "execution", "cost", id, "--prices", str(prices), code=2
    )


def test_what_an_unknown_execution_costs_is_not_known(refused, xingqiao):
    assert "(404)" in refused("execution", "cost", "0" * 32)


def test_a_history_tells_where_a_step_ran(xingqiao, far, composition):
    composition("told", composer.sequence(far("abroad")))
    record = xingqiao("invoke", "told", "-b", "--json").json

    entries = [
        json.loads(line)
        for line in xingqiao(
            "execution", "history", record["activationId"], "--json"
        ).out.splitlines()
    ]
    shown = xingqiao("execution", "history", record["activationId"]).out

    remote = next(entry["remote"] for entry in entries if "remote" in entry)
    assert remote["cloud"] == "openwhisk"
    assert f"[openwhisk {remote['request']}, billed {remote['billed']:g} ms" in shown
