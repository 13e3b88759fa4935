"""What every endpoint has at hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..edge import Bodies

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ...actions import Arns
    from ..access.namespaces import Namespaces
    from ..access.secrets import SecretStore
    from ..aws.integrations import Integrations
    from ..engine import Engine
    from ..service.clouds import Clouds
    from ..service.feeds import Feeds
    from ..stepfunctions.activities import Activities
    from ..stepfunctions.integrations.sfn import StepFunctions
    from ..stepfunctions.machines import Machines
    from .auth import Authenticator


@dataclass(slots=True)
class Api:
    """The service as its endpoints see it.

    Args:
        engine: what runs executions.
        auth: who calls.
        namespaces: that there are.
        feeds: what fires triggers.
        clouds: what runs actions elsewhere.
        secrets: that those name.
        machines: what is known of state machines besides their actions.
        arns: spells their names.
        activities: whose work is handed out.
        integrations: what tasks may ask for besides functions.
        step_functions: tasks that ask for this API itself.
        payload_bytes: of one call's parameters.
        metrics: writes all figures in Prometheus' format.
        resume: has a server go on that was started paused.
        bodies: how much of requests is read at the same time.
        metrics_key: that a scraper shows to read the figures; "" for none.
        stopping: set when the server stops: then it begins nothing new.
    """

    engine: Engine
    auth: Authenticator
    namespaces: Namespaces
    feeds: Feeds
    clouds: Clouds
    secrets: SecretStore
    machines: Machines
    arns: Arns
    activities: Activities
    integrations: Integrations
    step_functions: StepFunctions
    payload_bytes: int
    metrics: Callable[[], bytes]
    resume: Callable[[], Awaitable[None]]
    bodies: Bodies = field(default_factory=Bodies)
    metrics_key: str = ""
    stopping: bool = False
