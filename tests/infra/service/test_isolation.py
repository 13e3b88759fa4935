"""What a server says about its isolation, and what it refuses without it."""

from __future__ import annotations

import os
import re

import httpx
import pytest

from tests.infra.service.test_server import refusal
from tests.kit.infra.servers import AUTH, DEADLINE_S, Server, running
from xingqiao.actions import ConflictError
from xingqiao.actions.runtimes import Confinement, Groups, Kept, Sandbox, SandboxError, Users
from xingqiao.infra.access.namespaces import IsolationError, first_namespaces
from xingqiao.infra.service.app import open_service
from xingqiao.infra.service.isolation import (
    home_of,
    kept,
    lacks,
    limits_of,
    open_places,
    open_sandbox,
    single_namespace_reason,
)
from xingqiao.infra.settings import Settings

FIX = (
    r"install bubblewrap \(apt install bubblewrap\).*, or give --isolation process "
    r"\(XINGQIAO_ISOLATION=process\)"
)
PLAIN = Sandbox(None, (), Confinement(landlock=7))
WRAPPED = Sandbox("/usr/bin/bwrap")


@pytest.mark.parametrize(
    ("isolation", "sandbox", "alone"),
    [
        ("auto", PLAIN, True),
        ("auto", WRAPPED, False),
        ("process", PLAIN, False),
        ("bubblewrap", WRAPPED, False),
        ("none", Sandbox(), False),
    ],
)
def test_only_what_is_not_asked_for_by_name_allows_a_single_namespace(isolation, sandbox, alone):
    found = single_namespace_reason(Settings(isolation=isolation), sandbox)

    assert bool(found) is alone
    assert not alone or re.search(FIX, found)


@pytest.mark.parametrize(
    ("isolation", "sandbox", "said"),
    [
        ("auto", PLAIN, r"ISOLATION IS REDUCED.*with Landlock 7" + FIX),
        ("process", PLAIN, None),
        ("auto", WRAPPED, None),
        ("none", Sandbox(), "ISOLATION IS OFF.*remove --isolation none"),
        (
            "process",
            Sandbox(None, (), Confinement(lacking="it is here")),
            r"without root's privileges \(it is here\).*install Python",
        ),
        (
            "process",
            Sandbox(None, (), Confinement()),
            r"CAN READ THE SERVER'S FILES.*read the operator's credentials.*apt install bubblewrap",
        ),
        ("auto", Sandbox(None, (), Confinement()), "IS REDUCED.*CAN READ THE SERVER'S FILES"),
        ("process", Sandbox(None, (), Confinement(users=Users("1-9"))), None),
        ("process", Sandbox(None, (), Confinement(mounts=True)), None),
        ("bubblewrap", WRAPPED, None),
    ],
)
def test_what_is_missing_is_said_with_its_fix(isolation, sandbox, said):
    found = "".join(text + fix for text, fix in lacks(Settings(isolation=isolation), sandbox))

    assert (found == "") is (said is None)
    assert said is None or re.search(said, found)


def test_what_there_is_is_said_in_a_few_words():
    every = Confinement(users=Users("1-9"), mounts=True, landlock=4, seccomp="x86_64")

    assert kept(Sandbox()) == "separate processes only"
    assert kept(Sandbox(None, (), every)) == (
        "separate user ids, separate file system views, Landlock 4, a system call filter"
    )


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (
            None,
            "held by cgroups: nothing; watched from outside: memory, processes, survivors, disk",
        ),
        (
            Kept(survivors=True, memory=True, processes=True),
            "held by cgroups: memory, processes, survivors; watched from outside: disk",
        ),
        (
            Kept(survivors=True, why="it lacks"),
            "held by cgroups: survivors; watched from outside: memory, processes, disk (it lacks)",
        ),
    ],
)
def test_how_limits_are_kept_is_one_line(kept, said):
    groups = None if kept is None else Groups(None, None, kept)

    assert limits_of(Sandbox(groups=groups)) == f"limits of workers: {said}"


