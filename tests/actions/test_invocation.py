"""What is asked, of the service and of an invoker."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from tests.kit.actions.things import invocation, named, python
from xingqiao.actions import Call


def test_a_call_is_of_somebody():
    call = Call(name=named(), params={}, namespace="guest")

    assert call.subject == ""


def test_an_invocation_shares_no_variables_with_another():
    first, second = invocation(python()), invocation(python())

    first.variables["n"] = 1

    assert second.variables == {}
    assert second.function is None


def test_a_call_does_not_change():
    call = Call(name=named(), params={}, namespace="guest")

    with pytest.raises(FrozenInstanceError):
        call.namespace = "other"


def test_an_invocation_knows_the_code_it_needs():
    action = python("x = 1")

    assert invocation(action).code is action.exec


@pytest.mark.parametrize(("owner", "lent"), [("", False), ("guest", False), ("other", True)])
def test_a_program_of_another_namespace_is_lent(owner, lent):
    assert invocation(python(), namespace="guest", owner=owner).lent is lent
