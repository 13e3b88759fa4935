"""`xingqiao schedule ...`, against a real server."""

from __future__ import annotations

import json

import pytest

NIGHTLY = ("--cron", "30 2 * * *", "--zone", "Europe/Berlin")


@pytest.fixture
def nightly(xingqiao, action):
    """A schedule. Returns its name."""
    action("sc_report")
    made = xingqiao("schedule", "create", "nightly", "sc_report", *NIGHTLY, "-p", "n", "1")
    assert made.code == 0, made.err
    assert made.out.startswith("✓ the schedule nightly starts next at ")
    yield "nightly"
    xingqiao("schedule", "delete", "nightly")


def test_a_dry_run_shows_the_next_times_in_the_zone_and_creates_nothing(xingqiao):
    shown = xingqiao("schedule", "create", "x", "sc_report", *NIGHTLY, "--dry-run")
    as_json = xingqiao("schedule", "create", "x", "a", "--every", "1h", "--dry-run", "--json")
    never = xingqiao("schedule", "create", "x", "a", "--cron", "0 0 30 2 *", "--dry-run")

    lines = shown.out.splitlines()
    assert len(lines) == len(as_json.json) == 10
    assert all(
        line[10:] in ("T02:30:00+01:00", "T02:30:00+02:00", "T03:00:00+02:00") for line in lines
    )
    assert never.code == 1
    assert "would never start a run" in never.err
    assert xingqiao("schedule", "get", "x").code == 5


def test_it_is_listed_shown_and_described(xingqiao, nightly):
    listed = xingqiao("schedule", "list")
    document = xingqiao("schedule", "get", nightly).json
    shown = xingqiao("schedule", "describe", nightly)

    assert listed.out.splitlines()[1].split()[:3] == ["nightly", "/guest/sc_report", "active"]
    assert document == {
        "spec": {"cron": ["30 2 * * *"], "zone": "Europe/Berlin"},
        "do": {"action": "sc_report", "input": {"n": 1}},
    }
    assert shown.out.startswith("nightly starts /guest/sc_report, active\n0 open, 0 buffered, ")
    assert "there are no runs yet" in shown.out
    assert xingqiao("schedule", "list", "--json").json[0]["name"] == "nightly"


def test_it_is_paused_triggered_filled_back_and_resumed(xingqiao, nightly):
    assert xingqiao("schedule", "pause", nightly).out == "✓ the schedule nightly is paused\n"
    triggered = xingqiao("schedule", "trigger", nightly, "--overlap", "allow_all")
    assert triggered.out == "✓ the schedule nightly was triggered\n"
    filled = xingqiao(
        "schedule", "backfill", nightly, "--from", "2026-11-01", "--to", "2026-11-03",
        "--overlap", "buffer_all", "--json",
    )  # fmt: skip
    assert filled.json["status"] == "paused"
    described = xingqiao("schedule", "describe", nightly)
    assert "nightly-20" in described.out
    assert xingqiao("schedule", "resume", nightly).out == "✓ the schedule nightly is resumed\n"
    assert xingqiao("schedule", "describe", nightly, "--json").json["status"] == "active"


def test_a_file_has_all_fields_and_options_replace_them(xingqiao, nightly, tmp_path):
    file = tmp_path / "schedule.json"
    document = {
        "spec": {"calendars": [{"weekday": "mon-fri", "hour": 9}]},
        "do": {"action": "sc_report"},
        "overlap": "buffer_one",
    }
    file.write_text(json.dumps(document))
    made = xingqiao(
        "schedule", "create", nightly, "-f", file, "--overwrite", "--overlap", "skip", "--paused",
        "--limit", 3, "--end", "2099-01-01T00:00Z", "--json",
    )  # fmt: skip
    bad = tmp_path / "bad.json"
    bad.write_text("[]")
    worse = tmp_path / "worse.json"
    worse.write_text("{")

    assert made.json["document"] == {
        "spec": {**document["spec"], "end": "2099-01-01T00:00:00+00:00"},
        "do": {"action": "sc_report"}, "overlap": "skip", "limit": 3, "paused": True,
    }  # fmt: skip
    assert "must contain a JSON object" in xingqiao("schedule", "create", "x", "-f", bad).err
    assert "is not valid JSON" in xingqiao("schedule", "create", "x", "-f", worse).err
    paused = xingqiao("schedule", "create", nightly, "-f", file, "--overwrite")
    assert paused.out == "✓ the schedule nightly is paused\n"
