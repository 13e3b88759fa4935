"""The classes for service integrations of your own: see `docs/stepfunctions.md`."""

from .infra.aws import Asked, Integration, IntegrationError

__all__ = ["Asked", "Integration", "IntegrationError"]
