"""Entity types as users write them, and the code that is deployed of them."""
# ruff: noqa: PTH118, TC003
# (what is captured here is odd on purpose)

from __future__ import annotations

import decimal
import math
import os.path as paths
from dataclasses import dataclass, field
from typing import ClassVar

from xingqiao.actions.runtimes.worker import define
from xingqiao.transactions import entity

FEE = 1
LIMITS = {"gold": [100, None], "it's": 1.5}


def alone(type):
    """The code of an entity type, made anew from what is deployed of it, and nothing else."""
    runtime = type.definition()["exec"]
    scope: dict = {}
    exec(compile(runtime["code"], "<captured>", "exec", dont_inherit=True), scope)
    assert runtime["kind"] == "python:3"
    return scope[runtime["main"]]


def working(type):
    """The same, as a worker makes it: in a module that nobody can import."""
    runtime = type.definition()["exec"]
    return define(type.name, runtime["code"], runtime["main"])


def both(type):
    return [type.function, alone(type), working(type)]


def asked(code, operation, state=None, **params):
    """What the code of an entity answers."""
    return code({"state": state, "operation": operation, "params": params, "key": "k"})


@entity(version=2, state_bytes=1 << 10, limits={"timeout": 5000})
@dataclass
class Account:
    """Money."""

    balance: int = 0
    lines: list[decimal.Decimal] = field(default_factory=list)  # what it names stays here
    owner: dict[str, str] = field(default_factory=lambda: {"name": "nobody"})
    rate: ClassVar[int] = 2

    def deposit(self, amount: int, memo: str = "") -> dict:
        if amount < 0:
            self.lines.append("never seen")
            raise ValueError(f"{amount} is less than nothing")
        self.balance += amount * self.rate - FEE
        self.lines.append(f"{memo}{math.floor(amount)}")
        return {"balance": self.balance}

    def withdraw(self, amount):
        if amount > self._available():
            raise LookupError("""there is
  not enough""")
        self.balance -= amount

    def rename(self, **names):
        self.owner.update(names)
        return self.owner

    def look(self):
        return [self.balance, LIMITS, paths.join("a", "b")]

    def again(self):
        return Account(balance=self.balance).look()

    def _available(self):
        return self.balance

    @staticmethod
    def upgrade(state, version):
        return {"balance": state["cents"] // 100, "lines": [version]}


@entity
class Stack:
    def __init__(self):
        self.items = []
        self._depth = 0

    def push(self, item):
        self.items.append(item)
        self._depth = max(self._depth, len(self.items))
        return self._depth

    def pop(self):
        return {"item": self.items.pop()}

    def clear(self):
        self.__init__()

    @property
    def size(self):
        return len(self.items)

    def measure(self):
        return {"size": self.size, "depth": self._depth}


def add(state, params):
    state = state or {"n": 0, "seen": []}
    state["seen"].append(params["by"])
    return {**state, "n": state["n"] + params["by"] * FEE}, {"by": params["by"]}


def pair(state, params):
    return state, params


total = entity(
    name="tally/total",
    operations={"add": add, "pair": pair, "halve": lambda state, _: ({"n": state["n"] / 2}, None)},
    upgrade=lambda state, version: {"n": state + version, "seen": []},
    version=3,
)
