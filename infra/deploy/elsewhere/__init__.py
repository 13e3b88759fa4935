"""The steps of a bundle that are functions on other clouds. It is copied into a bundle that has such steps."""

from .variables import AMBIENT, variable_of

__all__ = ["AMBIENT", "variable_of"]
