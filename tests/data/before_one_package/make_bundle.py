r"""Makes `bundle.json.gz`: what conductors in a cloud wrote and sent, of the version before one package.

Run it with commit 15f8ac1, whose packages stood at the top of site-packages, and its fakes of a cloud:

    git worktree add --detach ../before 15f8ac1
    PYTHONHASHSEED=0 PYTHONPATH=../before:../before/tests/infra/deploy \
        python tests/data/before_one_package/make_bundle.py

For each composition it holds the bundle's document, everything that was posted, the result, and the table and
the queue as they stood after each message.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from hosts import Host

import composer as c
from composer import path
from infra.deploy.hosted import Invocation

HERE = Path(__file__).parent


def echo(name):
    def action(params):
        return {**params, name: params.get(name, 0) + 1}

    return action


def busy(_):
    return {"error": {"code": "Busy"}}


ACTIONS = {name: echo(name) for name in "abcd"} | {"busy": busy, "never": None}
ITEMS = [{"i": i} for i in range(3)]


def count(params, variables):
    variables["n"] += 1
    return {**params, "n": variables["n"]}


COMPOSITIONS = {
    "sequence": c.sequence("a", "b"),
    "inline": c.let({"n": 0}, "a", count, "b", count),
    "retry": c.do(c.retry(1, "busy", delay=2), "d"),
    "wait": c.sequence("a", c.wait(7200), "b"),
    "timeout": c.do(c.timeout(5, "never"), "d"),
    "map": c.map(c.sequence("a", "b"), items=ITEMS, concurrency=2),
    "fail fast": c.do(c.parallel(c.sequence("a", "busy"), "b"), "c"),
    "race": c.race("a", "never"),
    "nested": c.sequence("a", "other"),
    "when": c.when(path("$.a").exists(), "b", "c"),
}


class Recorded(Host):
    """A host that keeps what is posted, and how it stood after each message."""

    def __init__(self, composition):
        super().__init__(composition, ACTIONS, others={"other": c.sequence("c", c.wait(3), "d")})
        self.posted, self.stood = [], []

    def deploy(self, composition):
        super().deploy(composition)
        programs = {name: program.to_json() for name, program in self.deployed.programs.items()}
        self.document = {"programs": programs, "actions": {name: {} for name in self.actions}}

    def post(self, message, delay_ms):
        self.posted.append([self.clock.ms + delay_ms, *written(message)])
        super().post(message, delay_ms)

    def _deal(self, message):
        super()._deal(message)
        self.stood.append(
            {
                "now": self.clock.ms,
                "swept": self._swept_ms,
                "heads": self.table.heads.copy(),
                "rows": [[*key, row] for key, row in self.table.rows.items()],
                "queue": [[at, order, *written(message)] for at, order, message in self.queue],
            }
        )


def written(message):
    """A message as it is stored: for an action, after its name."""
    if isinstance(message, Invocation):
        return message.action, json.dumps(message.message)
    return None, json.dumps(message)


def main():
    made = {}
    for name, composition in COMPOSITIONS.items():
        host = Recorded(composition)
        result = host.run({"x": 1})
        made[name] = {
            "bundle": host.document, "posted": host.posted, "stood": host.stood, "result": result,
        }  # fmt: skip
    text = json.dumps(made, separators=(",", ":"))
    (HERE / "bundle.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
