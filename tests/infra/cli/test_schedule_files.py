"""Schedules in a user's files: found, checked with their file and line, deployed and removed with the actions."""

from __future__ import annotations

import json

import pytest

from tests.kit.infra.servers import AUTH
from xingqiao.infra.cli import files
from xingqiao.infra.cli.client import Client
from xingqiao.infra.cli.deployments import Options, apply, plan, removal
from xingqiao.infra.cli.schedule_files import ScheduleError

HEAD = "from xingqiao import composer\n"
REPORT = """
@composer.action
def {name}(params):
    return {{"pages": 3}}

nightly = composer.schedule("{name}-nightly", action={name}, cron="30 2 * * *", time_zone="Europe/Berlin")
"""
DAILY = {"spec": {"cron": "@daily"}, "do": {"action": "report"}}


@pytest.fixture
def client(server):
    with Client(server.url, AUTH) as made:
        yield made


def changes(found):
    return {step["name"]: step["change"] for step in found.steps}


def test_a_file_is_deployed_with_its_schedules_and_removed_with_them(client, tmp_path):
    file = tmp_path / "reports.py"
    file.write_text(HEAD + REPORT.format(name="whole"))

    found = plan(client, [file])
    assert changes(found) == {"whole": "new", "whole-nightly": "new"}
    assert found.warnings == []
    assert client.ask("GET", "schedules") == []
    apply(client, found)
    assert not plan(client, [file]).changes
    shown = client.ask("GET", "schedules/whole-nightly")
    assert (shown["action"], shown["document"]["spec"]["zone"]) == ("/guest/whole", "Europe/Berlin")

    file.write_text(file.read_text().replace("30 2", "45 2"))
    changed = plan(client, [file])
    assert changes(changed) == {"whole": "unchanged", "whole-nightly": "changed"}
    assert changed.steps[1]["fields"] == ["spec"]
    apply(client, changed)
    file.write_text(HEAD + REPORT.format(name="whole").partition("nightly =")[0])
    assert changes(plan(client, [file])) == {"whole": "unchanged", "whole-nightly": "orphaned"}
    assert changes(apply(client, plan(client, [file], Options(prune=True)))) == {
        "whole": "unchanged", "whole-nightly": "removed",
    }  # fmt: skip
    assert changes(apply(client, removal(client, [file]))) == {"whole": "removed"}
    assert client.ask("GET", "schedules") == []


def test_a_folder_is_deployed_with_its_files_of_schedules(client, tmp_path):
    (tmp_path / "folder.py").write_text(HEAD + REPORT.format(name="folder"))
    document = {**DAILY, "do": {"action": "folder"}}
    (tmp_path / "weekly.schedule.json").write_text(json.dumps(document))

    found = apply(client, plan(client, [tmp_path]))

    assert changes(found) == {"folder": "new", "folder-nightly": "new", "weekly": "new"}
    assert found.shown()["actions"] == found.steps[:1]
    assert [step["name"] for step in found.shown()["schedules"]] == ["folder-nightly", "weekly"]
    assert client.ask("GET", "schedules/weekly")["document"]["deployed_from"].endswith(
        "/weekly.schedule.json"
    )
    apply(client, removal(client, [tmp_path]))
    assert client.ask("GET", "schedules") == []


def test_schedules_may_stand_in_a_list(tmp_path):
    file = tmp_path / "lists.py"
    file.write_text(
        HEAD + "all = [composer.schedule(f's{n}', action='a', every=60 * n) for n in (1, 2)]\n"
    )

    assert list(files.read(file).schedules) == ["s1", "s2"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("s = composer.schedule('s', action='a', cron='every day')", "line 2: schedule 's': "),
        (
            "s = composer.schedule('s', action='a')",
            "line 2: schedule 's': the field 'spec' names no",
        ),
        (
            "s = composer.schedule('s', action='a', cron='@daily', overlap='maybe')",
            "line 2: schedule 's': the field 'overlap' must be one of skip",
        ),
        ("s = composer.schedule('s', action=7)", "line 2: schedule 's': 'action' must be"),
        ("composer.schedule('s', action='a', every=5)", "line 2: the schedule is not assigned"),
        (
            "from xingqiao.composer import schedule\nschedule('s', action='a', every=5)",
            "line 3: the schedule is not assigned",
        ),
        (
            "print(1)\nlen('a')\n(lambda: 1)()\n"
            + "\n".join(f"{v} = composer.schedule('s', action='{v}', every=5)" for v in "st"),
            "line 6: the schedule 's' is also defined in line 5",
        ),
        ("s = composer.schedule('a/b/c', action='a', every=5)", "line 2: .*the schedule's name"),
    ],
)
def test_a_schedule_that_cannot_be_deployed_is_named_with_its_file_and_line(tmp_path, text, says):
    file = tmp_path / "wrong.py"
    file.write_text(HEAD + text + "\n")

    with pytest.raises((ScheduleError, files.FileError), match=f"wrong.py, {says}"):
        files.read(file)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"spec": {},\n "do" {}}', "line 2: the file is not valid JSON"),
        (
            json.dumps({**DAILY, "overlap": "maybe"}, indent=1),
            "line 8: schedule 's': the field 'ov",
        ),
        (
            json.dumps({"do": {"action": "a"}, "spec": {"cron": "x"}}, indent=1),
            "line 6: schedule 's': the field 'spec.cron",
        ),
        ("[]", "line 1: schedule 's': the field 'schedule' must be an object"),
    ],
)
def test_a_file_of_a_schedule_is_checked_with_its_line(tmp_path, text, says):
    file = tmp_path / "s.schedule.json"
    file.write_text(text)

    with pytest.raises(ScheduleError, match=f"s.schedule.json, {says}"):
        files.read(file)


def test_a_file_of_a_schedule_that_cannot_be_read_is_named(tmp_path):
    file = tmp_path / "s.schedule.json"
    file.write_bytes(b"\xff")

    with pytest.raises(ScheduleError, match=r"s\.schedule\.json cannot be read"):
        files.read(file)


def test_two_files_must_not_define_one_schedule_in_two_ways(client, tmp_path):
    for name, every in (("a", 60), ("b", 90)):
        text = f"s = composer.schedule('twice', action='a', every={every})\n"
        (tmp_path / f"{name}.py").write_text(HEAD + text)

    with pytest.raises(files.FileError, match=r"the schedule 'twice' is also defined in .*a\.py"):
        plan(client, [tmp_path])
