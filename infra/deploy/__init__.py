"""Compositions deployed to a cloud, and conducted there without this server.

`bundle` writes the folder that the cloud's own tools deploy. What runs there is `infra.deploy.hosted`.
"""

from .bundles import BundleError, Source
from .targets import TARGETS, bundle

__all__ = ["TARGETS", "BundleError", "Source", "bundle"]
