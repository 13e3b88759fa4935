"""Assignments, and the paths of parts of the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import frames
from .code import Code, multiple
from .machine import END, Env, Frame, Run
from .paths import delpaths, getpath, path_of, setpath

if TYPE_CHECKING:
    from .budget import Budget


def listed(body: Code) -> Code:
    run = body.many

    def frame(value: Any, env: Env) -> Frame:
        inner = run(((), value), env)
        while (thing := (yield inner)) is not END:
            yield list(path_of(thing))

    return multiple(frame)


def assigned(_: Any, new: Any, __: Budget) -> Any:
    return new


def updated(where: Run, right: Run, operator: Any) -> Run:
    def frame(value: Any, env: Env) -> Frame:
        outer = right(value, env)
        while (new := (yield outer)) is not END:
            inner = where(((), value), env)
            made = value
            while (thing := (yield inner)) is not END:
                path = path_of(thing)
                old = getpath(made, path, env[0])
                made = setpath(made, path, operator(old, new, env[0]), env[0])
            yield made

    return frame


def modified(where: Run, right: Run) -> Run:
    """`|=`: the first result of the right replaces a part; a part without one is deleted."""
    once = frames.first(multiple(right)).run

    def frame(value: Any, env: Env) -> Frame:
        made, gone = value, []
        inner = where(((), value), env)
        while (thing := (yield inner)) is not END:
            path = path_of(thing)
            results = once(getpath(made, path, env[0]), env)
            new = yield results
            if new is END:
                gone.append(list(path))
            else:
                made = setpath(made, path, new, env[0])
        yield delpaths(made, gone, env[0]) if gone else made

    return frame
