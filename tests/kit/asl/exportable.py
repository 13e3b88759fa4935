"""Compositions made of what the States Language can say, and both ways to run one."""

from __future__ import annotations

import json

from tests.kit.composer.compositions import COUNT_DOWN
from xingqiao import composer
from xingqiao.composer import path, var
from xingqiao.composer.languages.asl import hooks, lower
from xingqiao.composer.languages.asl.export.export import export
from xingqiao.composer.machine.cursor import Limits
from xingqiao.composer.names import Name
from xingqiao.composer.testing import Simulation

HOOKS = hooks(is_action=lambda _: True, is_integration=lambda _: False)
LESS = composer.sequence(
    composer.retain(composer.select({"n": var("n")}), "less", composer.assign(n=path("$.n"))),
    path("$.params"),
).to_json()
FAKE_LESS = {"less": lambda params: {"n": params["n"] - 1}}


def exportable(composition):
    """One like it, with something else where a part has no counterpart."""
    return composer.parse(_replaced(composition.to_json()))


def in_loops(composition):
    """One like it, whose retries become loops: a Parallel's branch begins a moment later than it would.

    That tells when another part fails at that very moment, and ends what has not begun.
    """
    delayed = {"retry": lambda doc: {**doc, "delay": doc.get("delay", 0) + 0.5, "max_delay": 9.25}}
    return composer.parse(_replaced(composition.to_json(), delayed))


def _replaced(doc, replaced=None):
    if isinstance(doc, list):
        return [_replaced(item, replaced) for item in doc]
    if not isinstance(doc, dict):
        return doc
    made = {
        name: part if name in ("value", "declarations", "template", "take", "carry") else _replaced(part, replaced)
        for name, part in doc.items()
    }  # fmt: skip
    replacing = _REPLACED if replaced is None else replaced
    return replacing[made["type"]](made) if made.get("type") in replacing else made


def _timeout(doc):
    parts = doc["components"]
    only = len(parts) == 1 and parts[0]["type"] == "action"
    return (
        {**doc, "seconds": doc["seconds"] + 0.5}
        if only
        else {"type": "sequence", "components": parts}
    )


_REPLACED = {
    "function": lambda doc: LESS if doc == COUNT_DOWN.to_json() else {"type": "action", "name": "b"},
    "dynamic": lambda _: {"type": "action", "name": "c"},
    "async": lambda doc: {**doc, "type": "sequence"},
    "race": lambda doc: {**doc, "type": "parallel", "errors": "collect"},
    "finally": lambda doc: {"type": "try", "body": doc["body"], "handler": doc["finalizer"]},
    "graph": lambda doc: {
        **doc, "tasks": {name: {**task, "after": []} for name, task in doc["tasks"].items()}
    },
    "retry": lambda doc: {
        name: part for name, part in doc.items() if name not in ("on_exhausted", "except_errors")
    },
    "within": lambda doc: {"type": "sequence", "components": doc["components"]},
    "timeout": _timeout,
}  # fmt: skip


def run_exported(composition, params, fakes):
    """The machine that it becomes, simulated."""
    program = lower(json.dumps(export(composition)), type="STANDARD", hooks=HOOKS)
    named = {str(Name.parse(name)): fake for name, fake in fakes.items()}
    return Simulation(program, named, (), Limits()).run(params)


def told(error):
    """What an execution ends with, of the composition's error: its name, and a cause."""
    own = error if isinstance(error, dict) else {"code": error}
    name = next(
        (own[key] for key in ("code", "name", "type") if isinstance(own.get(key), str)), None
    )
    if name is None:
        name = "ApplicationError"
    if (
        isinstance(error, dict)
        and error.keys() == {"code", "message"}
        and isinstance(error["message"], str)
    ):
        return {"Error": name, "Cause": error["message"]}
    return {"Error": name, "Cause": json.dumps({"error": error}, separators=(",", ":"))}
