"""Workers outside: processes that take tasks from a queue of a server and run functions on them."""

from .server import Server, ServerError
from .steps import Step
from .worker import Options, Worker

__all__ = ["Options", "Server", "ServerError", "Step", "Worker"]
