"""The classes for service integrations of your own: see `docs/stepfunctions.md`."""

from .infra.aws import Integration, IntegrationError, IntegrationRequest

__all__ = ["Integration", "IntegrationError", "IntegrationRequest"]
