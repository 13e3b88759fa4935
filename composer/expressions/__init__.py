"""Expressions that the conductor evaluates itself: compiled once, evaluation bounded."""

from .bounds import MAX_NODES, MAX_RESULT_BYTES
from .nodes import MISSING
from .paths import Path
from .predicates import Predicate, Scope, Selector, parse_predicate, path, var
from .templates import Template

__all__ = [
    "MAX_NODES",
    "MAX_RESULT_BYTES",
    "MISSING",
    "Path",
    "Predicate",
    "Scope",
    "Selector",
    "Template",
    "parse_predicate",
    "path",
    "var",
]
