"""Changes of a hosted execution, within the bounds of a table."""

from __future__ import annotations

from tests.kit.deploy.hosted_actions import ACTIONS
from tests.kit.deploy.hosts import Host
from xingqiao import composer
from xingqiao.composer import path


def test_more_branches_with_something_left_to_do_than_a_commit_holds():
    branch = composer.ensure(composer.sequence("never"), "b")
    composition = composer.timeout(5, composer.map(branch, items=[{"i": i} for i in range(200)]))
    host = Host(composition, ACTIONS)

    seen = host.run()

    assert seen["status"] == "failed"
    assert "90 branches" in seen["result"]["error"]["message"]


def test_more_state_in_branches_than_a_commit_holds():
    branches = composer.map(
        composer.sequence(composer.retain(composer.retain("a"))),
        items=[{"i": i} for i in range(45)],
    )
    spread = composer.let({"v": None}, composer.assign(v=path("$")), branches)
    host = Host(
        composer.sequence("large", spread), {**ACTIONS, "large": lambda p: {"v": "x" * 90_000}}
    )

    seen = host.run()

    assert seen["status"] == "failed"
    assert "at once" in seen["result"]["error"]["message"]
