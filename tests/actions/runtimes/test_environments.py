"""Environments: each set is installed once, completely or not at all, and removed when it is not used."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace

import pytest

from tests.kit.actions.things import StandingClock, until
from xingqiao.actions.runtimes.environments import (
    ABOUT,
    DAY_MS,
    Environments,
    InstallError,
    Keeping,
    Recipe,
    installers_environment,
    inventory,
)

MB = 1 << 20


def recipe(name="python-1", script="mkdir packages; cp given packages/given", **fields):
    """A set whose installer is a script."""
    fields = {"title": f"the set {name}", "files": {"given": b"content"}, **fields}
    return Recipe(
        name=name, folder="packages", command=lambda: ["sh", "-e", "-c", script], **fields
    )


@pytest.fixture
def clock():
    return StandingClock()


@pytest.fixture
def home(tmp_path):
    return tmp_path / "environments"


@pytest.fixture
async def environments(home, clock):
    async with Environments(home, clock) as made:
        yield made


def names(home):
    return sorted(path.name for path in home.iterdir())


async def test_a_set_is_installed_from_its_files_and_workers_of_any_user_can_read_it(
    environments, home
):
    await environments.install(recipe())

    lease = await environments.lease(recipe())
    assert lease.packages == home / "python-1" / "packages"
    assert (lease.packages / "given").read_bytes() == b"content"
    assert lease.packages.stat().st_mode & 0o777 == 0o755
    assert (lease.packages / "given").stat().st_mode & 0o044 == 0o044
    assert home.stat().st_mode & 0o011 == 0o011
    assert names(home) == ["python-1"]
    lease.close()
    lease.close()


async def test_an_installer_has_a_home_to_write_to(environments, home, monkeypatch):
    """The user of a service often has none."""
    monkeypatch.setenv("HOME", "/nonexistent")
    script = 'mkdir packages; echo cached > "$HOME/cache"; cp "$HOME/cache" packages'
    await environments.install(recipe(script=script))

    root = home / "python-1"
    assert (root / "packages" / "cache").read_text() == "cached\n"
    assert names(root) == [ABOUT, "given", "packages"]


async def test_however_many_wait_for_a_set_it_is_installed_once(environments, home, tmp_path):
    counted = recipe(script=f"mkdir packages; echo once >> {tmp_path}/count")

    await asyncio.gather(*(environments.install(counted) for _ in range(20)))
    await environments.install(counted)

    assert (tmp_path / "count").read_text() == "once\n"


async def test_two_servers_may_install_the_same_set_at_the_same_time(environments, home, clock):
    async with Environments(home, clock) as other:
        await asyncio.gather(environments.install(recipe()), other.install(recipe()))

        assert names(home) == ["python-1"]
        assert (await other.lease(recipe())).packages.is_dir()


async def test_a_failed_installation_tells_the_installers_last_lines_and_leaves_nothing(
    environments, home, caplog
):
    failing = recipe(
        script="echo 'WARNING: much' >&2; echo no such package; "
        "echo see https://user:secret@index.example/simple; exit 7"
    )

    with pytest.raises(InstallError) as told:
        await environments.install(failing)

    assert str(told.value) == (
        "the set python-1: not installed: no such package\nsee https://***@index.example/simple"
    )
    assert "no such package" in caplog.text
    assert "secret" not in caplog.text
    assert names(home) == []


async def test_a_failed_set_is_not_hammered_and_is_tried_again_later(home, clock, tmp_path):
    script = f"echo tried >> {tmp_path}/count; test -e {tmp_path}/there; mkdir packages"
    async with Environments(home, clock, Keeping(again_s=3600)) as environments:
        for _ in range(3):
            with pytest.raises(InstallError, match="it ended with 1"):
                await environments.install(recipe(script=script))
    assert (tmp_path / "count").read_text() == "tried\n"

    (tmp_path / "there").touch()
    async with Environments(home, clock, Keeping(again_s=0)) as environments:
        await environments.install(recipe(script=script))
        assert environments.has(recipe())


async def test_an_installer_that_is_missing_is_an_error(environments):
    def missing():
        raise InstallError("npm is not found: install it on the server")

    with pytest.raises(InstallError, match="python-1: not installed: npm is not found"):
        await environments.install(replace(recipe(), command=missing))
    with pytest.raises(InstallError, match=r"python-2: not installed: .*No such file"):
        await environments.install(replace(recipe("python-2"), files={"no/folder": b""}))


async def test_an_installer_that_takes_too_long_is_ended(home, clock, tmp_path):
    (tmp_path / "bin").mkdir()
    script = f"echo $$ > {tmp_path}/pid; read forever < {tmp_path}/fifo"
    os.mkfifo(tmp_path / "fifo")
    async with Environments(home, clock, Keeping(install_s=0.2)) as environments:
        with pytest.raises(InstallError, match=r"(more than|not installed within) 0.2 seconds"):
            await environments.install(recipe(script=script))
        await until(lambda: names(home) == [])


async def test_closing_ends_installations_under_way(home, clock, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    script = f"touch {tmp_path}/begun; read forever < {tmp_path}/fifo"
    async with asyncio.TaskGroup() as tasks, Environments(home, clock) as environments:
        waiter = tasks.create_task(environments.install(recipe(script=script)))
        await until((tmp_path / "begun").exists)
        waiter.cancel()
    assert names(home) == []


async def test_a_directory_that_cannot_be_used_is_an_error(tmp_path, clock):
    (tmp_path / "file").touch()
    async with Environments(tmp_path / "file", clock) as environments:
        with pytest.raises(InstallError, match=r"cannot be used: (File exists|Not a directory)"):
            await environments.install(recipe())


@pytest.mark.parametrize("damaged", ["packages/given", ABOUT])
async def test_what_a_crash_of_the_machine_has_damaged_is_installed_again(
    environments, home, clock, damaged
):
    await environments.install(recipe())
    (home / "python-1" / damaged).write_bytes(b"")

    async with Environments(home, clock) as after:
        assert not await after.ready(recipe())
        lease = await after.lease(recipe())
        assert (lease.packages / "given").read_bytes() == b"content"
    async with Environments(home, clock) as after:
        assert await after.ready(recipe())


# --- what is kept ------------------------------------------------------------------------------


def large(name, megabytes):
    return recipe(name, f"mkdir packages; truncate -s {megabytes}M packages/large")


async def test_the_least_recently_used_make_room(home, clock):
    async with Environments(home, clock, Keeping(most_mb=30)) as environments:
        for name in ("python-1", "python-2"):
            await environments.install(large(name, 10))
            clock.ms += 1000
        (await environments.lease(large("python-1", 10))).close()
        clock.ms += 1000

        await environments.install(large("python-3", 15))

    assert names(home) == ["python-1", "python-3"]


async def test_an_environment_in_use_is_not_removed(home, clock):
    async with Environments(home, clock, Keeping(most_mb=30)) as environments:
        lease = await environments.lease(large("python-1", 20))
        await environments.install(large("python-2", 20))
        assert names(home) == ["python-1", "python-2"]

        clock.ms += 1000
        lease.close()
        await environments.install(recipe("python-3"))
        assert names(home) == ["python-1", "python-3"]


async def test_a_set_that_is_larger_than_all_may_be_is_refused(home, clock):
    async with Environments(home, clock, Keeping(most_mb=10)) as environments:
        await environments.install(large("python-1", 9))
        with pytest.raises(InstallError, match=r"11 MB, .* may take 10 MB \(XINGQIAO_ENV"):
            await environments.install(large("python-2", 11))
    assert names(home) == ["python-1"]


@pytest.mark.parametrize(("days", "left"), [(29.9, ["python-1"]), (30.1, [])])
async def test_an_unused_environment_is_removed_after_some_days(home, clock, days, left):
    async with Environments(home, clock, Keeping(days=30)) as environments:
        await environments.install(recipe())
    clock.ms += int(days * DAY_MS)

    async with Environments(home, clock, Keeping(days=30)):
        assert names(home) == left


async def test_what_a_killed_server_has_left_is_removed_at_the_start(home, clock):
    for left in ("new-1", "gone-1/python-9"):
        (home / left).mkdir(parents=True)
    (home / "something-else").mkdir()

    async with Environments(home, clock):
        assert names(home) == ["something-else"]


async def test_a_lease_of_what_another_server_removes_installs_it_again(environments, home, clock):
    await environments.install(recipe())
    async with Environments(home, clock, Keeping(days=0)):
        pass  # it has removed it
    clock.ms += 1
    async with Environments(home, clock, Keeping(days=0)):
        assert names(home) == []

    assert (await environments.lease(recipe())).packages.is_dir()


async def test_the_inventory_tells_what_is_there_and_when_it_was_used(environments, home, clock):
    await environments.install(large("python-1", 1))
    clock.ms += 5000
    (await environments.lease(recipe("python-2"))).close()
    (home / "python-3").mkdir()  # without a record

    newer, older = inventory(home)

    assert (older.path, older.packages) == (home / "python-1", "the set python-1")
    assert older.bytes == MB + len(b"content")
    assert (newer.used_ms, older.used_ms) == (clock.ms, clock.ms - 5000)
    assert json.loads((home / "python-1" / ABOUT).read_bytes())["packages"] == "the set python-1"


def test_installers_get_their_own_settings_and_nothing_of_the_servers():
    theirs = {
        "PATH": "/bin", "HOME": "/home/u", "LC_ALL": "C", "PIP_INDEX_URL": "x", "UV_INDEX_URL": "x",
        "npm_config_registry": "x", "https_proxy": "x", "NO_PROXY": "x", "SSL_CERT_FILE": "x",
    }  # fmt: skip
    ours = {
        "XINGQIAO_AUTH": "a:b", "XINGQIAO_PARAMETER_KEYS": "k", "AWS_SECRET_ACCESS_KEY": "s",
        "GOOGLE_APPLICATION_CREDENTIALS": "f", "PYTHONPATH": "/x", "LD_PRELOAD": "x",
    }  # fmt: skip
    assert installers_environment({**theirs, **ours}) == theirs
