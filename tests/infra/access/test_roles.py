"""Roles and their rights."""

import pytest

from xingqiao.actions import ForbiddenError
from xingqiao.infra.access.roles import RIGHTS, Identity, MissingRoleError, Right, Role, least_role


@pytest.mark.parametrize(
    ("role", "rights"),
    [
        (Role.READ, {"look", "read"}),
        (Role.INVOKE, {"look", "invoke"}),
        (Role.WORK, {"work"}),
        (Role.DEPLOY, {"look", "read", "invoke", "work", "deploy"}),
        (Role.ADMIN, {"look", "read", "invoke", "work", "deploy", "admin"}),
    ],
)
def test_each_role_has_these_rights(role, rights):
    assert RIGHTS[role] == rights


@pytest.mark.parametrize(
    ("right", "role"),
    [
        ("look", "read"),
        ("read", "read"),
        ("invoke", "invoke"),
        ("work", "work"),
        ("deploy", "deploy"),
        ("admin",) * 2,
    ],
)
def test_an_error_names_the_least_role(right, role):
    assert least_role(Right(right)) == role


def test_a_missing_role_is_said_with_both_names():
    identity = Identity("guest", "ci", "id", Role.READ)

    identity.check(Right.LOOK)
    with pytest.raises(ForbiddenError) as raised:
        identity.check(Right.DEPLOY)
    assert isinstance(raised.value, MissingRoleError)
    assert str(raised.value) == "The key 'ci' has the role 'read'; this needs 'deploy'."
