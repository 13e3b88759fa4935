"""Steps begin: what may not begin as a child fails its step, and begins nothing."""

from __future__ import annotations

from tests.kit.engine.engines import world
from xingqiao import composer
from xingqiao.actions import Action
from xingqiao.composer import Name, child, path


async def test_what_cannot_be_a_child_fails_the_step():
    async with world(answers={"a": {}}) as made:
        await made.put(a=None, good=composer.sequence("a"))
        await made.engine.registry.put(
            Action, Name.parse("/guest/entity"),
            {"exec": {"kind": "python:3", "code": "..."}, "annotations": [{"key": "entity", "value": True}]},
            overwrite=True,
        )  # fmt: skip
        for part, says in (
            (child("nobody"), "nobody"),
            (child("entity"), "is an entity"),
            (child("good", id="a\nb"), "control characters"),
            (child("good", id=path("$.n")), "the id must be a text"),
            (child("good", id=""), "the id must be a text"),
        ):
            await made.put(parent=part)
            assert says in str(await made.run("parent", {"n": 1}))
        assert {row.name for row in await made.executions()} == {"parent"}