def test_cgroups_that_are_off_are_not_made(tmp_path):
    settings = Settings(data=tmp_path, isolation="none", cgroups="off")

    with open_places(settings, Sandbox()) as (sandbox, homes):
        assert sandbox.groups.make(1) is None
        assert sandbox.groups.kept == Kept(why="the settings turn cgroups off")
        assert homes == tmp_path / "workers"


def test_workers_have_their_directories_where_they_can_reach_them(tmp_path):
    settings = Settings(data=tmp_path)
    others = Confinement(users=Users("1-9"))

    assert home_of(settings, Sandbox()) == tmp_path
    assert home_of(settings, Sandbox("bwrap", (), others)) == tmp_path
    assert (
        home_of(settings, Sandbox(None, (), Confinement(users=Users("1-9"), mounts=True)))
        == tmp_path
    )
    assert home_of(settings, Sandbox(None, (), others)) is None
    assert home_of(Settings(data=None), Sandbox()) is None


def test_there_must_be_user_ids_for_all_workers():
    assert open_sandbox(Settings(isolation="none", workers=4, worker_uids="60706-60713"))
    with pytest.raises(SandboxError, match="worker_uids has only 7 user ids: 4 workers need 8"):
        open_sandbox(Settings(isolation="none", workers=4, worker_uids="60706-60712"))


# --- namespaces ----------------------------------------------------------------------------------


@pytest.fixture
def reduced(tmp_path, monkeypatch):
    """Settings of a machine without bubblewrap."""
    (tmp_path / "nothing").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    return Settings(data=tmp_path / "data", prewarmed=0)


async def test_a_second_namespace_is_refused_until_it_is_asked_for_by_name(reduced, tmp_path):
    async with open_service(reduced) as service:
        await first_namespaces(service.namespaces, None, None)
        with pytest.raises(ConflictError, match=r"The namespace 'team' is not created: .*" + FIX):
            await service.namespaces.create("team", {})
    accepted = Settings(data=tmp_path / "data", prewarmed=0, isolation="process")
    async with open_service(accepted) as service:
        await service.namespaces.create("team", {})

    with pytest.raises(
        IsolationError, match=r"the store has 2 namespaces \(guest, team\), but .*" + FIX
    ):
        await open_service(reduced).__aenter__()
    async with open_service(accepted) as service:
        await service.namespaces.delete("team")
    async with open_service(reduced) as service:
        assert [namespace.name for namespace in service.namespaces.list()] == [
            "guest",
            "whisk.system",
        ]


def test_a_server_without_bubblewrap_says_so_and_keeps_to_one_namespace(tmp_path):
    (tmp_path / "nothing").mkdir()
    without = {**os.environ, "PATH": str(tmp_path / "nothing")}
    data = tmp_path / "data"
    server = Server(data, "--auth", AUTH, environment=without)
    user, key = (data / "operator").read_text().strip().split(":")
    asked = httpx.put(
        f"{server.url}/api/v1/operator/namespaces/team",
        auth=(user, key),
        json={},
        timeout=DEADLINE_S,
    )
    _, errors = server.stop()

    assert asked.status_code == 409
    assert re.search(FIX, asked.json()["error"])
    lines = [line for line in errors.splitlines() if "ISOLATION IS REDUCED" in line]
    assert len(lines) == 1
    assert re.search(FIX, lines[0])

    with running(data, "--auth", AUTH, "--isolation", "process", environment=without) as server:
        made = httpx.put(
            f"{server.url}/api/v1/operator/namespaces/team",
            auth=(user, key),
            json={},
            timeout=DEADLINE_S,
        )
        assert made.is_success
    said = refusal("--port", "0", "--data", str(data), PATH=without["PATH"])
    assert re.search(r"the store has 2 namespaces \(guest, team\), but .*" + FIX, said)
