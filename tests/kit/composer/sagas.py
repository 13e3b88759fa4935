"""A saga of three steps, fakes for them, and what a run has undone."""

from __future__ import annotations

from xingqiao.composer import saga, step

OK = {"ok": True}
STEPS = saga(step("a", undo="undo_a"), step("b", undo="undo_b"), step("c", undo="undo_c"))


def fakes(**answers):
    names = ("a", "b", "c", "d")
    made = {name: {name: 1} for name in names} | {f"undo_{name}": {} for name in names}
    return made | answers


def names(run):
    """The actions in the order in which they were first asked for."""
    return list(dict.fromkeys(invoked.action.rpartition("/")[2] for invoked in run.invocations))


def undone(run):
    return [name.removeprefix("undo_") for name in names(run) if name.startswith("undo_")]
