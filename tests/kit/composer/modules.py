"""Modules made of a text, whose source is found as that of any other."""

from __future__ import annotations

import linecache
import sys
import types


def defined(monkeypatch, text, /, **names):
    """What a module of a text defines; `names` are there already."""
    name = f"module_{abs(hash(text))}"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    module = types.ModuleType(name)
    module.__dict__.update(names)
    monkeypatch.setitem(sys.modules, name, module)
    exec(compile(text, name, "exec", dont_inherit=True), module.__dict__)
    return vars(module)
