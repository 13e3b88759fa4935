"""Composes serverless functions into one dependable action.

Public modules, which keep working from release to release:

- `xingqiao.composer`: the language of compositions, and their diagrams;
- `xingqiao.testing`: runs compositions with faked actions, in virtual time;
- `xingqiao.transactions`: `entity`, the decorator of stateful functions;
- `xingqiao.embedded`: the engine in a program of your own;
- `xingqiao.client`: the client of a server, with the same methods;
- `xingqiao.integrations`: the classes for a package that adds service integrations.

All other modules may change in any release. Each of the modules above is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from . import client, composer, embedded, integrations, testing, transactions

__all__ = ["client", "composer", "embedded", "integrations", "testing", "transactions"]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f".{name}", __name__)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
