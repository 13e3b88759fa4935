"""AWS Step Functions' API, for its own clients."""

from .service import operations, serve

__all__ = ["operations", "serve"]
