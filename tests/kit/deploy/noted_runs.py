"""A bundle whose actions note that they run, and the results that it has on every cloud."""

from __future__ import annotations

from collections import Counter

import pytest

from xingqiao import composer
from xingqiao.composer import path

# Each notes that it runs, with the key by which it would know that it had run before.
CODE = """
import os

def main(params):
    with open(params["runs"], "a") as file:
        file.write(os.environ["__OW_ACTION_NAME"] + " " + os.environ["__OW_IDEMPOTENCY_KEY"] + "\\n")
    {rest}
"""
ACTIONS = {
    "add": 'return {**params, "n": params.get("n", 0) + 1}',
    "refuse": 'raise ValueError("too few")',
    "crash": "os._exit(9)",
    "crash_once": "os._exit(9)",
}


def double(params, variables):
    variables["times"] += 1
    return {**params, "n": params["n"] * 2}


COMPOSITIONS = {
    "line": composer.sequence("add", composer.let({"times": 0}, double), "add"),
    "branches": composer.when(path("$.n") > 1, composer.sequence("add", "add"), "refuse"),
    "again": composer.retry(2, "refuse", delay=0.2),
    "handled": composer.do("refuse", composer.select({"said": path("$.error")})),
    "finished": composer.ensure("refuse", composer.select({"final": path("$.error")})),
    "fork": composer.sequence("add", composer.parallel("add", "add")),
    "each": composer.map("add", items=path("$.items")),
    "late": composer.timeout(1000, composer.ensure(composer.wait(3600), composer.literal({}))),
    "crashes": composer.do("crash", composer.literal({"crashed": True}), errors="Crashed"),
    "crashes_once": composer.do("crash_once", composer.literal({"crashed": True})),
    "nested": composer.sequence("line", "add"),
    "spawns": composer.let(
        {"held": "x" * 60_000},
        composer.sequence(
            *[composer.retain(composer.asynchronous("add")), composer.select(path("$.params"))] * 9,
            "add",
        ),
    ),
}
ONCE = [{"key": "at-most-once", "value": True}]
LINE = ["add", "add"]  # the actions that "line" runs

each_result = pytest.mark.parametrize(
    ("name", "params", "status", "result", "ran"),
    [
        ("line", {"n": 1}, "succeeded", {"n": 5}, LINE),
        ("branches", {"n": 2}, "succeeded", {"n": 4}, LINE),
        ("branches", {"n": 0}, "failed", {"error": "too few"}, ["refuse"]),
        ("again", {}, "failed", {"error": "too few"}, ["refuse"] * 3),
        ("handled", {}, "succeeded", {"said": "too few"}, ["refuse"]),
        ("finished", {}, "succeeded", {"final": "too few"}, ["refuse"]),
        ("fork", {}, "succeeded", {"value": [{"n": 2}, {"n": 2}]}, ["add"] * 3),
        ("late", {}, "failed",
         {"error": {"code": "Timeout", "message": "not done within 1000 seconds"}}, []),
        ("crashes", {}, "succeeded", {"crashed": True}, ["crash"] * 2),
        ("crashes_once", {}, "succeeded", {"crashed": True}, ["crash_once"]),
        ("nested", {"n": 1}, "succeeded", {"n": 6}, ["add"] * 3),
    ],
)  # fmt: skip


def documents():
    made = {
        name: {"exec": {"kind": "python:3", "code": CODE.replace("{rest}", rest)}}
        for name, rest in ACTIONS.items()
    }
    made["crash_once"]["annotations"] = ONCE
    return made


def runs_in(file):
    """The actions that have run, in order, and how often each key was seen."""
    lines = file.read_text().split("\n")[:-1] if file.exists() else []
    pairs = [line.removeprefix("/_/").split(" ") for line in lines]
    return [name for name, _ in pairs], Counter(key for _, key in pairs)


def without_runs(value):
    """A result without the paths of notes."""
    if isinstance(value, dict):
        return {name: without_runs(item) for name, item in value.items() if name != "runs"}
    return [without_runs(item) for item in value] if isinstance(value, list) else value
