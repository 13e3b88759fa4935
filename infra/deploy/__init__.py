"""Compositions deployed to a cloud, and conducted there without this server.

`bundle` writes the folder that the cloud's own tools deploy. The code that runs there is the package `hosted`.
"""

from .bundles import Source
from .errors import BundleError
from .options import PLATFORMS, Options, read_options
from .targets import TARGETS, bundle

__all__ = ["PLATFORMS", "TARGETS", "BundleError", "Options", "Source", "bundle", "read_options"]
