"""Deployments as functions: a plan of files and folders, and its application."""

from __future__ import annotations

import pytest

from tests.kit.infra.servers import AUTH
from xingqiao.infra.cli.client import ApiError, Client
from xingqiao.infra.cli.deployments import Options, apply, plan, removal

HEAD = "from xingqiao import composer\n"


@pytest.fixture
def client(server):
    with Client(server.url, AUTH) as made:
        yield made


def changes(found):
    return {step["name"]: step["change"] for step in found.steps}


def test_a_plan_changes_nothing_until_it_is_applied(client, tmp_path):
    (tmp_path / "planned.py").write_text(HEAD + "planned = composer.sequence('planned_none')\n")

    found = plan(client, [tmp_path])

    assert changes(found) == {"planned": "new"}
    assert found.changes
    assert len(found.warnings) == 1
    with pytest.raises(ApiError):
        client.ask_action("GET", "planned")
    assert changes(apply(client, found)) == {"planned": "new"}
    assert not plan(client, [tmp_path]).changes
    assert changes(apply(client, removal(client, [tmp_path]))) == {"planned": "removed"}


def test_each_plan_reads_the_modules_of_the_project_again(client, tmp_path):
    (tmp_path / "again.py").write_text(
        HEAD + "from again_lib import NAME\nx = composer.action(lambda p: NAME, name=NAME)\n"
    )
    (tmp_path / "again_lib.py").write_text("NAME = 'again_one'\n")
    assert changes(plan(client, [tmp_path])) == {"again_one": "new"}
    (tmp_path / "again_lib.py").write_text("NAME = 'again_other'\n")

    assert changes(plan(client, [tmp_path])) == {"again_other": "new"}


def test_a_name_is_given_to_one_definition(client, tmp_path):
    (tmp_path / "named.py").write_text("def main(params):\n    return params\n")

    found = plan(client, [tmp_path / "named.py"], Options(name="renamed"))

    assert changes(found) == {"renamed": "new"}
    assert found.body["origins"] == []


def test_dependencies_of_node_are_sent_if_the_code_names_one(client, tmp_path):
    (tmp_path / "package.json").write_text('{"dependencies": {"left-pad": "^1"}}')
    (tmp_path / "a.js").write_text("const pad = require('left-pad'); exports.main = p => p\n")
    (tmp_path / "b.mjs").write_text("export function main(p) { return p }\n")

    found = plan(client, [tmp_path / "a.js", tmp_path / "b.mjs"])
    sent = {action["name"]: action["definition"]["exec"] for action in found.body["actions"]}
    (folder,) = plan(client, [tmp_path]).body["actions"]

    assert sent["a"]["requirements"] == {"left-pad": "^1"}
    assert "requirements" not in sent["b"]
    assert folder["name"] == tmp_path.name
    assert folder["definition"]["exec"]["requirements"] == {"left-pad": "^1"}
    assert folder["definition"]["exec"]["kind"] == "nodejs:20"


class Older:
    """A client of a server that does not know deployments."""

    url = "http://old"

    def ask(self, *_, **__):
        raise ApiError("The requested resource does not exist.", 404)


def test_an_older_server_is_told_as_one(tmp_path):
    with pytest.raises(ApiError, match="the server at http://old cannot deploy projects: update"):
        removal(Older(), [tmp_path])
