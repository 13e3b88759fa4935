"""Roles: the rights of a key in its namespace."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from ...actions import ForbiddenError


class Role(StrEnum):
    """The role of a key."""

    READ = "read"
    INVOKE = "invoke"
    WORK = "work"
    DEPLOY = "deploy"
    ADMIN = "admin"


class Right(StrEnum):
    """A right that a request needs.

    LOOK: read records, such as activations and executions. READ: read definitions, with their code and
    parameters. INVOKE: start or complete executions. WORK: take tasks from queues. DEPLOY: change definitions and intervene in executions.
    ADMIN: manage keys, and read the audit log.
    """

    LOOK = "look"
    READ = "read"
    INVOKE = "invoke"
    WORK = "work"
    DEPLOY = "deploy"
    ADMIN = "admin"


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.READ: frozenset({Right.LOOK, Right.READ}),
    Role.INVOKE: frozenset({Right.LOOK, Right.INVOKE}),  # no code and no default parameters
    Role.WORK: frozenset({Right.WORK}),  # it sees the tasks that it takes, and nothing else
    Role.DEPLOY: frozenset({Right.LOOK, Right.READ, Right.INVOKE, Right.WORK, Right.DEPLOY}),
    Role.ADMIN: frozenset(Right),
}


class MissingRoleError(ForbiddenError):
    """The key's role does not have the right that the request needs."""

    def __init__(self, key: str, role: Role, right: Right) -> None:
        super().__init__(key)
        self.args = (f"The key '{key}' has the role '{role}'; this needs '{least_role(right)}'.",)


def least_role(right: Right) -> Role:
    """The role with the fewest rights that include this one."""
    fitting = [role for role in Role if right in RIGHTS[role]]
    return min(fitting, key=lambda role: len(RIGHTS[role]))


@dataclass(frozen=True, slots=True)
class Identity:
    """The key that a request has proved: its namespace, its name, its id and its role.

    `place` is the namespace and the name, made once because every request needs it.
    """

    namespace: str
    key: str
    id: str
    role: Role
    place: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", f"{self.namespace}/{self.key}")

    def check(self, right: Right) -> None:
        """Checks that the key has a right.

        Raises:
            MissingRoleError: the key's role does not have it.
        """
        if right not in RIGHTS[self.role]:
            raise MissingRoleError(self.key, self.role, right)

    def __str__(self) -> str:
        return self.place
