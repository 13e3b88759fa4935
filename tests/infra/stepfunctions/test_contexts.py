"""The laws of the engine's hooks, for those of Step Functions and for none."""

from __future__ import annotations

import json
from uuid import UUID

import pytest

from xingqiao.actions import Arns, define_action
from xingqiao.composer import Failure, Name
from xingqiao.infra.engine import Origin
from xingqiao.infra.engine.hooks import NoHooks
from xingqiao.infra.stepfunctions import MachineHooks

ID = "0" * 31 + "1"
PASS = json.dumps({"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}})


def action(kind="states"):
    exec = {"kind": kind, "definition": PASS, "code": "def main(params): ..."}
    return define_action(Name("guest", None, "main"), {"exec": exec}, None, 1)


def origin(of, **more):
    return Origin(action=of, owner="guest", namespace="guest", started_ms=1, root=ID, **more)


@pytest.mark.parametrize("hooks", [MachineHooks(Arns()), NoHooks()])
@pytest.mark.parametrize("kind", ["states", "python:3"])
def test_an_execution_is_pinned_to_a_revision_if_its_action_has_a_definition(hooks, kind):
    introduced = hooks.introduced(ID, origin(action(kind)))

    revision = hooks.revision(introduced.about or {})
    assert (revision is None) == (hooks.definition(introduced.action) is None)


def test_the_name_is_the_id_as_a_uuid_unless_one_was_given():
    hooks = MachineHooks(Arns())

    assert hooks.introduced(ID, origin(action())).about["name"] == str(UUID(ID))
    given = hooks.introduced(ID, origin(action(), about={"name": "mine"}))
    assert given.about["name"] == "mine"


def test_the_address_of_an_express_execution_contains_its_id():
    hooks = MachineHooks(Arns())
    express = hooks.introduced(ID, origin(action(), express=True, about={"name": "mine"}))
    lasting = hooks.introduced(ID, origin(action(), about={"name": "mine"}))

    assert hooks.address(ID, "main", express.about).endswith(f":express:main:mine:{UUID(ID)}")
    assert hooks.address(ID, "main", lasting.about).endswith(":execution:main:mine")


@pytest.mark.parametrize(
    ("code", "error", "timed_out"),
    [
        ("States.Timeout", {"Error": "States.Timeout", "Status": "TIMED_OUT"}, True),
        ("States.Timeout", {"Error": "States.Timeout"}, False),  # a task's own time
        ("States.Timeout", "late", False),
        ("Timeout", {"Status": "TIMED_OUT"}, False),
    ],
)
def test_only_the_time_of_the_machine_itself_times_an_execution_out(code, error, timed_out):
    assert MachineHooks(Arns()).timed_out(Failure(code, error)) is timed_out


def test_tokens_of_executions_that_begin_now_are_signed():
    hooks = MachineHooks(Arns())

    assert not hooks.takes_unsigned(hooks.introduced(ID, origin(action())).about)
    assert hooks.takes_unsigned({"name": "an earlier version's"})
