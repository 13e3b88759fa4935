"""A message to an action, and the run of one."""

from __future__ import annotations

from xingqiao.infra.deploy.hosted import Wrapped

MESSAGE = {
    "token": {"execution": "e" * 32, "fiber": "0", "turn": 3},
    "carried": {"version": 7},
    "params": {"n": 1},
    "action": "/_/double",
    "activation": "a" * 32,
    "key": "k",
    "deadline": 1_700_000_000_000,
}


APPLICATION, BAD, LARGE = "ApplicationError", "BadResponse", "PayloadTooLarge"


def run(code, message=MESSAGE, main="main"):
    return Wrapped.of_source("double", code, main).run(message)
