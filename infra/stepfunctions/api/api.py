"""The parts of the service that the endpoints of Step Functions use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...http import Api

if TYPE_CHECKING:
    from ...aws import Integrations
    from ..activities import Activities
    from ..machines import Machines


@dataclass(slots=True, kw_only=True)
class StepFunctionsApi(Api):
    """The parts of the service, with those of Step Functions.

    Args:
        machines: the state machines.
        activities: the activities and their work.
        integrations: the integrations that tasks can use.
        longest_s: time limit of an express execution that is waited for, and of a state's test, in seconds.
    """

    machines: Machines
    activities: Activities
    integrations: Integrations
    longest_s: float = 300.0
