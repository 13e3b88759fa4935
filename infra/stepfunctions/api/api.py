"""The service as the endpoints of Step Functions see it."""

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
    """The service, and what only Step Functions has.

    Args:
        machines: the records of state machines, beside their actions.
        activities: whose work is handed out.
        integrations: what tasks may ask for besides functions.
    """

    machines: Machines
    activities: Activities
    integrations: Integrations
