"""The executions that were recorded on AWS: definition, input, outcome and events."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path

CORPUS = Path(__file__).parents[2] / "conformance" / "asl"


@cache
def checker():
    """The corpus' own checker, whose `agrees` compares with placeholders."""
    spec = importlib.util.spec_from_file_location("asl_check", CORPUS / "check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def cases(kind):
    found = json.loads((CORPUS / "cases.json").read_text("utf-8"))
    return [case for case in found if case["kind"] == kind]
