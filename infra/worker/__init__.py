"""Workers outside: they take tasks from a queue and run functions on them, in any process."""

from .steps import Step
from .tasks import Tasks, is_passing
from .worker import Options, Worker

__all__ = ["Options", "Step", "Tasks", "Worker", "is_passing"]
