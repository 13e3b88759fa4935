"""Namespaces with their keys, roles and limits, permissions, the audit log, and secrets."""

from .audit import AuditLog, Entry, outcome_of_status
from .failures import INVALID, MISSING, Failures
from .keys import OWN, Keys
from .namespaces import (
    LIMITS,
    OPERATOR,
    AuthError,
    Namespace,
    Namespaces,
    first_namespaces,
    new_credentials,
)
from .permissions import OPERATIONS, ROUTES, Door, Permission
from .roles import RIGHTS, Identity, MissingRoleError, Right, Role
from .secrets import SecretStore, is_among

__all__ = [
    "INVALID",
    "LIMITS",
    "MISSING",
    "OPERATIONS",
    "OPERATOR",
    "OWN",
    "RIGHTS",
    "ROUTES",
    "AuditLog",
    "AuthError",
    "Door",
    "Entry",
    "Failures",
    "Identity",
    "Keys",
    "MissingRoleError",
    "Namespace",
    "Namespaces",
    "Permission",
    "Right",
    "Role",
    "SecretStore",
    "first_namespaces",
    "is_among",
    "new_credentials",
    "outcome_of_status",
]
