"""Expressions that the conductor evaluates itself: compiled once, evaluation bounded."""

from .bounds import MAX_NODES, MAX_RESULT_BYTES
from .nodes import MISSING
from .paths import Path
from .predicates import Predicate, Scope, Selector, parse_predicate, path, var
from .schemas import EXPRESSION_SCHEMAS, PREDICATE_REFERENCE, TEMPLATE_REFERENCE
from .templates import Template

__all__ = [
    "EXPRESSION_SCHEMAS",
    "MAX_NODES",
    "MAX_RESULT_BYTES",
    "MISSING",
    "PREDICATE_REFERENCE",
    "TEMPLATE_REFERENCE",
    "Path",
    "Predicate",
    "Scope",
    "Selector",
    "Template",
    "parse_predicate",
    "path",
    "var",
]
