"""Namespaces with their keys and limits, and secrets."""

from .namespaces import (
    LIMITS,
    OPERATOR,
    AuthError,
    Namespace,
    Namespaces,
    first_namespaces,
    new_credentials,
)
from .secrets import SecretStore, is_among

__all__ = [
    "LIMITS",
    "OPERATOR",
    "AuthError",
    "Namespace",
    "Namespaces",
    "SecretStore",
    "first_namespaces",
    "is_among",
    "new_credentials",
]
