"""What other languages' compositions become here: one module a language, which keeps its words."""

from .composer_json import forks, read_composer

__all__ = ["forks", "read_composer"]
