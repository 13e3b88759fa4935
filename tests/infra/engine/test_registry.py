"""Changes to the catalog: committed, then applied, and never half."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import CODE, GUEST, begun, world
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.actions import Action, ConflictError, NotFoundError, Package
from xingqiao.composer import Name

NAME = Name(GUEST, None, "a")


def code(text):
    return {"exec": {"kind": "python:3", "code": text}}


async def test_what_is_put_is_there_after_a_restart_and_what_is_removed_is_not():
    made = await begun()
    await made.put(a=None, gone=None, main=composer.sequence("a"))
    await made.put(a=code("another"))
    await made.engine.registry.remove(Action, Name(GUEST, None, "gone"))

    again = await restarted(made)

    catalog = again.engine.catalog
    assert catalog.resolve(NAME, GUEST).version == "0.0.2"
    assert catalog.resolve(NAME, GUEST).exec.text == "another"
    assert catalog.resolve(Name(GUEST, None, "main"), GUEST).program is not None
    with pytest.raises(NotFoundError):
        catalog.resolve(Name(GUEST, None, "gone"), GUEST)
    await again.kill()


@pytest.mark.parametrize(
    ("overwrite", "why"), [(False, "already exists"), (True, "Concurrent modification")]
)
async def test_of_two_who_put_the_same_at_once_one_is_refused(overwrite, why):
    async with world() as made:
        put = made.engine.registry.put
        ends = await asyncio.gather(
            *(put(Action, NAME, code(text), overwrite=overwrite) for text in ("one", "two")),
            return_exceptions=True,
        )

        (done,) = [end for end in ends if isinstance(end, Action)]
        (refused,) = [end for end in ends if isinstance(end, ConflictError)]
        assert why in str(refused)
        assert made.engine.catalog.resolve(NAME, GUEST).exec.text == done.exec.text


async def test_a_dry_run_plans_what_the_deployment_then_does():
    async with world() as made:
        listed = [{"name": name, "origin": "a.py", "definition": CODE} for name in ("a", "b")]
        document = {"actions": listed}
        commits = made.engine.gauges()["commits"]

        planned = await made.engine.registry.deploy(GUEST, document, dry_run=True)
        assert made.engine.gauges()["commits"] == commits
        with pytest.raises(NotFoundError):
            made.engine.catalog.resolve(NAME, GUEST)

        done = await made.engine.registry.deploy(GUEST, document, dry_run=False)
        assert made.engine.gauges()["commits"] == commits + 1  # all in one
        assert [str(entity.name) for entity in done.change.put] == [
            str(entity.name) for entity in planned.change.put
        ]
        assert made.engine.catalog.resolve(NAME, GUEST).exec.text == CODE["exec"]["code"]


async def test_a_package_that_is_not_empty_is_kept_unless_all_of_it_is_to_go():
    async with world() as made:
        registry, box = made.engine.registry, Name(GUEST, None, "box")
        inside = Name(GUEST, "box", "a")
        await registry.put(Package, box, {}, overwrite=False)
        await registry.put(Action, inside, CODE, overwrite=False)

        with pytest.raises(ConflictError):
            await registry.remove(Package, box)
        assert made.engine.catalog.resolve(inside, GUEST).name == inside

        await registry.remove(Package, box, force=True)
        with pytest.raises(NotFoundError):
            made.engine.catalog.resolve(inside, GUEST)
