"""What other languages' compositions become here: one module a language, which keeps its words."""

from . import asl
from .composer_json import forks, read_composer

__all__ = ["asl", "forks", "read_composer"]
