"""The languages beside the DSL: one folder for each, which keeps its own words."""

from . import asl
from .composer_json import forks, read_composer

__all__ = ["asl", "forks", "read_composer"]
